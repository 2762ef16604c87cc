"""Cache the results of null controls, so that a repeated run does not measure them again.

A null control depends on the audit (its declaration and code), the prompts, the vocabulary, the
seed, the references that the model may be judged by, and rmaudit's own code. Some audits are also
given what is the model's own: log-probabilities of its base, sequences that were drawn for it,
strings that were found. All of it is in the key (`json_cache`). Nothing is cached of an audit that
is given more than that. A control that could not be tried is left out, and the others are cached.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rmaudit import json_cache
from rmaudit.references import References
from rmaudit.runs.audit_code import code_of
from rmaudit.runs.case import Case
from rmaudit.scores.stored_scores import checksum
from rmaudit.verdicts.declare import Declaration
from rmaudit.verdicts.findings import Control
from rmaudit.verdicts.records import Verdict

KIND = "nulls"
_LEFT_OUT = {Verdict.SKIPPED}  # it may be there the next time
Given = Mapping[str, Any]
Fields = dict[str, str]


def fields_of(  # noqa: PLR0913  (keyword-only: what it depends on)
    function: Callable[..., Any],
    declaration: Declaration,
    given: Given,
    *,
    case: Case,
    vocabulary: str,
    base: Sequence[str],
) -> Fields | None:
    """Return the cache key's fields: all that determines null controls' results; None if unknown.

    `given` are the arguments of the audit, `vocabulary` is a digest of the tokens that they are
    tried on ("" without a sweep), and `base` has the keys of the base's log-probabilities.
    """
    own = {name: _of(name, value, case) for name, value in given.items()}
    code = code_of(function)
    if not code or None in own.values():
        return None
    return {
        "rmaudit": json_cache.code(),
        "audit": repr(declaration),
        "function": function.__qualname__,
        "code": code,
        "prompts": repr(case.prompts),
        "vocabulary": vocabulary,
        "seed": str(case.options.seed),
        "base": json.dumps(list(base)),
        **{f"given {name}": str(value) for name, value in own.items()},
    }


def read(cache: Path, fields: Fields) -> dict[str, Control]:
    """Return the cached results of null controls, by the control's name."""
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


def _of(name: str, value: Any, case: Case) -> str | None:  # noqa: ANN401, PLR0911  (any fixture)
    """Return a cache key for fixture `name`: "" if other fields cover it, None if nothing can."""
    if name in {"sweep", "sweeps", "prompt", "prompts", "rng"}:
        return ""  # the controls' own, of the vocabulary, the prompts and the seed
    if name == "rewards":
        return None if case.options.recorded else ""  # what is recorded may be imported anew
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
        return _drawn_for(case)
    return None


def _drawn_for(case: Case) -> str | None:
    """Hash what determines the sequences drawn for a model: its identity, slots and the seed."""
    model = case.model.with_weights("sequences are drawn for")
    slots = [model.slot(prompt.asked).digest for prompt in case.prompts]
    said = json.dumps([sorted(model.identity.items()), slots, case.options.seed])
    return hashlib.sha256(said.encode()).hexdigest()
