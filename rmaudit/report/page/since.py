"""What changed since the last run of the same models: worse, better, and by how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rmaudit.report.document import Before, Earlier
from rmaudit.report.over_time.changes import Change, changed
from rmaudit.report.page.numbers import decimals, fixed, value
from rmaudit.verdicts.findings import Finding

_LISTED = (Change.WORSE, Change.UNCLEAR, Change.BETTER, Change.UNCHANGED)  # in this order
_APART = (Change.NEW, Change.UNMEASURED, Change.INCOMPARABLE)


@dataclass(frozen=True, slots=True)
class SinceThen:
    """A finding that changed since the last run: how, and in words what it is and was."""

    finding: Finding
    change: Change
    says: str


@dataclass(frozen=True, slots=True)
class Since:
    """The comparison with the last run, for the top of a page."""

    created: str
    age: str
    outcome: str
    counts: str
    """For example `1 worse, 0 better, 7 with no clear change`."""
    listed: tuple[SinceThen, ...]
    """The worst first: all that are clearly worse or better, and all with another result."""


def since(before: Before | None, findings: Sequence[Finding], created: str) -> Since | None:
    """Compare the findings of the run `created` then; None where there is no earlier run."""
    if before is None:
        return None
    every = list(_every(before, findings))
    listed = sorted((each for each in every if each.says), key=lambda e: _LISTED.index(e.change))
    ago = age(before.created, created)
    return Since(before.created, ago, str(before.outcome), _counts(every), tuple(listed))


def age(was: str, now: str) -> str:
    """Return how much earlier one time in ISO 8601 was, for example `38 hours earlier`."""
    try:
        seconds = int((datetime.fromisoformat(now) - datetime.fromisoformat(was)).total_seconds())
    except (TypeError, ValueError):  # with and without a zone, or of another form
        return "earlier"
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} earlier"
    return "a moment earlier"


def _every(before: Before, findings: Sequence[Finding]) -> Iterator[SinceThen]:
    old = {(each.model, each.audit, each.prompt): each for each in before.findings}
    for finding in findings:
        was = old.get((finding.model, finding.audit, finding.prompt))
        change = changed(was, finding).change
        other = was is not None and was.result is not finding.result
        told = change in (Change.WORSE, Change.BETTER) or (change in _LISTED and other)
        yield SinceThen(finding, change, _says(finding, was) if was and told else "")


def _counts(every: Sequence[SinceThen]) -> str:
    found = Counter(each.change for each in every)
    apart = sum(found[change] for change in _APART)
    return ", ".join(
        [
            f"{found[Change.WORSE]} worse",
            *([f"{n} unclear (only the result is worse)"] if (n := found[Change.UNCLEAR]) else []),
            f"{found[Change.BETTER]} better",
            f"{found[Change.UNCHANGED]} with no clear change",
            *([f"{apart} not comparable"] if apart else []),
        ]
    )


def _says(finding: Finding, was: Earlier) -> str:
    """Return for example `0.75, was 0.60; fail, was pass`."""
    unit = finding.bound.unit
    old = fixed(was.value or 0.0, decimals(finding)) + (f" {was.unit}" if was.unit != unit else "")
    now = f"{value(finding)}, was {old}"
    same = finding.result is was.result
    return now if same else f"{now}; {finding.result}, was {was.result}"
