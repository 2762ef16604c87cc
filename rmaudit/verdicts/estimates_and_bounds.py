"""Define what audits measure (`Estimate`), its `Bound` and how the two compare (`Verdict`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import NormalDist

from rmaudit.verdicts.evidence import Evidence, checked
from rmaudit.verdicts.plain_python_values import count, number, text

_LEVEL = 0.95
_MOST = 10**9  # comparisons: of many more the normal quantile is infinite
_Z80 = 0.8416212335729143  # the normal quantile at 80 %
GROUPS = 64  # of clusters, by which an estimate's `parts` are summed
T_GROUPS = 1.998340542520745  # Student's 97.5 % quantile with 63 degrees of freedom
_SAME = 1e-12  # a root of squared parts that is rounding


class Verdict(StrEnum):
    """Verdict on an estimate: how its interval compares with the bound, or why there is none."""

    PASS = "PASS"  # noqa: S105  (a verdict, not a password)
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"  # neither is shown: see `Bound.judge_interval`
    ERROR = "ERROR"  # it could not be measured; never a low score
    SKIPPED = "SKIPPED"  # could not be measured, for a stated reason; always shown
    NA = "N/A"  # the run did not ask for it: no baseline was named, the model has no base

    @property
    def result(self) -> Result:
        """Return the verdict as reports print it."""
        return _RESULTS.get(self, Result.NOT_RUN)


class Result(StrEnum):
    """Verdict as reports print it: pass, fail, open or not run."""

    PASS = "pass"  # noqa: S105  (likewise)
    FAIL = "fail"
    OPEN = "open"  # neither harm nor its absence is shown, or a null control passes
    NOT_RUN = "not run"  # nothing was measured: the reason says why


_RESULTS = {
    Verdict.PASS: Result.PASS,
    Verdict.FAIL: Result.FAIL,
    Verdict.INCONCLUSIVE: Result.OPEN,
}  # all others were not run


class Effect(StrEnum):
    """What a result means for a release, as reports print it: blocks, accepted, info, or ""."""

    BLOCKS = "blocks"
    ACCEPTED = "accepted"  # a failure that models.yaml expects, or that somebody answers for
    INFO = "info"  # the audit does not gate, whatever its result
    NONE = ""


class Severity(StrEnum):
    """Severity of an audit: which of its results keep a run from passing."""

    CORE = "core"  # a harm that is shown blocks, and so does a result that is open
    GATE = "gate"  # a harm that is shown blocks
    INFO = "info"  # nothing blocks: it is measured and shown

    @property
    def gates(self) -> bool:
        """Return whether an audit of this severity can block a release."""
        return self is not Severity.INFO


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured value with its 95 % interval, in a unit that does not depend on the model.

    Numbers may be numpy's: they become Python's own.

    Raises:
        TypeError: a value is of another type, anywhere in it; the message says where.
        ValueError: a number is NaN or infinite, or the value lies outside its interval.
    """

    value: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""
    unit: str
    n: int
    """How many words, tokens or pairs it rests on."""
    interval: str
    """Where the interval comes from."""
    secondary: Mapping[str, float] = field(default_factory=dict)
    """Further numbers to show next to this one, by name."""
    caveats: tuple[str, ...] = ()
    """Sentences that a reader must know to read the number."""
    evidence: Evidence | None = None
    """What a chart needs."""
    parts: tuple[float, ...] = ()
    """What groups of clusters bring to its error, for a paired comparison of two releases."""
    together: int = 1
    """Of how many comparisons it is the worst: its interval holds for all of them at once."""

    def __post_init__(self) -> None:
        """Check and convert every field; values must be finite, and `value` inside the interval."""
        for name in ("value", "low", "high"):
            object.__setattr__(self, name, number(getattr(self, name), f"an estimate's {name}"))
        object.__setattr__(self, "n", count(self.n, "an estimate's n"))
        many = count(self.together, "an estimate's number of comparisons")
        if many > _MOST:
            raise ValueError(
                f"an estimate is the worst of at most {_MOST:,} comparisons, got {many}"
            )
        object.__setattr__(self, "together", max(many, 1))
        for name in ("unit", "interval"):
            object.__setattr__(self, name, text(getattr(self, name), f"an estimate's {name}"))
        if isinstance(self.caveats, str):
            message = f"an estimate's caveats are one text, {self.caveats!r}, allowed: a tuple"
            raise TypeError(message)
        caveats = tuple(text(caveat, "a caveat of an estimate") for caveat in self.caveats)
        secondary = {
            text(name, "the name of a secondary number"): number(value, f"secondary {name!r}")
            for name, value in self.secondary.items()
        }
        parts = tuple(number(part, "a part of an estimate's error") for part in self.parts)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "caveats", caveats)
        object.__setattr__(self, "secondary", secondary)
        object.__setattr__(self, "evidence", checked(self.evidence))
        if not self.low <= self.value <= self.high:
            numbers = (self.value, self.low, self.high)
            message = f"an estimate must lie inside its interval, got value, low, high = {numbers}"
            raise ValueError(message)

    @property
    def detectable(self) -> float:
        """Return the least distance beyond a bound with an 80 % chance of being detected.

        That is (1.96 + 0.84) standard errors of a single comparison, taken from the interval's half
        width: a normal approximation, in the estimate's unit.
        """
        reach = self.quantile
        return (reach + _Z80) * (self.high - self.low) / (2 * reach)

    @property
    def quantile(self) -> float:
        """Return the interval's half width in standard errors: 1.96, more if `together` > 1.

        For it then holds for several comparisons at once (Bonferroni).
        """
        return NormalDist().inv_cdf(1 - (1 - _LEVEL) / (2 * self.together))

    def __str__(self) -> str:
        """Return, for example, `0.77 Spearman's rho, 95 % interval 0.74 to 0.81, n = 1,204`."""
        interval = f"95 % interval {self.low:.3g} to {self.high:.3g}"
        return f"{self.value:.3g} {self.unit}, {interval}, n = {self.n:,}"


@dataclass(frozen=True, slots=True)
class Bound:
    """Open range of allowed values, and how far beyond its ends harm begins.

    What surely lies beyond an end fails; what is surely short of harm passes, if the estimate
    itself is allowed. An end that is given as an infinity is None: there is no such end.
    """

    low: float | None
    high: float | None
    unit: str
    leeway: float = 0.0
    """From either end to the smallest harm that matters, in the unit; 0 where harm begins there."""

    def __post_init__(self) -> None:
        """Raise ValueError unless low < high and 0 <= leeway; replace infinite ends by None."""
        low, high = self.ends
        if not low < high:  # a NaN too
            raise ValueError(f"a bound needs low < high, got {self.low} and {self.high}")
        if not 0 <= self.leeway < math.inf:
            raise ValueError(f"harm begins at a bound or beyond it, got {self.leeway} from it")
        object.__setattr__(self, "low", low if math.isfinite(low) else None)
        object.__setattr__(self, "high", high if math.isfinite(high) else None)

    @property
    def ends(self) -> tuple[float, float]:
        """Return the low and the high end, infinite where the bound has none."""
        low = -math.inf if self.low is None else self.low
        return low, math.inf if self.high is None else self.high

    @property
    def harms(self) -> tuple[float, float]:
        """Return where harm begins, below and above; infinite where the bound has no end."""
        low, high = self.ends
        return low - self.leeway, high + self.leeway

    def judge(self, estimate: Estimate) -> Verdict:
        """Return the verdict on an estimate: see `judge_interval`.

        Raises:
            ValueError: the estimate is in another unit.
        """
        if estimate.unit != self.unit:
            raise ValueError(f"the bound is in {self.unit!r}, the estimate in {estimate.unit!r}")
        return self.judge_interval(estimate.value, estimate.low, estimate.high)

    def judge_interval(self, value: float, start: float, end: float) -> Verdict:
        """Return the verdict on a value with the interval from `start` to `end`, in its unit.

        FAIL if the whole interval lies outside: harm is shown. PASS if the value lies inside and
        the interval does not reach where harm begins: there is no harm of that size. Else
        INCONCLUSIVE: neither is shown.
        """
        low, high = self.ends
        if end <= low or start >= high:
            return Verdict.FAIL
        least, most = self.harms
        if low < value < high and least < start and end < most:
            return Verdict.PASS
        return Verdict.INCONCLUSIVE

    def p_value(self, estimate: Estimate) -> float:
        """Return the two-sided p value against the end that the estimate is beyond; 1 if inside.

        Below 0.05 exactly where `judge` says FAIL. It is that of all
        comparisons of which the estimate is the worst (Bonferroni). The standard error is
        that of the interval's end which faces the bound, under a normal approximation: where the
        interval is Student's with few clusters, p far out is smaller than it should be.
        """
        low, high = self.ends
        short, end = low - estimate.value, estimate.high - estimate.value
        if estimate.value >= high:
            short, end = estimate.value - high, estimate.value - estimate.low
        elif estimate.value > low:
            return 1.0
        many, reach = estimate.together, estimate.quantile
        return min(1.0, many * math.erfc(reach * short / end / math.sqrt(2))) if end else 0.0

    def __str__(self) -> str:
        """Return, for example, `below 0.5 sd (harm from 1)`, or `above 0 skewness`."""
        least, most = (f"{end:.6g}" for end in self.harms)
        harm = [
            *([least] if self.low is not None else []),
            *([most] if self.high is not None else []),
        ]
        begins = f" (harm from {' and '.join(harm)})" if self.leeway else ""
        if self.high is None:
            return f"above {self.ends[0]:g} {self.unit}{begins}"
        if self.low is None:
            return f"below {self.high:g} {self.unit}{begins}"
        return f"between {self.low:g} and {self.high:g} {self.unit}{begins}"


def paired_error(
    group_errors: Sequence[float], other_group_errors: Sequence[float]
) -> float | None:
    """Return the standard error of two estimates' difference from their errors by group, or None.

    None unless both have the error of each of the 64 groups (`Estimate.parts`). The variance of a
    difference is that of the groups' differences, whatever the two have in common (random groups:
    Wolter 2007, Introduction to Variance Estimation, chapter 2).
    """
    if not len(group_errors) == len(other_group_errors) == GROUPS:
        return None
    pairs = zip(group_errors, other_group_errors, strict=True)
    square = sum((one - two) ** 2 for one, two in pairs)
    error = math.sqrt(square * GROUPS / (GROUPS - 1))
    return error if error > _SAME else 0.0


def above(low: float, *, unit: str, harm: float | None = None) -> Bound:
    """Return a bound that allows values above `low`; harm begins at `harm`, or else at `low`."""
    return Bound(low, math.inf, unit, 0.0 if harm is None else low - harm)


def below(high: float, *, unit: str, harm: float | None = None) -> Bound:
    """Return a bound that allows values below `high`; harm begins at `harm`, or else at `high`."""
    return Bound(-math.inf, high, unit, 0.0 if harm is None else harm - high)


def between(low: float, high: float, *, unit: str) -> Bound:
    """Return a bound that allows values between both ends, where harm begins."""
    return Bound(low, high, unit)
