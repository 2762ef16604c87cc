"""Compute what measures share: intervals, robust errors, clusters, and numeric noise.

A model's scores change a little with the batch that they are computed in; in half precision this
numeric noise is a good part of the differences between scores. A sweep measures it (`Sweep.noise`),
and `widened` adds it to an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rmaudit.verdicts.estimates_and_bounds import Estimate

UNMEASURED = math.nan  # the noise of scores whose noise nobody measured
UNMEASURED_NOISE = "Numeric noise was not measured: the interval does not contain it."
NOISE = "numeric noise"  # the secondary number
_Z95 = 1.959963984540054  # the normal quantile of a two-sided 95 % interval
_DRAWS = 20
_FIRST_DRAWS = 5  # draws that will do where they differ, and by little beside the interval
_NO_CHANGE, _SMALL_CHANGE = 1e-9, 1e-3
_HUBER = 1.5  # sd from the mean, beyond which a distance counts as so much
_HUBER_SQUARE = 0.7784652161744701  # the mean of min(z², 1.5²), z standard normal
NOISE_REACH = 1.96  # standard deviations of noise to either end, as published intervals have it

_Floats = NDArray[np.float64]
ANYWHERE = (-math.inf, math.inf)


def spread(scores: ArrayLike) -> float:
    """Return the standard deviation of the scores that are not NaN; 0 if there are none."""
    given = np.asarray(scores, float)
    given = given[~np.isnan(given)]
    return float(given.std()) if len(given) else 0.0


def robust_spread(distances: NDArray[np.floating[Any]]) -> tuple[float, _Floats]:
    """Return the sd of values from their distances from the mean, and its relative influences.

    Huber's proposal 2 (1964, "Robust estimation of a location parameter") with a known mean:
    distances beyond 1.5 sd count as 1.5, so that one outlier in fifty hardly moves it; of normal
    values it is the sd. The influences, shape (n,), are those of its logarithm, and have mean 0.
    NaN if nearly two thirds of the distances are 0.
    """
    sizes = np.abs(np.asarray(distances, np.float64))
    some = sizes[sizes > 0]
    if len(some) * _HUBER**2 <= len(sizes) * _HUBER_SQUARE:
        return math.nan, np.full(len(sizes), math.nan)

    def excess(scale: float) -> float:
        return float((np.minimum(sizes / scale, _HUBER) ** 2).mean()) - _HUBER_SQUARE

    least, most = some.min() / _HUBER, 2 * some.max()
    scale = float(scipy.optimize.brentq(excess, least, most, xtol=least * 1e-12, rtol=1e-14))
    counted = np.minimum(sizes / scale, _HUBER) ** 2
    slope = 2 * float(counted[sizes < _HUBER * scale].sum()) / len(sizes)
    return scale, (counted - counted.mean()) / slope


def normal(
    value: float, error: float, *, within: tuple[float, float] = ANYWHERE
) -> tuple[float, float]:
    """Return the ends of a normal 95 % interval (`error`: standard error), clipped to `within`."""
    return max(within[0], value - _Z95 * error), min(within[1], value + _Z95 * error)


def students(
    value: float,
    error: float,
    freedom: float,
    *,
    within: tuple[float, float] = ANYWHERE,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return the ends of Student's t interval (`error`: standard error), clipped to `within`.

    `freedom` is the degrees of freedom, `level` the confidence, 0 to 1.
    """
    # As scipy.stats.t.ppf, which takes fifty times as long to look at its arguments.
    reach = float(scipy.special.stdtrit(freedom, (1 + level) / 2)) * error
    return max(within[0], value - reach), min(within[1], value + reach)


def satterthwaite(variances: _Floats, freedom: ArrayLike) -> float:
    """Return Satterthwaite's degrees of freedom of the sum of `variances`; `freedom`: of each."""
    return float(variances.sum()) ** 2 / float((variances**2 / np.asarray(freedom)).sum())


def exact_share(hits: float, n: float, *, level: float = 0.95) -> tuple[float, float, float]:
    """Return low, value, high: the share `hits / n` with Clopper and Pearson's interval at `level`.

    `hits` and `n` may be fractions, where values that tie at a cut count in part: the ends are
    quantiles of beta distributions, which need no whole numbers.
    """
    tail, hits = (1 - level) / 2, min(hits, n)  # sums of fractions may exceed it by rounding
    low = float(scipy.stats.beta.ppf(tail, hits, n - hits + 1)) if hits > 0 else 0.0
    high = float(scipy.stats.beta.ppf(1 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return low, hits / n, high


def clustered_error(influence: _Floats, clusters: NDArray[Any] | None = None) -> float:
    """Return the cluster-robust standard error of a mean from the rows' influences, shape (n,).

    Rows of one cluster (numbers or names, shape (n,)) are not independent: their influences are
    summed before they are squared. Without clusters every row is its own. The factor G/(G - 1) for
    G clusters makes the variance of a mean unbiased.
    """
    off = _centred_cluster_sums(influence, clusters)
    many = len(off)
    return math.sqrt(float(off @ off) * many / (many - 1)) / len(influence)


def clustered_freedom(
    influence: _Floats, clusters: NDArray[np.integer[Any]] | None = None
) -> float:
    """Return the degrees of freedom of `clustered_error`, from the kurtosis of the clusters' sums.

    Where a few clusters make most of a variance, it is known badly. The square of its own relative
    error, with G clusters whose sums have the kurtosis k, is (k - 1)/G, and of a chi-square with f
    degrees of freedom 2/f: so f is 2 G/(k - 1) (as Satterthwaite 1946 has it).
    """
    off = _centred_cluster_sums(influence, clusters)
    square, fourth = float(off @ off), float((off**2) @ (off**2))
    spread = len(off) * fourth - square**2
    return 2 * len(off) * square**2 / spread if spread > 0 else math.inf


def even_clusters(clusters: NDArray[Any]) -> float:
    """Return Kish's effective number of clusters, (Σ size)² / Σ size²; `clusters`: each row's.

    So many equally large clusters the given ones are worth (Kish 1965). Where a few have most
    rows, this number minus 1 is the degrees of freedom of a variance over clusters.
    """
    sizes = np.unique(clusters, return_counts=True)[1]
    return float(sizes.sum()) ** 2 / float((sizes**2).sum())


def _centred_cluster_sums(influence: _Floats, clusters: NDArray[Any] | None) -> _Floats:
    """Return influences minus their mean, summed by cluster; not summed if `clusters` is None."""
    off: _Floats = influence - influence.mean()
    if clusters is None:
        return off
    sums: _Floats = np.bincount(np.unique(clusters, return_inverse=True)[1], off).astype(np.float64)
    return sums


def least_squares(
    design: _Floats, y: _Floats, clusters: NDArray[np.integer[Any]] | None = None
) -> tuple[_Floats, _Floats]:
    """Return least-squares coefficients of y (n,) on `design` (n, k), and their robust covariance.

    The covariance takes no variance to be equal. Without `clusters` it is HC3 (MacKinnon and White
    1985): each squared residual is divided by the square of 1 minus its leverage. With them (n,),
    rows of one cluster are not independent, and it is the same of whole clusters, CR3 (Bell and
    McCaffrey 2002): what each cluster's residuals would be, had it been left out of the fit.
    """
    solve = np.linalg.pinv(design)
    fitted = solve @ y
    residual = y - design @ fitted
    codes = np.arange(len(y)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    many = np.bincount(codes)[codes]
    alone = many == 1
    leverage = (design * solve.T).sum(axis=1)
    parts = [(solve[:, alone] * (residual[alone] / (1 - leverage[alone])))]
    order = np.argsort(codes, kind="stable")
    for size in np.unique(many[~alone]):  # clusters of one size at a time: there are thousands
        inside = order[many[order] == size].reshape(-1, size)
        pull = solve.T[inside]
        hat = design[inside] @ pull.swapaxes(1, 2)
        left = np.linalg.pinv(np.eye(size) - hat) @ residual[inside][..., None]
        parts.append((pull * left).sum(axis=1).T)
    moved = np.concatenate(parts, axis=1)
    return fitted, moved @ moved.T


def group_means(values: _Floats, groups: NDArray[np.integer[Any]]) -> _Floats:
    """Return the mean of `values` in each group, (groups,); `groups` numbers them from 0, (n,)."""
    means: _Floats = np.bincount(groups, values) / np.bincount(groups)
    return means


def ends_of_many(
    many: int, intervals: Callable[[float], Iterable[tuple[float, float]]], *, least: bool = False
) -> list[tuple[float, float]]:
    """Return the ends for each of `many` values of which the greatest is judged by a bound "below".

    `intervals` returns all ends at a level. The lower ends, which decide a fail, hold for all at
    once (Bonferroni), so that none fails because many were looked at. The upper ends need no
    correction, for all must lie inside the bound (intersection-union, Berger 1982). With `least`
    it is the least that is judged, by a bound "above", and the ends change places.
    """
    both = zip(intervals(1 - 0.05 / many), intervals(0.95), strict=True)
    if least:
        return [(alone[0], together[1]) for together, alone in both]
    return [(together[0], alone[1]) for together, alone in both]


def ends_of_greatest(
    intervals: Callable[[float], Sequence[tuple[float, float]]],
) -> tuple[list[tuple[float, float]], int]:
    """Return each value's ends, of which the greatest is judged, and how many may be the greatest.

    As `ends_of_many`, but the lower ends are corrected (Bonferroni) only for the values that may be
    the greatest: those whose 95 % interval reaches the highest lower end, the rule by which Gupta
    (1965) selects what may be the best. A value that is surely less than another cannot decide.
    """
    alone = intervals(0.95)
    highest = max(low for low, _ in alone)
    many = sum(high >= highest for _, high in alone)
    both = zip(intervals(1 - 0.05 / many), alone, strict=True)
    return [(together[0], own[1]) for together, own in both], many


def absolute_interval(low: float, high: float) -> tuple[float, float]:
    """Return the interval of |x|, given the ends `low` and `high` of the interval of a number x."""
    return max(low, -high, 0.0), max(high, -low)


def untied(values: NDArray[np.generic]) -> float:
    """Return the share of all pairs whose two values differ: 1 if there are no ties."""
    n, ties = len(values), np.unique(values, return_counts=True)[1]
    return 1 - float((ties * (ties - 1)).sum()) / (n * (n - 1))


def least_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the least estimate, with the least low end, the least high end and all caveats.

    It lies above a bound exactly where every one does (the intersection-union test, Berger 1982,
    which needs no correction), and below one where any does.
    """
    return replace(
        min(estimates, key=lambda each: each.value),
        low=min(each.low for each in estimates),
        high=min(each.high for each in estimates),
        caveats=tuple(dict.fromkeys(said for each in estimates for said in each.caveats)),
    )


def widened(  # noqa: PLR0913  (the estimate, how it was made, and the noise)
    estimate: Estimate,
    value_of: Callable[[_Floats], float],
    scores: _Floats,
    noise: float | _Floats,
    rng: np.random.Generator | None,
    *,
    within: tuple[float, float] = ANYWHERE,
) -> Estimate:
    """Return the estimate with its interval widened by the numeric noise of the scores.

    `value_of` computes the value from `scores`, shape (n,); `noise` is the sd of a score's noise,
    one for all or shape (n,). The value is computed from 20 draws of the scores plus normal noise,
    or from five where these differ by less than a thousandth of the interval; the sd of these
    values is a secondary number and, times 1.96, is added to either side of the interval in
    quadrature. No end leaves `within`, the range of the value. Noise 0 draws nothing
    and changes nothing. Noise that is NaN was not measured: it adds a caveat, and no width.

    Raises:
        ValueError: there is noise, and no generator to draw it with.
    """
    if np.isnan(noise).any():
        estimate = replace(estimate, caveats=(*estimate.caveats, UNMEASURED_NOISE))
    sds = np.where(np.isnan(noise), 0.0, noise)
    if not sds.any():
        return estimate
    if rng is None:
        message = f"noise of up to {np.max(sds):g} needs a generator: give rng"
        raise ValueError(message)
    noises = [rng.standard_normal(len(scores)) for _ in range(_DRAWS)]  # one stream in any case
    values = [value_of(scores + sds * each) for each in noises[:_FIRST_DRAWS]]
    nearest = min(estimate.value - estimate.low, estimate.high - estimate.value)
    moved = float(np.ptp(values))  # not at all where the value is one of steps
    if not _NO_CHANGE * nearest < moved < _SMALL_CHANGE * nearest:
        values += [value_of(scores + sds * each) for each in noises[_FIRST_DRAWS:]]
    sd = float(np.std(values, ddof=1))
    below = math.hypot(estimate.value - estimate.low, NOISE_REACH * sd)
    above = math.hypot(estimate.high - estimate.value, NOISE_REACH * sd)
    return replace(
        estimate,
        low=min(max(estimate.value - below, within[0]), estimate.low),
        high=max(min(estimate.value + above, within[1]), estimate.high),
        interval=f"{estimate.interval}, and numeric noise",
        secondary={**estimate.secondary, NOISE: sd},
    )
