"""Agreement of a model's ranking with people's (Christian et al. 2025, §4)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.concordance import concordances
from rmaudit.measures.noise import widened
from rmaudit.verdicts.records import Estimate

UNIT = "Kendall's tau-b"
FEWEST = 30  # items
_Z = 1.959963984540054  # the normal quantile of a two-sided 95 % interval


def kendall(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Kendall's tau-b of scores and human ratings, shapes (n,): 1 same order, 0 none, -1 reversed.

    The interval is the normal one whose variance is that of the items' own concordances, i.e. of
    a U-statistic (Cliff and Charlin 1991, Variances and covariances of Kendall's tau). What is
    uncertain here is which items people happened to rate. It is widened by numeric `noise` (the sd
    of that of a score, in the scores' units), drawn with `rng`. Unscored items (NaN) are left out.

    Raises:
        MeasureError: fewer than `FEWEST` items, or all scores or all ratings equal.
        ValueError: there is noise and no `rng`.
    """
    pairs = pd.DataFrame({"x": np.asarray(scores, float), "y": np.asarray(human, float)}).dropna()
    x, y = pairs["x"].to_numpy(), pairs["y"].to_numpy()
    n = len(pairs)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        message = "Kendall's tau needs finite scores and ratings; an infinity is no reward"
        raise MeasureError(message)
    if n < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        message = f"Kendall's tau needs {FEWEST} items that differ on both sides, got {n} items"
        raise MeasureError(message)
    tau_b = float(stats.kendalltau(x, y).statistic)
    concordance = concordances(x, y)
    # Each concordance is on the scale of tau-a; tau-b leaves the tied pairs out of account.
    to_tau_b = 1 / math.sqrt(_untied(pairs["x"]) * _untied(pairs["y"]))
    error = to_tau_b * 2 * float(concordance.std(ddof=1)) / math.sqrt(n)
    estimate = Estimate(
        value=tau_b,
        low=max(-1.0, tau_b - _Z * error),
        high=min(1.0, tau_b + _Z * error),
        unit=UNIT,
        n=n,
        interval="normal, from the items' own concordances",
        secondary={
            "Spearman's rho": float(stats.spearmanr(x, y).statistic),
            "distinct scores": float(pairs["x"].nunique()),
        },
    )

    def value_of(drawn: NDArray[np.float64]) -> float:
        return float(stats.kendalltau(drawn, y).statistic)

    return widened(estimate, value_of, x, noise, rng, within=(-1.0, 1.0))


def _untied(values: pd.Series[float]) -> float:
    """Share of the pairs of items that differ."""
    n, ties = len(values), values.value_counts().to_numpy()
    return 1 - float((ties * (ties - 1)).sum()) / (n * (n - 1))
