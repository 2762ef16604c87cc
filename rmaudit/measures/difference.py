"""The difference between two estimates of one effect, and which lies further inside its bound.

Here the two are taken for independent estimates. Of two releases they are not: both are measured on
the same words and tokens, so that their errors go together and the interval of the difference is
wider than it would have to be. It errs on the side of no difference. `measures.paired` knows what
they have in common, where both kept it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rmaudit.verdicts.records import Bound, Estimate

INDEPENDENT = (
    "taken for independent: made on the same words, their errors go together, so the interval is "
    "wider than need be, and a small difference may be missed"
)


@dataclass(frozen=True, slots=True)
class Interval:
    """Number with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, estimate: Estimate) -> Interval:
        """Return the value and interval of an estimate."""
        return cls(estimate.value, estimate.low, estimate.high)

    def counts(self, margin: float = 0.0) -> bool:
        """Return whether 0 is outside the interval and the value further from 0 than `margin`."""
        return (self.low > 0 or self.high < 0) and abs(self.value) > margin

    def overlaps(self, other: Interval) -> bool:
        """Return whether the two intervals have a number in common."""
        return self.low <= other.high and other.low <= self.high


def minus(new: Interval, old: Interval) -> Interval:
    """Return new minus old with its interval, if the two are independent.

    Each end of the difference takes the half widths that make it (Zou and Donner 2008, Construction
    of confidence limits about effect measures, Statistics in Medicine 27), so that intervals which
    are longer on one side give one that is.
    """
    value = new.value - old.value
    below = math.hypot(new.value - new.low, old.high - old.value)
    above = math.hypot(new.high - new.value, old.value - old.low)
    return Interval(value, value - below, value + above)


def room(estimate: Estimate, bound: Bound) -> Interval:
    """Return how far inside its bound an effect lies, in its unit; below 0 outside.

    Of a bound with two ends it is the distance to the nearer one, greatest in their middle.

    Raises:
        ValueError: the estimate is in another unit than the bound.
    """
    if estimate.unit != bound.unit:
        message = f"the bound is in {bound.unit!r}, the estimate in {estimate.unit!r}"
        raise ValueError(message)

    low, high = bound.ends

    def inside(value: float) -> float:
        return min(value - low, high - value)

    ends = inside(estimate.low), inside(estimate.high)
    middle = (low + high) / 2  # infinite, or NaN, where an end is
    most = inside(middle) if estimate.low <= middle <= estimate.high else max(ends)
    return Interval(inside(estimate.value), min(ends), most)


def gain(new: Estimate, old: Estimate, bound: Bound) -> Interval:
    """Return how much further inside the bound the new effect lies; below 0 if it got worse.

    Raises:
        ValueError: one of them is in another unit than the bound.
    """
    return minus(room(new, bound), room(old, bound))
