"""Cache the results of null controls, so that a repeated run does not measure them again.

A null control depends on the audit (its declaration and code), the prompts, the vocabulary, the
seed, the references that the model may be judged by, and rmaudit's own code. Some audits are also
given what is the model's own: log-probabilities of its base, sequences that were drawn for it,
strings that were found. All of it is in the key (`json_cache`). Nothing is cached of an audit that
is given more than that. A control that could not be tried is left out, and the others are cached.

An audit's code (`code_of`) is its own file and every file that it imports; rmaudit's own files are
in `json_cache.code`. Of installed packages the name and the version count, of everything else the
bytes: helpers beside the audit, and every conftest.py of the run.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from rmaudit import json_cache
from rmaudit.errors import RmauditError
from rmaudit.models.recorded_model import Recorded
from rmaudit.references import References
from rmaudit.runs.audit_case import Case
from rmaudit.scores import imported_scores
from rmaudit.scores.score_parquet import checksum
from rmaudit.scores.score_store import store_at
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import Control

KIND = "nulls"
_LEFT_OUT = {Verdict.SKIPPED}  # it may be there the next time
Given = Mapping[str, Any]
Fields = dict[str, str]
_OURS = Path(__file__).parents[1]
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_CONFTEST = "conftest.py"


def fields_of(  # noqa: PLR0913  (keyword-only: what it depends on)
    function: Callable[..., Any],
    declaration: Declaration,
    given: Given,
    *,
    case: Case,
    vocabulary_digest: str,
    base_keys: Sequence[str],
) -> Fields | None:
    """Return all that determines the null controls' results, as cache-key fields; None if unknown.

    `given` are the arguments of the audit, `vocabulary_digest` is of the tokens that they are tried
    on ("" without a sweep), and `base_keys` are those of the base's log-probabilities.
    """
    own = {name: _key_of_fixture(name, value, case) for name, value in given.items()}
    code = code_of(function)
    if not code or None in own.values():
        return None
    return {
        "rmaudit": json_cache.code(),
        "audit": repr(declaration),
        "function": function.__qualname__,
        "code": code,
        "prompts": repr(case.prompts),
        "vocabulary": vocabulary_digest,
        "seed": str(case.options.seed),
        "base": json.dumps(list(base_keys)),
        **{f"given {name}": str(value) for name, value in own.items()},
    }


def read(cache: Path, fields: Fields) -> dict[str, Control]:
    """Return the cached results of null controls, by the control's name; {} if there are none."""
    rows = json_cache.read(cache, KIND, fields) or ()
    return {
        name: Control(Verdict(verdict), stops, value, low, high, reason, tuple(parts))
        for name, verdict, stops, value, low, high, reason, parts in rows
    }


def write(cache: Path, fields: Fields, found: Mapping[str, Control]) -> None:
    """Write the null controls' results to the cache, without those that were skipped."""
    rows = [
        (name, str(c.verdict), c.stops, c.value, c.low, c.high, c.reason, c.parts)
        for name, c in found.items()
        if c.verdict not in _LEFT_OUT
    ]
    json_cache.write(cache, KIND, fields, rows)


def _key_of_fixture(name: str, value: Any, case: Case) -> str | None:  # noqa: ANN401, PLR0911  (any fixture)
    """Return what a fixture adds to the cache key: "" for nothing, None to rule out caching."""
    if name in {"sweep", "sweeps", "prompt", "prompts", "rng"}:
        return ""  # the controls' own, of the vocabulary, the prompts and the seed
    if name == "rewards":
        return (
            _digest_of_recorded_tables(case.model, case) if isinstance(case.model, Recorded) else ""
        )
    if name == "references":
        salt = repr(case.model.spec.trained_on)
        return f"{salt} {value.own_words.key}" if type(value) is References else None
    if name == "base_logprobs":
        return checksum(value.rename("logprob").reset_index())
    if name == "policies":
        return json.dumps({of: checksum(by.rename("p").reset_index()) for of, by in value.items()})
    if name in {"ledger", "probes"}:
        return checksum(value if name == "ledger" else value.answers)
    if name == "baseline":
        return json.dumps(value.keys)
    if name in {"pairs", "samples", "conduct"}:
        return checksum(value.frame.drop(columns="reward"))
    if name == "searches":
        return _digest_of_drawn_sequences(case)
    return None


def _digest_of_recorded_tables(model: Recorded, case: Case) -> str | None:
    """Return the hashes of a model's published tables under the prompts; None if one is missing."""
    try:
        return imported_scores.digest(model, case.prompts, store=store_at(case.options.kept))
    except RmauditError:
        return None


def _digest_of_drawn_sequences(case: Case) -> str | None:
    """Return a hash of all that decides the random sequences drawn for a model, such as a seed."""
    model = case.model.with_weights("sequences are drawn for")
    slots = [model.slot(prompt.asked).digest for prompt in case.prompts]
    said = json.dumps([sorted(model.identity.items()), slots, case.options.seed])
    return hashlib.sha256(said.encode()).hexdigest()


def code_of(function: Callable[..., Any]) -> str:
    """Return a hash of an audit's file, its imports and all conftest.py; "" if one is not known.

    A file is not known if its is missing or was changed while this process ran.
    """
    module = sys.modules.get(function.__module__)
    loaded = list(sys.modules.values())
    conftests = (each for each in loaded if str(_path_or_empty(each)).endswith(_CONFTEST))
    seen: dict[str, str] = {}
    for each in (module, *conftests):
        if each is None or not _add_code_of_module(each, seen):
            return ""
    return hashlib.sha256(
        "\n".join(sorted(f"{k} {v}" for k, v in seen.items())).encode()
    ).hexdigest()


def _add_code_of_module(module: ModuleType, seen: dict[str, str]) -> bool:
    """Add hashes of a module and its imports to `seen`, by name; return False if one is unknown.

    Of an installed module the version stands for the code. Modules of rmaudit are left out.
    """
    name, path = module.__name__, _path_or_empty(module)
    if name in seen or path.is_relative_to(_OURS):
        return True
    if name in sys.builtin_module_names or str(path).startswith(_INSTALLED):
        top = sys.modules.get(name.partition(".")[0])
        seen[name] = str(getattr(top, "__version__", ""))
        return True
    if path.suffix != ".py" or not path.is_file() or json_cache.written_since(path):
        return False
    seen[name], imported = _hash_and_imports_of_file(path, module.__package__ or "")
    return all(
        _add_code_of_module(each, seen) for each in imported if _path_or_empty(each) != Path()
    )


def _hash_and_imports_of_file(path: Path, package: str) -> tuple[str, tuple[ModuleType, ...]]:
    """Return a file's hash, and the modules that it imports anywhere, without those of rmaudit.

    `package` is the file's, for relative imports.
    """
    content = path.read_bytes()
    every = dict.fromkeys(_imported_names(ast.parse(content), package))
    names = [name for name in every if name.partition(".")[0] != _OURS.name]
    found = (sys.modules.get(name) or _module_without_running_it(name) for name in names)
    return hashlib.sha256(content).hexdigest(), tuple(module for module in found if module)


def _imported_names(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the full names that code of `package` imports: modules, and members (`math.pi`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package or base)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _module_without_running_it(name: str) -> ModuleType | None:
    """Return a module without its content, to find its file; None if there is no such module."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    return None if spec is None else importlib.util.module_from_spec(spec)


def _path_or_empty(module: ModuleType) -> Path:
    return Path(getattr(module, "__file__", None) or "")
