"""Cache the results of null controls, so that a repeated run does not measure them again.

All that decides a result is in the key (`fields_of`). Nothing is cached of an audit that is given
more than that, or that does not come with rmaudit: bundled files import rmaudit alone, whose own
files are in `json_cache.code`. A control that could not be tried is left out.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rmaudit import json_cache
from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.errors import RmauditError
from rmaudit.references import References
from rmaudit.runs.audit_case import Case
from rmaudit.scores import imported_scores
from rmaudit.scores.score_parquet import checksum
from rmaudit.scores.score_store import store_at
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import Control

KIND = "nulls"
Given = Mapping[str, Any]
Fields = dict[str, str]


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
    code = _code_of_bundled(function)
    if not code or None in own.values():
        return None
    return {
        "rmaudit": json_cache.code(),
        "audit": repr(declaration),
        "function": function.__qualname__,
        "code": code,
        "prompts": repr(case.prompts),
        "vocabulary": vocabulary_digest,
        "seed": str(case.options.asked.seed),
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
        if c.verdict is not Verdict.SKIPPED  # it may be there the next time
    ]
    json_cache.write(cache, KIND, fields, rows)


def _key_of_fixture(name: str, value: Any, case: Case) -> str | None:  # noqa: ANN401, PLR0911  (any fixture)
    """Return what a fixture adds to the cache key: "" for nothing, None to rule out caching."""
    if name in {"sweep", "sweeps", "prompt", "prompts", "rng", "wanted"}:
        return ""  # the controls' own, of the vocabulary, the prompts and the seed; they want none
    if name == "rewards":
        if case.model.takes != "nothing":
            return ""
        with suppress(RmauditError):  # a published table is missing
            store = store_at(case.options.scores.kept)
            return imported_scores.digest(case.model, case.prompts, store=store)
        return None
    if name == "references":
        salt = repr(case.model.spec.trained_on)
        return f"{salt} {value.own_words.key}" if type(value) is References else None
    if name == "policies":
        return json.dumps({of: checksum(by.rename("p").reset_index()) for of, by in value.items()})
    if name in {"ledger", "probes"}:
        return checksum(value if name == "ledger" else value.answers)
    if name == "baseline":
        return json.dumps(value.keys)
    if name in {"conduct", "same_worth", "samples", "fresh"}:
        return checksum(value.frame.drop(columns="reward"))
    return None


def _code_of_bundled(function: Callable[..., Any]) -> str:
    """Return a hash of a bundled audit's file and of every conftest.py; "" if one is not known.

    An unchanged copy of the file, as `rmaudit init` writes it, is the bundled one. A file that was
    changed while this process ran is not known.
    """
    path = Path(getattr(sys.modules.get(function.__module__), "__file__", None) or "")
    own = bundled("audits") / path.name
    if not (path.is_file() and own.is_file() and path.read_bytes() == own.read_bytes()):
        return ""
    places = (getattr(each, "__file__", None) or "" for each in list(sys.modules.values()))
    conftests = (Path(place) for place in places if place.endswith("conftest.py"))
    files = {path, *(each for each in conftests if each.name == "conftest.py")}
    if any(not file.is_file() or json_cache.written_since(file) for file in files):
        return ""
    digests = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
