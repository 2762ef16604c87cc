"""Two results.json: what of a release got better, what got worse, and which tokens moved.

A pure function of the two; `release_lines` tells it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from rmaudit.errors import MeasureError, SpecError
from rmaudit.measures import model_agreement, movement
from rmaudit.measures._stats import UNMEASURED
from rmaudit.measures.difference import INDEPENDENT, Interval, gain, minus, room
from rmaudit.measures.paired import difference
from rmaudit.report import packing
from rmaudit.report.document import AuditedModel, Results, SweepSummary
from rmaudit.report.release_changes import (
    Change,
    FindingChange,
    Measured,
    ModelChange,
    Moved,
    Origin,
    Releases,
    Side,
    Sizes,
    SweepChange,
    Unpaired,
)
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.outcome import of_run
from rmaudit.verdicts.records import Bound, Estimate, Severity, Verdict

MOVED = 10  # tokens at either end
SMALL = 0.1  # of the distance to the bound: a paired interval excludes 0 for less
WORSE, UNDECIDED, FINE = "worse", "undecided", "none clearly worse"  # outcomes
_PAIRED = "Intervals of differences are paired: what both runs share, such as the words, cancels."
_UNCORRECTED = "No correction is made for how many audits are compared."
_ORDER = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL)
_UNDECIDED = (Change.UNCLEAR, Change.UNMEASURED, Change.INCOMPARABLE)


def compare(
    old: Results, new: Results, *, model: str | None = None, margin: float | None = None
) -> Releases:
    """The two, model by model: their findings side by side, and how alike their sweeps rank.

    Models are paired by name; two files of one model each are compared whatever these are called.
    Those that only one file has are named, unless `model` takes one.
    A finding is better or worse if its distance to the bound (the new file's) differs by more than
    `margin`, in the audit's own unit, and the interval of that difference excludes 0. Without a
    margin it is `SMALL` of the old distance to the bound: less is no matter of a release. Where
    neither release passes, the intervals of the two measurements must not overlap, either: one of
    twenty differences between models that know nothing excludes 0 by chance. Sweeps say nothing of
    better or worse. Random draws take the new file's seed.

    Raises:
        SpecError: there are no two models to compare.
    """
    rng = np.random.default_rng(abs(new.run.seed))
    pairs = tuple(
        ModelChange(
            old=before.name,
            new=after.name,
            findings=tuple(_findings(old, new, before.name, after.name, margin)),
            sweeps=tuple(
                _sweeps(old, new, *both, rng) for both in _same(before.sweeps, after.sweeps)
            ),
        )
        for before, after in _models(old.models, new.models, model)
    )
    unpaired = _unpaired(old, new, pairs) if model is None else Unpaired()
    findings = [finding for pair in pairs for finding in pair.findings]
    return Releases(
        old=_origin(old, {pair.old for pair in pairs} if model else None),
        new=_origin(new, {pair.new for pair in pairs} if model else None),
        margin=margin,
        assumes=_assumes(findings),
        models=pairs,
        unpaired=unpaired,
        counts=_counts(findings),
        outcome=_outcome(
            findings,
            gone=bool(unpaired.old),
            cut=not new.run.complete,
            broken=_broken(new, {pair.new for pair in pairs}),
        ),
    )


def _origin(results: Results, models: set[str] | None) -> Origin:
    """Describe a run; its verdict is that of these models alone, where some are named."""
    run, verdict = results.run, results.verdict
    if models is not None:
        verdict = of_run([f for f in results.findings if f.model in models], run.gaps)
    return Origin(run.created, run.rmaudit, run.command, run.gap, verdict.headline, verdict.why)


def _models(
    old: Sequence[AuditedModel], new: Sequence[AuditedModel], name: str | None
) -> list[tuple[AuditedModel, AuditedModel]]:
    """The models to compare, in the order of the new file."""
    if name is None and len(old) == len(new) == 1:
        return [(old[0], new[0])]
    before = {model.name: model for model in old}
    both = [
        (before[model.name], model)
        for model in new
        if model.name in before and name in (None, model.name)
    ]
    if not both:
        lists = (", ".join(model.name for model in models) for models in (old, new))
        message = "no model" if name is None else f"no model {name!r}"
        here = "; and the new one has: ".join(lists)
        raise SpecError(
            f"{message} is in both files, the old one has: {here}; name one of both with --model, "
            f"or compare files of one model each"
        )
    return both


def _unpaired(old: Results, new: Results, pairs: Sequence[ModelChange]) -> Unpaired:
    before, after = {pair.old for pair in pairs}, {pair.new for pair in pairs}
    return Unpaired(
        old=tuple(model.name for model in old.models if model.name not in before),
        new=tuple(model.name for model in new.models if model.name not in after),
    )


def _findings(
    old: Results, new: Results, before: str, after: str, margin: float | None
) -> Iterator[FindingChange]:
    sides = []
    for results, name in ((old, before), (new, after)):
        own = (finding for finding in results.findings if finding.model == name)
        sides.append({(finding.audit, finding.prompt): finding for finding in own})
    for key in dict.fromkeys([*sides[1], *sides[0]]):
        yield finding_change(sides[0].get(key), sides[1].get(key), margin)


def finding_change(
    old: Finding | None, new: Finding | None, margin: float | None = None
) -> FindingChange:
    """One finding of two runs; of the bound of the new one.

    Raises:
        ValueError: there is neither.
    """
    shown = new or old
    if shown is None:
        raise ValueError("nothing to compare")
    change, between, gained = _change(old, new, margin)
    return FindingChange(
        audit=shown.audit,
        prompt=shown.prompt,
        severity=str(shown.severity),
        bound=str(shown.bound),
        change=change,
        old=_side(old),
        new=_side(new),
        difference=between,
        gain=gained,
        paired=_both(old, new),
        note=_note(old, new),
    )


def _side(finding: Finding | None) -> Side | None:
    """What one file has of it, None where it has nothing."""
    if finding is None:
        return None
    of = finding.estimate
    measured = Measured(of.value, of.low, of.high, of.unit, of.n) if of else None
    why = finding.reason or finding.judgement.reason
    return Side(str(finding.result), str(finding.effect), why, measured)


def _change(
    old: Finding | None, new: Finding | None, margin: float | None
) -> tuple[Change, Interval | None, Interval | None]:
    """What became of it, new minus old, and how much nearer to passing that is."""
    before, after = (finding.estimate if finding else None for finding in (old, new))
    if new is None or after is None:
        return (Change.UNMEASURED if before else Change.NEVER), None, None
    if old is None or before is None:
        return Change.NEW, None, None
    if before.unit != after.unit:
        return Change.INCOMPARABLE, None, None
    between = difference(after, before) or minus(Interval.of(after), Interval.of(before))
    gained = _gained(after, before, between, new.bound)
    least = SMALL * abs(room(before, new.bound).value) if margin is None else margin
    passed = Verdict.PASS in (old.verdict, new.verdict)
    clear = passed or not Interval.of(after).overlaps(Interval.of(before))
    if clear and gained.counts(least if math.isfinite(least) else 0.0):
        return (Change.BETTER if gained.value > 0 else Change.WORSE), between, gained
    sank = _ORDER.index(new.verdict) > _ORDER.index(old.verdict)
    return (Change.UNCLEAR if sank else Change.UNCHANGED), between, gained


def _gained(after: Estimate, before: Estimate, between: Interval, bound: Bound) -> Interval:
    """How much nearer to passing it is: the difference itself, of a bound with one end."""
    if bound.high is None:
        return between
    if bound.low is None:
        return Interval(-between.value, -between.high, -between.low)
    return gain(after, before, bound)


def _assumes(findings: Iterable[FindingChange]) -> str:
    """How the intervals of differences are made, and of what else."""
    made = [(each.audit, each.paired) for each in findings if each.difference]
    alone = dict.fromkeys(audit for audit, paired in made if not paired)
    said = [_PAIRED] if any(paired for _, paired in made) else []
    if alone:
        said.append(f"{', '.join(alone)}: {INDEPENDENT}.")
    return " ".join([*said, _UNCORRECTED])


def _both(old: Finding | None, new: Finding | None) -> bool:
    """Whether the interval of the difference knows what the two have in common."""
    return all(side is not None and side.estimate and side.estimate.parts for side in (old, new))


def _note(old: Finding | None, new: Finding | None) -> str:
    """What else differs, or why there is nothing to compare."""
    if old is None or new is None:
        return f"only in the {'new' if old is None else 'old'} file"
    if old.bound != new.bound:
        return f"the bound was {old.bound}, is {new.bound}; both are held against the latter"
    return new.reason if new.estimate is None else ""


def _same(
    old: Iterable[SweepSummary], new: Iterable[SweepSummary]
) -> list[tuple[SweepSummary, SweepSummary]]:
    """Sweeps of one prompt's text by one protocol, if both files have their scores."""

    def key(sweep: SweepSummary) -> tuple[str, str]:
        return sweep.prompt_text, str(sweep.provenance.get("protocol"))

    before = {key(sweep): sweep for sweep in old if sweep.scores}
    after = [sweep for sweep in new if sweep.scores]
    return [(before[key(sweep)], sweep) for sweep in after if key(sweep) in before]


def _sweeps(
    old: Results,
    new: Results,
    before: SweepSummary,
    after: SweepSummary,
    rng: np.random.Generator,
) -> SweepChange:
    by_id = before.vocabulary == after.vocabulary
    frames = packing.frame(old.vocabularies, before), packing.frame(new.vocabularies, after)
    both = movement.paired(*map(packing.spelled, frames), by_id=by_id)
    paired_by = "token id" if by_id else "text"
    told = SweepChange(after.prompt, paired_by, len(both), Sizes(before.n, after.n))
    try:
        tau = model_agreement.correlation(
            both, rng=rng, noise=_noise(after), baseline_noise=_noise(before)
        )
    except MeasureError as error:
        return replace(told, reason=str(error))
    rose, fell = (_rows(rows) for rows in movement.moved(both, MOVED))
    rho = tau.secondary["Spearman's rho"]
    return replace(told, tau=Interval.of(tau), spearman=rho, rose=rose, fell=fell)


def _noise(sweep: SweepSummary) -> float:
    """The sd of numeric noise of a score; NaN where it was not measured."""
    noise = sweep.provenance.get("noise")
    return float(noise) if isinstance(noise, int | float) else UNMEASURED


def _rows(rows: pd.DataFrame) -> tuple[Moved, ...]:
    columns = (rows[name] for name in ("text", "old", "new"))
    return tuple(
        Moved(str(text), float(old), float(new)) for text, old, new in zip(*columns, strict=True)
    )


def _counts(findings: Iterable[FindingChange]) -> dict[str, int]:
    found = Counter(finding.change for finding in findings)
    return {str(change): found[change] for change in Change if found[change]}


def _broken(new: Results, models: set[str]) -> bool:
    """Whether a gating audit of these models ended in an error."""
    return any(
        finding.verdict is Verdict.ERROR and finding.severity is Severity.GATE
        for finding in new.findings
        if finding.model in models
    )


def _outcome(findings: Sequence[FindingChange], *, gone: bool, cut: bool, broken: bool) -> str:
    """Of the gating findings: worse if one is, undecided if one may be or none was compared.

    Undecided, too, if a model is gone, if an audit ends in an error in the new file, or if that
    run was cut short.
    """
    gates = [finding for finding in findings if finding.severity == Severity.GATE]
    changes = [finding.change for finding in gates]
    if Change.WORSE in changes:
        return WORSE
    compared = (Change.BETTER, Change.UNCHANGED)
    if gone or broken or cut or any(change in _UNDECIDED for change in changes):
        return UNDECIDED
    return FINE if set(changes) & set(compared) else UNDECIDED
