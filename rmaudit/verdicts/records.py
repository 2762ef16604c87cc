"""What an audit measures, what it is held against, and what came of it: plain data.

An `Estimate` is measured, a `Bound` judges it, a `Verdict` says how, a `Finding` records all three.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

_Z95, _Z80 = 1.959963984540054, 0.8416212335729143  # normal quantiles at 97.5 % and 80 %


class Verdict(StrEnum):
    """How an estimate stands to its bound."""

    PASS = "PASS"  # noqa: S105  (a verdict, not a password)
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"  # the interval straddles the bound; does not pass
    ERROR = "ERROR"  # it could not be measured; never a low score
    SKIPPED = "SKIPPED"  # not measured, for a stated reason; always shown


class Severity(StrEnum):
    """What follows when an audit does not pass."""

    GATE = "gate"  # the run is not green
    INFO = "info"  # nothing: it is measured and shown


@dataclass(frozen=True)
class Evidence:
    """What a chart needs of a measurement: the base of one frozen dataclass an audit.

    Its first field is `kind`, by which a reader tells them apart; all others are plain values:
    finite numbers, texts, bools, None, tuples of these, and frozen dataclasses of these.
    """


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its uncertainty, in model-free units.

    `low` and `high` are the ends of a 95 % interval; `interval` says where it comes from.
    `secondary` holds further numbers to show next to this one; `caveats` are sentences that a
    reader must know to read the number; `evidence` is what a chart needs.
    """

    value: float
    low: float
    high: float
    unit: str
    n: int
    interval: str
    secondary: Mapping[str, float] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()
    evidence: Any = field(default_factory=dict)  # an Evidence, or a mapping of JSON values

    def __post_init__(self) -> None:
        """Refuse anything that is not a number: it must end as an ERROR, not as a verdict."""
        numbers = (self.value, self.low, self.high)
        if odd := [name for name, number in self.secondary.items() if not math.isfinite(number)]:
            message = f"an estimate needs finite secondary numbers, {odd[0]!r} is not"
            raise ValueError(message)
        if not all(math.isfinite(number) for number in numbers):
            message = f"an estimate needs finite numbers, got value, low, high = {numbers}"
            raise ValueError(message)
        if not self.low <= self.value <= self.high:
            message = f"an estimate must lie inside its interval, got {numbers}"
            raise ValueError(message)

    @property
    def detectable(self) -> float:
        """The smallest distance beyond a bound that would be found with 80 % probability.

        That is (1.96 + 0.84) standard errors, taken from the interval's half width: a normal
        approximation, in the estimate's unit.
        """
        return (_Z95 + _Z80) * (self.high - self.low) / (2 * _Z95)

    def __str__(self) -> str:
        """For example `0.77 Spearman's rho, 95 % interval 0.74 to 0.81, n = 1,204`."""
        interval = f"95 % interval {self.low:.3g} to {self.high:.3g}"
        return f"{self.value:.3g} {self.unit}, {interval}, n = {self.n:,}"


@dataclass(frozen=True, slots=True)
class Bound:
    """The open range in which an estimate's whole interval must lie to pass."""

    low: float
    high: float
    unit: str

    def __post_init__(self) -> None:
        """Refuse a range that nothing can lie in."""
        if not self.low < self.high:  # a NaN too
            message = f"a bound needs low < high, got {self.low} and {self.high}"
            raise ValueError(message)

    def judge(self, estimate: Estimate) -> Verdict:
        """PASS if the interval is inside, FAIL if it is outside, INCONCLUSIVE if it straddles.

        Raises:
            ValueError: the estimate is in another unit.
        """
        if estimate.unit != self.unit:
            message = f"the bound is in {self.unit!r}, the estimate in {estimate.unit!r}"
            raise ValueError(message)
        if self.low < estimate.low and estimate.high < self.high:
            return Verdict.PASS
        if estimate.high <= self.low or estimate.low >= self.high:
            return Verdict.FAIL
        return Verdict.INCONCLUSIVE

    def p_value(self, estimate: Estimate) -> float:
        """Two-sided p of a true value at the bound's nearer end, given how far out the estimate is.

        Below 0.05 exactly where `judge` says FAIL, and 1 inside the bound. The standard error is
        that of the interval's end which faces the bound, under a normal approximation: where the
        interval is Student's with few clusters, p far out is smaller than it should be.
        """
        short, end = self.low - estimate.value, estimate.high - estimate.value
        if estimate.value >= self.high:
            short, end = estimate.value - self.high, estimate.value - estimate.low
        elif estimate.value > self.low:
            return 1.0
        return math.erfc(_Z95 * short / end / math.sqrt(2)) if end else 0.0

    def __str__(self) -> str:
        """For example `above 0 skewness`."""
        if math.isinf(self.high):
            return f"above {self.low:g} {self.unit}"
        if math.isinf(self.low):
            return f"below {self.high:g} {self.unit}"
        return f"between {self.low:g} and {self.high:g} {self.unit}"


def above(low: float, *, unit: str) -> Bound:
    """The bound that only greater values pass."""
    return Bound(low, math.inf, unit)


def below(high: float, *, unit: str) -> Bound:
    """The bound that only lesser values pass."""
    return Bound(-math.inf, high, unit)


def between(low: float, high: float, *, unit: str) -> Bound:
    """The bound that only values between the two pass."""
    return Bound(low, high, unit)


@dataclass(frozen=True, slots=True)
class Finding:
    """One audit of one model under one prompt, and its verdict.

    `prompt` names the prompt, or all that a joint audit rests on. `known` is the reason for which
    models.yaml expects this failure; `reason` says why there is no estimate (ERROR, SKIPPED), or
    why a FAIL became INCONCLUSIVE; `repeat` is the command that runs it again; `sweeps` are the
    keys of the stored scores that it rests on. `bound_low` and `bound_high` are the bound's ends,
    None where it has none; `overridden` tells of the bound and the severity, where models.yaml sets
    them, what the audit declares and where else it is said. `waiver` is what models.yaml accepts
    and whether that holds, {} where it says nothing; `blocks` whether the finding keeps the run
    from being green (`decide`). `detectable` is `Estimate.detectable`; `p` is
    `Bound.p_value` and `p_holm` the same adjusted for all gating findings of the run, None where
    they do not apply. `controls` are the values of scorers that know nothing of the question
    (`rmaudit.organisms`), `band` those of the paper's ten models by name, measured on `band_on`.
    `limits` are sentences that say what the audit does not show.
    """

    audit: str
    nodeid: str
    claim: str
    source: str
    base_rate: str
    bound: str
    model: str
    prompt: str
    verdict: Verdict
    estimate: Estimate | None = None
    reason: str = ""
    known: str = ""
    repeat: str = ""
    sweeps: tuple[str, ...] = ()
    bound_low: float | None = None
    bound_high: float | None = None
    severity: Severity = Severity.GATE
    detectable: float | None = None
    p: float | None = None
    p_holm: float | None = None
    controls: Mapping[str, float] = field(default_factory=dict)
    band: Mapping[str, float] = field(default_factory=dict)
    band_on: str = ""
    overridden: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    waiver: Mapping[str, Any] = field(default_factory=dict)
    blocks: bool = False
    limits: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values only: what crosses processes and what results.json holds."""
        return asdict(self) | {"verdict": str(self.verdict), "severity": str(self.severity)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """The inverse of `to_json`."""
        fields = dict(data)
        if fields["estimate"] is not None:
            estimate = dict(fields["estimate"])
            estimate["caveats"] = tuple(estimate["caveats"])
            fields["estimate"] = Estimate(**estimate)
        fields["sweeps"] = tuple(fields["sweeps"])
        fields["limits"] = tuple(fields["limits"])
        fields |= {"verdict": Verdict(fields["verdict"]), "severity": Severity(fields["severity"])}
        return cls(**fields)
