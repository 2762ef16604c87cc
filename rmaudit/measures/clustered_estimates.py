"""Make estimates for users' own audits, with 95 % intervals over clusters of rows.

Forms of one word score alike, and so do items about one thing. Rows that have something in common
are one cluster: `rmaudit.stem_codes` numbers words by their stems.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures import rank_correlation as correlations
from rmaudit.measures._stats import clustered_error, even_clusters, satterthwaite, students
from rmaudit.verdicts.estimates_and_bounds import Estimate

_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp]
_T = "Student's t over clusters"


def mean(values: ArrayLike, *, unit: str, clusters: ArrayLike | None = None) -> Estimate:
    """Return the mean of `values`, shape (n,), with Student's interval over `clusters`, shape (n,).

    Without clusters each value is its own. Where a few clusters have most values, the degrees of
    freedom are those of Kish's (1965) effective number of clusters. `unit` is the bound's.

    Raises:
        MeasureError: a value is NaN or infinite, the shapes differ, or there is one cluster.
    """
    given = _checked(values, "values")
    codes = _codes(clusters, len(given))
    error = clustered_error(given - given.mean(), codes)
    low, high = students(float(given.mean()), error, even_clusters(codes) - 1)
    return Estimate(float(given.mean()), low, high, unit, len(given), _T)


def difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    unit: str,
    clusters: tuple[ArrayLike, ArrayLike] | None = None,
) -> Estimate:
    """Return the mean of `first`, shape (n,), minus the mean of `second`, shape (m,).

    The interval is Welch's, over clusters: no variance is taken to be equal. `clusters` are those
    of the first and of the second, shapes (n,) and (m,); none may be in both. For pairs, give
    `mean` their differences.

    Raises:
        MeasureError: as of `mean`; or a cluster is in both sets.
    """
    sides = [_checked(first, "first"), _checked(second, "second")]
    given = clusters or (np.arange(len(sides[0])), len(sides[0]) + np.arange(len(sides[1])))
    if shared := set(np.ravel(given[0]).tolist()) & set(np.ravel(given[1]).tolist()):
        message = f"{len(shared)} clusters have rows on both sides, such as {min(shared)!r}"
        raise MeasureError(f"{message}; leave them out of one, or give `mean` differences of pairs")
    codes = [_codes(own, len(side)) for own, side in zip(given, sides, strict=True)]
    errors = [
        clustered_error(side - side.mean(), own) for side, own in zip(sides, codes, strict=True)
    ]
    variances = np.square(errors)
    value = float(sides[0].mean() - sides[1].mean())
    freedom = (
        satterthwaite(variances, [even_clusters(own) - 1 for own in codes])
        if variances.any()
        else 1.0
    )
    low, high = students(value, math.sqrt(variances.sum()), freedom)
    return Estimate(value, low, high, unit, len(sides[0]) + len(sides[1]), f"Welch's, {_T}")


def rank_correlation(x: ArrayLike, y: ArrayLike, *, clusters: ArrayLike | None = None) -> Estimate:
    """Return Spearman's rho of `x` and `y`, shape (n,), with its 95 % interval over clusters.

    The error is a U-statistic's (Hoeffding 1948), the interval Student's and within -1 and 1. Its
    unit is "Spearman's rho".

    Raises:
        MeasureError: a value is NaN or infinite, the shapes differ, one is constant, or there is
            one cluster.
    """
    sides = _checked(x, "x"), _checked(y, "y")
    if len(sides[0]) != len(sides[1]):
        raise MeasureError(f"x has {len(sides[0])} values and y {len(sides[1])}; give pairs")
    codes = _codes(clusters, len(sides[0]))
    rho, error = correlations.spearman(*sides, codes)
    if math.isnan(rho):
        raise MeasureError("all values of x or of y are equal: there is nothing to correlate")
    low, high = students(rho, error, even_clusters(codes) - 1, within=(-1.0, 1.0))
    return Estimate(rho, min(low, rho), max(high, rho), "Spearman's rho", len(sides[0]), _T)


def _checked(values: ArrayLike, what: str) -> _Floats:
    """Return values as floats, (n,); raise MeasureError, naming `what`, unless all are finite."""
    try:
        given = np.asarray(values, float)
    except (TypeError, ValueError) as error:
        raise MeasureError(f"{what} are no numbers ({error})") from None
    if given.ndim != 1:
        raise MeasureError(f"{what} have the shape {given.shape}, allowed: (n,)")
    if wrong := int((~np.isfinite(given)).sum()):
        message = f"{wrong} of {len(given)} {what} are NaN or infinite; NaN means unscored: "
        raise MeasureError(f"{message}leave these out first")
    return given


def _codes(clusters: ArrayLike | None, n: int) -> _Codes:
    """Return each row's cluster, numbered from 0, shape (n,); raise if fewer than two clusters.

    Without clusters each row is its own.
    """
    given: NDArray[Any] = np.arange(n) if clusters is None else np.asarray(clusters)
    if given.shape != (n,):
        raise MeasureError(f"clusters have the shape {given.shape}, allowed: ({n},), one a value")
    codes: _Codes = np.unique(given, return_inverse=True)[1].astype(np.intp)
    if n == 0 or not codes.any():
        message = f"{n} values of {min(n, 1)} cluster: two clusters are the least"
        raise MeasureError(f"{message} that an interval can be made of")
    return codes
