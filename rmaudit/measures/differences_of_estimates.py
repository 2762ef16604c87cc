"""Compare two estimates of one quantity: their difference, and which is further inside a bound.

`minus` takes the two for independent. Of two releases they are not: both are measured on the same
words and tokens, so that their errors go together and the interval of the difference is wider than
it would have to be. It errs on the side of no difference. `difference` removes what they have in
common, where both kept it.

For that each measurement keeps what groups of its clusters bring to its error (`parts`). Groups are
drawn by a hash of the cluster's name, so those of another model, of another release or on another
machine are the same, and the error of a difference follows from theirs (`paired_error`). With 63
degrees of freedom an interval is 2 % longer than with all clusters.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmaudit.measures._stats import NOISE, NOISE_REACH
from rmaudit.verdicts.estimates_and_bounds import GROUPS, T_GROUPS, Bound, Estimate, paired_error
from rmaudit.word_stems import listed

INDEPENDENT = (
    "both runs are treated as independent, although they use the same words, so the interval is "
    "wider than need be, and a small difference may be missed"
)

_Floats = NDArray[np.float64]


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
        """Return whether this counts as a change: 0 is outside, and |value| above `margin`."""
        return (self.low > 0 or self.high < 0) and abs(self.value) > margin

    def overlaps(self, other: Interval) -> bool:
        """Return whether the two intervals have a number in common."""
        return self.low <= other.high and other.low <= self.high


def minus(new: Interval, old: Interval) -> Interval:
    """Return `new` minus `old` with its interval, as if the two were independent.

    Each end of the difference takes the half widths that make it (Zou and Donner 2008, Construction
    of confidence limits about effect measures, Statistics in Medicine 27), so that intervals which
    are longer on one side give one that is.
    """
    value = new.value - old.value
    below = math.hypot(new.value - new.low, old.high - old.value)
    above = math.hypot(new.high - new.value, old.value - old.low)
    return Interval(value, value - below, value + above)


def distance_inside(estimate: Estimate, bound: Bound) -> Interval:
    """Return how far the estimate and its interval lie inside `bound`; negative if outside.

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
    """Return how much further inside `bound` the new estimate lies; negative if it got worse.

    Raises:
        ValueError: one of them is in another unit than the bound.
    """
    return minus(distance_inside(new, bound), distance_inside(old, bound))


def parts(influence: _Floats, clusters: Iterable[str]) -> tuple[float, ...]:
    """Return rows' influences, centred and divided by n, summed over `GROUPS` groups of clusters.

    `influence` is what each row does to the estimate, shape (n,), about its mean; `clusters` are
    the names of the rows' clusters, such as stems, shape (n,).
    """
    return grouped((influence - influence.mean()) / len(influence), clusters)


def grouped(influences: _Floats, clusters: Iterable[str]) -> tuple[float, ...]:
    """Return rows' influences summed over `GROUPS` groups; a hash of a cluster's name picks one."""
    numbers = np.array([zlib.crc32(name.encode("utf-8", "replace")) for name in listed(clusters)])
    sums = np.bincount(numbers % GROUPS, influences, minlength=GROUPS)
    return tuple(float(each) for each in sums)


def difference(new: Estimate, old: Estimate) -> Interval | None:
    """Return `new` minus `old` with its paired 95 % interval; None if either has no `parts`.

    Numeric noise of either side, which no word explains, is added in quadrature.
    """
    error = paired_error(new.parts, old.parts)
    if error is None:
        return None
    value = new.value - old.value
    noise = math.hypot(*(each.secondary.get(NOISE, 0.0) for each in (new, old)))
    reach = math.hypot(T_GROUPS * error, NOISE_REACH * noise)
    return Interval(value, value - reach, value + reach)
