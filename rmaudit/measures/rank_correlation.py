"""Correlate ranks, with standard errors in closed form, as U-statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from rmaudit.measures._stats import clustered_error, untied

_Array = NDArray[np.float64]
_Clusters = NDArray[np.integer[Any]] | None

_LEAST = 1e-6  # of what `held` must leave: rounding


def spearman(x: _Array, y: _Array, clusters: _Clusters = None) -> tuple[float, float]:
    """Return Spearman's rho of two arrays, shape (n,), and its standard error.

    The error is that of the sum of the rows' influences (Hoeffding 1948, with ties at average
    ranks), in O(n log n); rows of one cluster, shape (n,), count as one draw. Both are NaN where
    an array is constant.
    """
    rho, influence = influences(x, y)
    return rho, clustered_error(influence, clusters)


def partial_spearman(
    x: _Array, y: _Array, held: _Array, clusters: _Clusters = None
) -> tuple[float, float]:
    """Return Spearman's rho of `x` and `y` with `held` held fixed, and its standard error.

    `held` is one variable, shape (n,), or several, shape (n, k). With C the matrix that these leave
    of the rhos of x and y, C_ab = R_ab - R_ah R_hh⁻¹ R_hb, it is C_xy / sqrt(C_xx C_yy); the error
    is by the delta method from the influences of all pairs of variables, dC_ab = u_a' dR u_b with u
    the coefficients of what is left. Both are NaN where what is held fixed explains one of the two.
    """
    columns = [x, y, *np.atleast_2d(np.asarray(held).T)]
    rhos, on = np.eye(len(columns)), {}
    for i, one in enumerate(columns):
        for j in range(i):
            rhos[i, j], on[i, j] = influences(one, columns[j])
            rhos[j, i] = rhos[i, j]
    if not np.isfinite(rhos).all():
        return float("nan"), float("nan")
    u = np.column_stack([np.eye(2), -rhos[:2, 2:] @ np.linalg.pinv(rhos[2:, 2:])])
    left = u @ rhos @ u.T
    if not min(left[0, 0], left[1, 1]) > _LEAST:
        return float("nan"), float("nan")

    def moved(a: int, b: int) -> _Array:
        """Return each row's influence on C_ab, the residual rank correlation of a and b, (n,)."""
        p, q = u[a], u[b]
        total: _Array = np.sum([(p[i] * q[j] + p[j] * q[i]) * on[i, j] for i, j in on], axis=0)
        return total

    scale = np.sqrt(left[0, 0] * left[1, 1])
    value = float(np.clip(left[0, 1] / scale, -1.0, 1.0))  # rounding
    sizes = moved(0, 0) / left[0, 0] + moved(1, 1) / left[1, 1]
    return value, clustered_error(moved(0, 1) / scale - value / 2 * sizes, clusters)


def influences(x: _Array, y: _Array) -> tuple[float, _Array]:
    """Return Spearman's rho, and each row's influence on it: shape (n,), with mean 0."""
    n = len(x)
    f, g = ((scipy.stats.rankdata(side) - 0.5) / n - 0.5 for side in (x, y))
    scale = float(f.std() * g.std())
    if not scale:
        return float("nan"), np.full(n, np.nan)
    rho = min(max(float(np.mean(f * g)) / scale, -1.0), 1.0)  # rounding
    influence = (f * g + half_sum_above(x, g) + half_sum_above(y, f)) / scale
    # How each row moves the spread of the ranks: nothing without ties.
    spread = rho / 2 * (_influences_on_rank_variance(x, f) + _influences_on_rank_variance(y, g))
    total: _Array = influence - influence.mean() - spread
    return rho, total


def half_sum_above(x: _Array, g: _Array) -> _Array:
    """Return, for each row, the sum of `g` over rows with greater `x` (ties count half), over n."""
    _, place = np.unique(x, return_inverse=True)
    sums = np.bincount(place, g)
    greater = sums[::-1].cumsum()[::-1] - sums / 2
    return greater[place] / len(x)


def _influences_on_rank_variance(x: _Array, f: _Array) -> _Array:
    """Return each row's influence on the variance of the ranks `f`, divided by that variance."""
    raw = f**2 + 2 * half_sum_above(x, f)
    centred: _Array = (raw - raw.mean()) / float(f.var())
    return centred


def kendall_error(x: NDArray[Any], y: NDArray[Any], clusters: _Clusters = None) -> float:
    """Return the standard error of Kendall's tau-b of two arrays, shape (n,), not constant.

    It is that of a U-statistic: 2 · sd of the items' concordances / √n (Cliff and Charlin 1991),
    from tau-a to tau-b by the share of pairs that are tied. Where `clusters` (n,) says which items
    are spellings of one word, the sums over words take the place of the items.
    """
    return clustered_error(kendall_influence(x, y), clusters)


def kendall_influence(x: NDArray[Any], y: NDArray[Any]) -> _Array:
    """Return each row's influence on Kendall's tau-b, shape (n,); 0 where an array is constant."""
    both = math.sqrt(untied(x) * untied(y))
    return 2 * concordances(x, y) / both if both else np.zeros(len(x))


def concordances(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Return each item's mean of sign(x - x') · sign(y - y') over the other items, shape (n,).

    Their mean is tau-a, and their spread is what its variance is made of. In O(n log² n) time: the
    items less in both are counted, and all other counts follow from those in one order.
    """
    n = len(x)
    x, y = (np.unique(side, return_inverse=True)[1] for side in (x, y))  # whole numbers below n
    less_x, less_y, less_by_x, less_by_y = map(_count_less, (x, y, x * n + y, y * n + x))
    more_x, more_y, more_by_y = (_count_less(-side) for side in (x, y, y * n + x))
    less_in_both = _count_less_in_both(x, y)
    less_in_x = less_x + less_y - less_by_y - less_in_both  # and more in y
    less_in_y = less_x + less_y - less_by_x - less_in_both  # and more in x
    more_in_both = more_x + more_y - more_by_y - less_in_y
    signs = less_in_both + more_in_both - less_in_x - less_in_y
    means: _Array = signs / (n - 1)
    return means


def _count_less(values: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Return for each item how many others are less, shape (n,)."""
    return np.searchsorted(np.sort(values), values)


def _count_less_in_both(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each item how many others are less in both x and y, shape (n,).

    A merge sort by y of the items in the order of x, all merges of one width at once: an item of
    a right run counts the items of its left run that come before it.
    """
    n = len(x)
    order = np.lexsort((-y, x))  # of equal x the greater y comes first, so that none counts another
    ranks = np.unique(y[order], return_inverse=True)[1]
    places, counts, width = np.arange(n), np.zeros(n, dtype=np.int64), 1
    while width < n:
        left, run = (places // width) % 2 == 0, places // (2 * width)
        merged = np.argsort((run * n + ranks) * 2 + left)  # of equal y the right one comes first
        before = np.cumsum(left[merged]) - run[merged] * width
        right = ~left[merged]
        counts[merged[right]] += before[right]
        width *= 2
    out = np.empty(n, dtype=np.int64)
    out[order] = counts
    return out
