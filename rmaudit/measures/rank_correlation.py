"""Rank correlations with their standard errors, as U-statistics: no resample is ranked anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

_Array = NDArray[np.float64]

_LEAST = 1e-6  # of what `held` must leave: rounding


def spearman(x: _Array, y: _Array) -> tuple[float, float]:
    """Spearman's rho of two arrays, shape (n,), and its standard error.

    The error is that of the sum of the rows' influences (Hoeffding 1948, with ties at average
    ranks), in O(n log n). Both are NaN where an array is constant.
    """
    rho, influence = influences(x, y)
    return rho, _error(influence)


def partial_spearman(x: _Array, y: _Array, held: _Array) -> tuple[float, float]:
    """Spearman's rho of `x` and `y` with `held` held fixed (linearly, in ranks), and its error.

    rho_xy.z = (rho_xy - rho_xz rho_yz) / sqrt((1 - rho_xz²)(1 - rho_yz²)); the error by the delta
    method from the influences of the three. Both are NaN where `held` explains one of them.
    """
    (xy, on_xy), (xz, on_xz), (yz, on_yz) = (
        influences(*pair) for pair in ((x, y), (x, held), (y, held))
    )
    left = np.sqrt((1 - xz**2) * (1 - yz**2))
    if not left > _LEAST:
        return float("nan"), float("nan")
    value = (xy - xz * yz) / left
    by_xz = -yz / left + value * xz / (1 - xz**2)
    by_yz = -xz / left + value * yz / (1 - yz**2)
    return float(value), _error(on_xy / left + by_xz * on_xz + by_yz * on_yz)


def influences(x: _Array, y: _Array) -> tuple[float, _Array]:
    """Spearman's rho, and what each row does to it: shape (n,), of mean 0."""
    n = len(x)
    f, g = ((stats.rankdata(side) - 0.5) / n - 0.5 for side in (x, y))
    scale = float(f.std() * g.std())
    if not scale:
        return float("nan"), np.full(n, np.nan)
    rho = min(max(float(np.mean(f * g)) / scale, -1.0), 1.0)  # rounding
    influence = (f * g + _above(x, g) + _above(y, f)) / scale
    # How each row moves the spread of the ranks: nothing without ties.
    spread = rho / 2 * (_spread(x, f) + _spread(y, g))
    total: _Array = influence - influence.mean() - spread
    return rho, total


def _above(x: _Array, g: _Array) -> _Array:
    """For each row, the sum of `g` over the rows with greater `x`, half of it at ties, over n."""
    _, place = np.unique(x, return_inverse=True)
    sums = np.bincount(place, g)
    greater = sums[::-1].cumsum()[::-1] - sums / 2
    above: _Array = greater[place] / len(x)
    return above


def _spread(x: _Array, f: _Array) -> _Array:
    """Influence of each row on the variance of the average ranks `f`, over that variance."""
    raw = f**2 + 2 * _above(x, f)
    centred: _Array = (raw - raw.mean()) / float(f.var())
    return centred


def _error(influence: _Array) -> float:
    return float(influence.std(ddof=1) / np.sqrt(len(influence)))
