"""Two results.json: what of a release got better, what got worse, and which tokens moved.

A pure function of the two; `release_lines` tells it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from rmaudit.errors import MeasureError, SpecError
from rmaudit.measures import difference, model_agreement, movement
from rmaudit.report import packing
from rmaudit.report.document import findings_of
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Severity, Verdict

MOVED = 10  # tokens at either end
WORSE, UNDECIDED, FINE = "worse", "undecided", "none clearly worse"  # outcomes
_UNCORRECTED = "No correction is made for how many audits are compared."
_ORDER = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL)
_Found = tuple[Finding | None, Finding | None]  # old and new


class Change(StrEnum):
    """What became of a finding."""

    WORSE = "worse"  # by a difference that counts
    UNCLEAR = "unclear"  # its verdict is worse, though no difference counts
    UNMEASURED = "no longer measured"
    INCOMPARABLE = "not comparable"
    BETTER = "better"
    UNCHANGED = "no clear change"  # which is no proof that there was none
    NEW = "newly measured"
    NEVER = "measured in neither"


_UNDECIDED = (Change.UNCLEAR, Change.UNMEASURED, Change.INCOMPARABLE)


def compare(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    *,
    model: str | None = None,
    margin: float = 0.0,
) -> dict[str, Any]:
    """The two, model by model: their findings side by side, and how alike their sweeps rank.

    Models are paired by name; two files of one model each are compared whatever these are called.
    Those that only one file has are named, unless `model` takes one.
    A finding is better or worse if its distance to the bound (the new file's) differs by more than
    `margin`, in the audit's own unit, and the interval of that difference excludes 0. Sweeps say
    nothing of better or worse. Random draws take the new file's seed.

    Raises:
        SpecError: there are no two models to compare.
    """
    rng = np.random.default_rng(new["seed"])
    pairs = [
        {
            "old": before["name"],
            "new": after["name"],
            "findings": _findings(old, new, before["name"], after["name"], margin),
            "sweeps": [
                _sweeps(old, new, *both, rng) for both in _same(before["sweeps"], after["sweeps"])
            ],
        }
        for before, after in _models(old["models"], new["models"], model)
    ]
    unpaired = _unpaired(old, new, pairs) if model is None else {"old": [], "new": []}
    findings = [finding for pair in pairs for finding in pair["findings"]]
    return {
        "old": {key: old[key] for key in ("created", "rmaudit", "command")},
        "new": {key: new[key] for key in ("created", "rmaudit", "command")},
        "margin": margin,
        "assumes": f"{difference.INDEPENDENT} {_UNCORRECTED}",
        "models": pairs,
        "unpaired": unpaired,
        "counts": _counts(findings),
        "outcome": _outcome(findings, gone=bool(unpaired["old"])),
    }


def _models(
    old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]], name: str | None
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The models to compare, in the order of the new file."""
    if name is None and len(old) == len(new) == 1:
        return [(old[0], new[0])]
    before = {model["name"]: model for model in old}
    both = [
        (before[model["name"]], model)
        for model in new
        if model["name"] in before and name in (None, model["name"])
    ]
    if not both:
        lists = (", ".join(model["name"] for model in models) for models in (old, new))
        message = "no model" if name is None else f"no model {name!r}"
        here = "; and the new one has: ".join(lists)
        raise SpecError(
            f"{message} is in both files, the old one has: {here}; name one of both with --model, "
            f"or compare files of one model each"
        )
    return both


def _unpaired(
    old: Mapping[str, Any], new: Mapping[str, Any], pairs: Sequence[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """The models that are in one file only: nothing is compared of them."""
    paired = {side: {pair[side] for pair in pairs} for side in ("old", "new")}
    return {
        side: [model["name"] for model in run["models"] if model["name"] not in paired[side]]
        for side, run in (("old", old), ("new", new))
    }


def _findings(
    old: Mapping[str, Any], new: Mapping[str, Any], before: str, after: str, margin: float
) -> list[dict[str, Any]]:
    sides = []
    for results, name in ((old, before), (new, after)):
        own = (finding for finding in findings_of(results) if finding.model == name)
        sides.append({(finding.audit, finding.prompt): finding for finding in own})
    keys = dict.fromkeys([*sides[1], *sides[0]])
    return [_finding(sides[0].get(key), sides[1].get(key), margin) for key in keys]


def _finding(old: Finding | None, new: Finding | None, margin: float) -> dict[str, Any]:
    shown = new or old
    if shown is None:  # a key comes from one of them
        raise ValueError("nothing to compare")
    change, between, gained = _change(old, new, margin)
    return {
        "audit": shown.audit,
        "prompt": shown.prompt,
        "severity": str(shown.severity),
        "bound": str(shown.bound),
        "change": str(change),
        "old": _side(old),
        "new": _side(new),
        "difference": None if between is None else asdict(between),
        "gain": None if gained is None else asdict(gained),
        "note": _note(old, new),
    }


def _side(finding: Finding | None) -> dict[str, Any] | None:
    """What one file has of it, None where it has nothing."""
    if finding is None:
        return None
    estimate = finding.estimate
    return {
        "verdict": str(finding.verdict),
        "standing": str(finding.standing),
        "reason": finding.reason or finding.judgement.reason,
        "estimate": None
        if estimate is None
        else {key: getattr(estimate, key) for key in ("value", "low", "high", "unit", "n")},
    }


def _change(
    old: Finding | None, new: Finding | None, margin: float
) -> tuple[Change, difference.Interval | None, difference.Interval | None]:
    """What became of it, new minus old, and how much nearer to passing that is."""
    before, after = (finding.estimate if finding else None for finding in (old, new))
    if new is None or after is None:
        return (Change.UNMEASURED if before else Change.NEVER), None, None
    if old is None or before is None:
        return Change.NEW, None, None
    if before.unit != after.unit:
        return Change.INCOMPARABLE, None, None
    between = difference.minus(difference.Interval.of(after), difference.Interval.of(before))
    gained = difference.gain(after, before, new.bound)
    if gained.counts(margin):
        return (Change.BETTER if gained.value > 0 else Change.WORSE), between, gained
    sank = _ORDER.index(new.verdict) > _ORDER.index(old.verdict)
    return (Change.UNCLEAR if sank else Change.UNCHANGED), between, gained


def _note(old: Finding | None, new: Finding | None) -> str:
    """What else differs, or why there is nothing to compare."""
    if old is None or new is None:
        return f"only in the {'new' if old is None else 'old'} file"
    if old.bound != new.bound:
        return f"the bound was {old.bound}, is {new.bound}; both are held against the latter"
    return new.reason if new.estimate is None else ""


def _same(
    old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Sweeps of one prompt's text by one protocol, if either file has their scores."""

    def key(sweep: Mapping[str, Any]) -> tuple[str, str]:
        return sweep["prompt_text"], str(sweep["provenance"].get("protocol"))

    before = {key(sweep): sweep for sweep in old if "scores" in sweep}
    after = [sweep for sweep in new if "scores" in sweep]
    return [(before[key(sweep)], sweep) for sweep in after if key(sweep) in before]


def _sweeps(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """How alike two sweeps rank the tokens that both have, and which moved furthest."""
    by_id = before["vocabulary"] == after["vocabulary"]
    both = movement.paired(packing.frame(old, before), packing.frame(new, after), by_id=by_id)
    said: dict[str, Any] = {
        "prompt": after["prompt"],
        "paired_by": "token id" if by_id else "text",
        "tokens": len(both),
        "of": {"old": before["n"], "new": after["n"]},
        "tau": None,
        "spearman": None,
        "reason": "",
        "rose": [],
        "fell": [],
    }
    try:
        tau = model_agreement.correlation(
            both, rng=rng, noise=_noise(after), baseline_noise=_noise(before)
        )
    except MeasureError as error:
        return said | {"reason": str(error)}
    rose, fell = (_rows(rows) for rows in movement.moved(both, MOVED))
    interval = asdict(difference.Interval.of(tau))
    return (
        said
        | {"tau": interval, "spearman": tau.secondary["Spearman's rho"]}
        | {
            "rose": rose,
            "fell": fell,
        }
    )


def _noise(sweep: Mapping[str, Any]) -> float:
    return float(sweep["provenance"].get("noise", 0.0))


def _rows(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {"text": str(text), "old": float(old), "new": float(new)}
        for text, old, new in zip(rows["text"], rows["old"], rows["new"], strict=True)
    ]


def _counts(findings: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    found = Counter(finding["change"] for finding in findings)
    return {str(change): found[change] for change in Change if found[change]}


def _outcome(findings: Sequence[Mapping[str, Any]], *, gone: bool) -> str:
    """Of the gating findings: worse if one is, undecided if one may be or none was compared.

    Undecided, too, if a model is gone, or if an audit ends in an error in the new file.
    """
    gates = [finding for finding in findings if finding["severity"] == Severity.GATE]
    changes = [finding["change"] for finding in gates]
    if Change.WORSE in changes:
        return WORSE
    broken = any(gate["new"] and gate["new"]["verdict"] == Verdict.ERROR for gate in gates)
    compared = (Change.BETTER, Change.UNCHANGED)
    if gone or broken or any(change in _UNDECIDED for change in changes):
        return UNDECIDED
    return FINE if set(changes) & set(compared) else UNDECIDED
