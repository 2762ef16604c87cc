"""What a comparison of two results.json says, as values: `releases` makes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rmaudit.measures.difference import Interval


class Change(StrEnum):
    """What became of a finding."""

    WORSE = "worse"  # by a difference that counts
    UNCLEAR = "unclear"  # its verdict is worse, though no difference counts
    UNMEASURED = "no longer measured"
    INCOMPARABLE = "not comparable"
    BETTER = "better"
    UNCHANGED = "no clear change"  # which does not prove that there was none
    NEW = "newly measured"
    NEVER = "measured in neither"


@dataclass(frozen=True, slots=True)
class Measured:
    """An estimate, without what it rests on."""

    value: float
    low: float
    high: float
    unit: str
    n: int


@dataclass(frozen=True, slots=True)
class Side:
    """What one file has of a finding."""

    result: str
    effect: str
    reason: str
    estimate: Measured | None


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding of both files, or of one."""

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
    """Whether the difference's interval knows what both measurements have in common."""
    note: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A token and its ranks, 1 the best."""

    text: str
    old: float
    new: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many tokens either file has."""

    old: int
    new: int


@dataclass(frozen=True, slots=True)
class SweepChange:
    """How alike two sweeps rank the tokens that both have, and which moved furthest."""

    prompt: str
    paired_by: str
    tokens: int
    of: Sizes
    tau: Interval | None = None
    spearman: float | None = None
    reason: str = ""
    rose: tuple[Moved, ...] = ()
    fell: tuple[Moved, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A model of the old file and one of the new."""

    old: str
    new: str
    findings: tuple[FindingChange, ...]
    sweeps: tuple[SweepChange, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Which run a file is of, what is incomplete about it, and its verdict."""

    created: str
    rmaudit: str
    command: str
    incomplete: str
    verdict: str
    """For example `FAILS`."""
    why: str
    """The reasons of the verdict; "" where there are none."""


@dataclass(frozen=True, slots=True)
class Unpaired:
    """The models that are in one file only: nothing is compared of them."""

    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Releases:
    """Two runs, side by side."""

    old: Origin
    new: Origin
    margin: float | None
    """Differences up to this do not count; null for a tenth of the old distance to the bound."""
    assumes: str
    models: tuple[ModelChange, ...]
    unpaired: Unpaired
    counts: dict[str, int]
    outcome: str
