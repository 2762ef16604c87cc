"""Format numbers and days for reports: two decimals, or more where two would hide a difference."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING

from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.rounded_numbers import LARGE, LEAST, decimals_to_show, fixed, signed

if TYPE_CHECKING:
    from rmaudit.measures.differences_of_estimates import Interval
    from rmaudit.report.releases.finding_comparison import Measured

_WHOLE, _FAR = 10, 100  # standard errors from which on tenths, or more of them, say nothing
_Z95 = 1.959963984540054


def bound_end(number: float) -> str:
    """Format an end of a bound: `0.67`; with more decimals if it has more: `0.005`; zero as `0`."""
    return fixed(number) if number and round(number, LEAST) == number else f"{number:g}"


def number(of: float) -> str:
    """Format any number but an estimate: `4,912` if whole, `0.75`, or `1.2e-03` if tiny."""
    if float(of).is_integer():
        return f"{of:,.0f}" if abs(of) < LARGE else f"{of:.3g}"
    return f"{of:.1e}" if 0 < abs(of) < 0.005 else fixed(of)  # noqa: PLR2004  (would be 0.00)


def beside_bound(number: float, finding: Finding) -> str:
    """Format another number that is shown beside a finding's bound, such as a null control's."""
    return fixed(number, decimals_to_show((number,), finding.bound.ends))


def value_with_interval(low: float, value: float, high: float) -> str:
    """Return a value with its interval, for example `0.75 [0.71, 0.79]`."""
    places = decimals_to_show((low, value, high))
    return f"{fixed(value, places)} {_interval(low, high, places)}".strip()


def _interval(low: float, high: float, places: int) -> str:
    ends = [fixed(end, places) for end in (low, high)]
    if ends[0] != ends[1]:
        return f"[{ends[0]}, {ends[1]}]"
    return "" if low == high else f"± < {10**-places:.{places}f}"


def measured_in_numbers(of: Measured | None) -> str:
    """Return a value and its interval as text, such as `+0.58 [+0.55, +0.61]`; "" of None.

    In as many decimals as show on which side of its bound it lies.
    """
    if of is None:
        return ""
    shown, *ends = (signed(each, of.decimals) for each in (of.value, of.low, of.high))
    return f"{shown} [{ends[0]}, {ends[1]}]"


def effect_in_numbers(of: Interval | None) -> str:
    """Return a difference and its interval, such as `+0.58 [+0.55, +0.61]`; "" of None.

    To two decimals, or in as many digits as tell the ends apart, and a small effect from none.
    """
    if of is None:
        return ""
    for style in ("+.2f", "+.4f", "+.3g", "+.6g"):
        shown, *ends = (format(each, style) for each in (of.value, of.low, of.high))
        if (ends[0] != ends[1] or of.low == of.high) and (float(shown) or not of.value):
            break
    return f"{shown} [{ends[0]}, {ends[1]}]"


def value(finding: Finding) -> str:
    """Return a finding's estimate as text, such as `0.75`; "" if it has none."""
    return fixed(finding.estimate.value, finding.decimals) if finding.estimate else ""


def interval(finding: Finding) -> str:
    """Return a finding's interval, such as `[0.71, 0.79]`; "" without one or if its width is 0."""
    estimate = finding.estimate
    return _interval(estimate.low, estimate.high, finding.decimals) if estimate else ""


def bound_in_words(finding: Finding) -> str:
    """Return a finding's bound in words, such as `must be below 0.67`."""
    low, high = (bound_end(end) if math.isfinite(end) else "" for end in finding.bound.ends)
    if low and high:
        return f"must be between {low} and {high}"
    return f"must be above {low}" if low else f"must be below {high}" if high else "may be anything"


def harm_in_words(finding: Finding) -> str:
    """Return where harm begins beyond a finding's bound, such as `, harm from 1.00`; or ""."""
    if not finding.bound.leeway:
        return ""
    return (
        f", harm from {' or '.join(bound_end(x) for x in finding.bound.harms if math.isfinite(x))}"
    )


def distance_beyond(finding: Finding) -> float:
    """Return how far an estimate lies beyond its bound; negative inside, 0 without estimate."""
    estimate = finding.estimate
    if estimate is None:
        return 0.0
    low, high = finding.bound.ends
    return max(low - estimate.value, estimate.value - high)


def standard_errors_beyond(finding: Finding) -> float:
    """Return how many standard errors an estimate lies beyond its bound; negative inside it.

    Infinite for an interval of no width, and for a bound without an end.
    """
    estimate = finding.estimate
    if estimate is None:
        return 0.0
    over = distance_beyond(finding)
    if not math.isfinite(over):
        return over
    low, _ = finding.bound.ends
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    nearer_low = low - estimate.value == over
    half = (above if nearer_low else below) if over >= 0 else (below if nearer_low else above)
    return _Z95 * over / half if half else math.copysign(math.inf, over)


def clearest(finding: Finding) -> tuple[int, float]:
    """Return a sort key that puts the failures first that their data show most clearly.

    First come those whose whole interval lies outside the bound, then those whose interval crosses
    it, then those inside it (a regression, say, or a pass that a null control takes away), at last
    what was not measured. Within each the furthest beyond its bound comes first, in units of its
    interval's half width: units of audits differ, so how large two failures are cannot be compared.
    """
    if finding.estimate is None:
        return 3, 0.0
    lies = finding.bound.judge(finding.estimate)
    side = [Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS].index(lies)
    return side, -standard_errors_beyond(finding)


def standard_errors_in_words(finding: Finding) -> str:
    """Return a finding's distance to its bound, such as `3.8 standard errors beyond`, or ""."""
    away = standard_errors_beyond(finding)
    if finding.estimate is None or not math.isfinite(away):
        return ""
    n, side = abs(away), "beyond" if away >= 0 else "inside"
    if n > _FAR:
        return f"more than {_FAR} standard errors {side}"
    return f"{n:.0f} standard errors {side}" if n >= _WHOLE else f"{n:.1f} standard errors {side}"


def day(created: str) -> str:
    """Format an ISO date, such as `22 Nov 2026, 09:45 UTC`; return any other text unchanged."""
    try:
        when = datetime.fromisoformat(created)
    except ValueError:
        return created
    return f"{when.day} {when:%b %Y, %H:%M} UTC"
