"""What changed since the last run of the same models: worse, better, and by how much."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rmaudit.report.document import Before, Earlier
from rmaudit.report.page.numbers import decimals, fixed, value
from rmaudit.report.page.scorecard import Row
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Result

_RANK = (Result.PASS, Result.UNSURE, Result.FAIL)


@dataclass(frozen=True, slots=True)
class Moved:
    """A finding that changed: what it is now, and what it was."""

    row: Row
    model: str
    prompt: str
    says: str


@dataclass(frozen=True, slots=True)
class Since:
    """The comparison, for the top of the page."""

    created: str
    age: str
    outcome: str
    worse: list[Moved]
    better: list[Moved]
    unchanged: int
    other: int
    """Findings that only one of the runs has a number for, or in another unit."""


def since(before: Before | None, rows: Sequence[Row], created: str) -> Since | None:
    """Compare all findings of the run `created` then; None where there is no earlier run."""
    if before is None:
        return None
    ago = age(before.created, created)
    said = Since(before.created, ago, str(before.outcome), [], [], 0, 0)
    unchanged = other = 0
    for row in rows:
        for finding, way, says in compared(before, row.findings):
            if way is None:
                other += 1
            elif way == 0:
                unchanged += 1
            else:
                moved = Moved(row, finding.model, finding.prompt, says)
                (said.worse if way > 0 else said.better).append(moved)
    return replace(said, unchanged=unchanged, other=other)


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


def compared(
    before: Before, findings: Iterable[Finding]
) -> Iterator[tuple[Finding, int | None, str]]:
    """Each finding that either run has: 1 where it is worse, -1 better, 0 unchanged; and how.

    None where the two cannot be compared: only one has a number, or they differ in the unit.
    """
    old = {(each.model, each.audit, each.prompt): each for each in before.findings}
    for finding in findings:
        was = old.get((finding.model, finding.audit, finding.prompt))
        way = _way(finding, was)
        if was is not None and way is not None:
            yield finding, way, _says(finding, was)
        elif was is not None or finding.estimate is not None:
            yield finding, None, ""


def _way(finding: Finding, was: Earlier | None) -> int | None:
    """1 where it is worse, -1 better, 0 unchanged; None where the two cannot be compared.

    Worse by its result, or by a distance beyond the bound that exceeds the interval of the
    difference of two independent estimates. Of two that do not pass, the intervals must not
    overlap, either.
    """
    now = finding.estimate
    if now is None or was is None or was.unit != now.unit:
        return None
    if was.value is None or was.low is None or was.high is None:
        return None
    low, high = finding.bound.ends
    beyond = max(low - now.value, now.value - high) - max(low - was.value, was.value - high)
    noise = math.hypot((now.high - now.low) / 2, (was.high - was.low) / 2)
    if finding.result is not was.result and {finding.result, was.result} <= set(_RANK):
        return 1 if _RANK.index(finding.result) > _RANK.index(was.result) else -1
    if not math.isfinite(beyond) or abs(beyond) <= noise:
        return 0
    if finding.result is not Result.PASS and now.low <= was.high and was.low <= now.high:
        return 0
    return 1 if beyond > 0 else -1


def _says(finding: Finding, was: Earlier) -> str:
    """For example `0.75, was 0.60; fail, was pass`."""
    now = f"{value(finding)}, was {fixed(was.value or 0.0, decimals(finding))}"
    same = finding.result is was.result
    return now if same else f"{now}; {finding.result}, was {was.result}"
