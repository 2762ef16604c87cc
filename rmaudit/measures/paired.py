"""The difference of two estimates on the same words, with their common errors removed.

Each measurement keeps what groups of its clusters bring to its error. Groups are drawn by a hash of
the cluster's name, so those of another model, of another release or on another machine are the
same, and the error of a difference follows from theirs (`paired_error`). With 63 degrees of freedom
an interval is 2 % longer than with all clusters.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rmaudit.measures._stats import NOISE
from rmaudit.measures.difference import Interval
from rmaudit.verdicts.records import GROUPS, T_GROUPS, Estimate, paired_error

_REACH = 1.96  # standard deviations of noise to either end

_Floats = NDArray[np.float64]


def parts(influence: _Floats, clusters: Iterable[str]) -> tuple[float, ...]:
    """Return the influence on a mean of each of `GROUPS` groups of clusters, shape (GROUPS,).

    `influence` is what each row does to the estimate, shape (n,), about its mean; `clusters` are
    the names of the rows' clusters, such as stems, shape (n,).
    """
    return grouped((influence - influence.mean()) / len(influence), clusters)


def grouped(influences: _Floats, clusters: Iterable[str]) -> tuple[float, ...]:
    """Return the rows' influences, shape (n,), summed by group as in `parts`."""
    numbers = np.array([zlib.crc32(name.encode("utf-8", "replace")) for name in clusters])
    sums = np.bincount(numbers % GROUPS, influences, minlength=GROUPS)
    return tuple(float(each) for each in sums)


def difference(new: Estimate, old: Estimate) -> Interval | None:
    """Return new minus old with Student's 95 % interval; None where one has no parts.

    Numeric noise of either side, which no word explains, is added in quadrature.
    """
    error = paired_error(new.parts, old.parts)
    if error is None:
        return None
    value = new.value - old.value
    noise = math.hypot(*(each.secondary.get(NOISE, 0.0) for each in (new, old)))
    reach = math.hypot(T_GROUPS * error, _REACH * noise)
    return Interval(value, value - reach, value + reach)
