"""Decide whether a finding got better or worse from one run to a later one.

`rmaudit compare`, `rmaudit history` and the comparison with a blessed release all ask
`compare_finding`. It knows the two results, the two numbers, and the interval of their difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rmaudit.measures.differences_of_estimates import (
    Interval,
    difference,
    distance_inside,
    gain,
    minus,
)
from rmaudit.references.offensive_text_masks import mask, masked
from rmaudit.report.results_document import Earlier
from rmaudit.verdicts.estimates_and_bounds import Bound, Estimate, Result
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.rounded_numbers import LEAST

_KINDS = 5  # that a note names
SMALL = 0.1  # of the distance to the bound: a paired interval excludes 0 for less
_ORDER = (Result.PASS, Result.OPEN, Result.FAIL, Result.NOT_RUN)


class Change(StrEnum):
    """A kind of change of a finding between two runs, such as worse or no longer measured."""

    WORSE = "worse"  # by a difference that counts
    UNCLEAR = "unclear"  # its result is worse, though no difference counts
    UNMEASURED = "no longer measured"
    INCOMPARABLE = "not comparable"
    BETTER = "better"
    UNCHANGED = "no clear change"  # which does not prove that there was none
    NEW = "newly measured"
    NEVER = "measured in neither"

    @property
    def regressed(self) -> bool:
        """Return whether the value is clearly worse, or only the result is (`UNCLEAR`)."""
        return self in (Change.WORSE, Change.UNCLEAR)


@dataclass(frozen=True, slots=True)
class Measured:
    """The numbers of an estimate: value, interval, unit and n."""

    value: float
    low: float
    high: float
    unit: str
    n: int
    decimals: int = LEAST
    """Decimals that show on which side of its bound it lies."""

    @classmethod
    def of(cls, finding: Finding) -> Measured | None:
        """Return the numbers that a finding measured; None without an estimate."""
        of = finding.estimate
        return cls(of.value, of.low, of.high, of.unit, of.n, finding.decimals) if of else None


@dataclass(frozen=True, slots=True)
class Changed:
    """How a finding changed between two runs, and by how much."""

    change: Change
    difference: Interval | None = None
    """New minus old; None where one of them has no number, or another unit."""
    gain: Interval | None = None
    """How much nearer to passing the new one is; below 0 it is further away."""
    paired: bool = False
    """Whether the difference's interval accounts for what both measurements have in common."""


@dataclass(frozen=True, slots=True)
class Side:
    """One run's side of a compared finding: result, effect, reason and estimate."""

    result: str
    effect: str
    reason: str
    estimate: Measured | None


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding compared between two runs; `old` or `new` is None if that run did not have it."""

    audit: str
    prompt: str
    severity: str
    bound: str
    change: Change
    old: Side | None
    new: Side | None
    difference: Interval | None
    gain: Interval | None
    paired: bool
    """Whether the difference's interval accounts for what both measurements have in common."""
    note: str


def compare_findings(
    old: Finding | None, new: Finding | None, margin: float | None = None
) -> Changed:
    """Say if a finding got better or worse from one run to another; see `compare_finding`.

    Where models.yaml wanted other kinds then, it did neither.
    """
    if old and new and old.estimate and new.estimate and old.wanted != new.wanted:
        sank = _ORDER.index(new.result) > _ORDER.index(old.result)
        return Changed(Change.UNCLEAR if sank else Change.INCOMPARABLE)
    return compare_finding(summarize_earlier(old, new) if old else None, new, margin)


def compare_finding(
    old: Earlier | None, new: Finding | None, margin: float | None = None, share: float = SMALL
) -> Changed:
    """Say if a finding got better or worse by over `margin`, or `share` of its way to the bound.

    It is better or worse if its distance to the new run's bound differs by more than `margin`, in
    the audit's unit, and the 95 % interval of the difference excludes 0. Without a margin, it must
    differ by more than this `share` of the old distance: less does not matter for a release. Where
    neither run passes, the intervals of the two measurements must not overlap, either, because one
    in twenty differences between models that know nothing excludes 0 by chance.
    A result that is worse without such a difference, or in another unit, is `UNCLEAR`.
    """
    before, after = _estimate(old), new.estimate if new else None
    if new is None or after is None:
        return Changed(Change.UNMEASURED if before else Change.NEVER)
    if old is None or before is None:
        return Changed(Change.NEW)
    sank = _ORDER.index(new.result) > _ORDER.index(old.result)
    if before.unit != after.unit:
        return Changed(Change.UNCLEAR if sank else Change.INCOMPARABLE)
    paired = old.difference is not None
    between = old.difference or minus(Interval.of(after), Interval.of(before))
    gained = _gain(after, before, between, new.bound)
    least = share * abs(distance_inside(before, new.bound).value) if margin is None else margin
    passed = Result.PASS in (old.result, new.result)
    clear = passed or not Interval.of(after).overlaps(Interval.of(before))
    if clear and gained.counts(least if math.isfinite(least) else 0.0):
        return Changed(Change.BETTER if gained.value > 0 else Change.WORSE, between, gained, paired)
    return Changed(Change.UNCLEAR if sank else Change.UNCHANGED, between, gained, paired)


def summarize_earlier(old: Finding, new: Finding | None) -> Earlier:
    """Summarize an earlier run's finding, with the paired difference between both runs' values.

    The difference is None unless both estimates have `parts` (`measures.differences_of_estimates`).
    """
    about = (old.model, old.audit, old.prompt, old.result)
    if (before := old.estimate) is None:
        return Earlier(*about, "", None, None, None)
    after = new.estimate if new else None
    between = difference(after, before) if after and after.unit == before.unit else None
    return Earlier(*about, before.unit, before.value, before.low, before.high, between)


def _estimate(of: Earlier | None) -> Estimate | None:
    """Rebuild an earlier run's estimate from its stored numbers; None if not measured."""
    if of is None or of.value is None or of.low is None or of.high is None:
        return None
    return Estimate(of.value, of.low, of.high, of.unit, 0, "of an earlier run")


def _gain(after: Estimate, before: Estimate, between: Interval, bound: Bound) -> Interval:
    """Return how much nearer to passing the new estimate is than the old one, with an interval.

    For a bound with one end, this is the difference `between`, negated for an upper bound.
    """
    if bound.high is None:
        return between
    if bound.low is None:
        return Interval(-between.value, -between.high, -between.low)
    return gain(after, before, bound)


def finding_changes(
    old: dict[tuple[str, str], Finding], new: dict[tuple[str, str], Finding], margin: float | None
) -> Iterator[FindingChange]:
    """Yield how each finding of two runs, given by audit and prompt, changed by over `margin`."""
    for key in dict.fromkeys([*new, *old]):
        before, after = old.get(key), new.get(key)
        shown = after or old[key]
        found = compare_findings(before, after, margin)
        yield FindingChange(
            audit=shown.audit,
            prompt=shown.prompt,
            severity=str(shown.severity),
            bound=str(shown.bound),
            change=found.change,
            old=_side(before),
            new=_side(after),
            difference=found.difference,
            gain=found.gain,
            paired=found.paired,
            note=_note(before, after),
        )


def _side(finding: Finding | None) -> Side | None:
    """Return one run's side of a compared finding; None if it is missing there."""
    if finding is None:
        return None
    why = finding.reason or finding.judgement.reason
    return Side(str(finding.result), str(finding.effect), why, Measured.of(finding))


def _note(old: Finding | None, new: Finding | None) -> str:
    """Return a remark on two findings: one is missing or unmeasured, the bound changed; else ""."""
    if old is None or new is None:
        return f"only in the {'new' if old is None else 'old'} file"
    if old.bound != new.bound:
        return f"the bound was {old.bound}, is {new.bound}; both are held against the latter"
    if old.estimate and new.estimate and old.wanted != new.wanted:
        was, now = (", ".join(each.wanted) or "nothing" for each in (old, new))
        return f"models.yaml wanted {was}, wants {now}"
    if old.estimate and new.estimate and old.estimate.evidence and new.estimate.evidence:
        return _became(old.estimate.evidence.effects, new.estimate.evidence.effects)
    return new.reason if new.estimate is None else ""


def _became(then: Mapping[str, float], now: Mapping[str, float]) -> str:
    """Return what became of the kinds that stood out in either run, and what they got, in sd.

    The surest come first; a kind that a run does not show was not among its surest. "" if nothing
    became of them.
    """
    if then == now:
        return ""

    def shown(effects: Mapping[str, float], kind: str) -> str:
        return f"{effects[kind]:+.1f} sd" if kind in effects else "not among the surest"

    kinds = [*then, *(kind for kind in now if kind not in then)]
    said = (
        f"{mask(kind) if masked(kind) else kind}: {shown(then, kind)}, then {shown(now, kind)}"
        for kind in kinds[:_KINDS]
    )
    return "; ".join(said)
