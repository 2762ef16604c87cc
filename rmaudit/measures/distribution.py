"""The shape of a score distribution (Christian et al. 2025, §2.2, Table 3)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.noise import widened
from rmaudit.measures.words import word_of
from rmaudit.records import Estimate

UNIT = "skewness"
FEWEST = 3  # words: a third moment
_REPEATS = 500
_CHUNK = 50  # resamples held in memory at once


def skewness(frame: pd.DataFrame, *, rng: np.random.Generator, noise: float = 0.0) -> Estimate:
    """Skewness of the scores: above 0, a few tokens stand far above the rest.

    `frame` has columns `text` and `score`; unscored rows (NaN) are left out. The moment
    coefficient (population form), as in Table 3. The interval is the 2.5 % to 97.5 % range over
    resampled words, each with all of its spellings, widened by numeric `noise` (the sd of that of
    a score, in the scores' units). Unchanged by an affine change of the scores.

    Raises:
        MeasureError: fewer than `FEWEST` words, or scores (almost) all equal.
    """
    kept = frame[frame["score"].notna()]
    scores = kept["score"].to_numpy(dtype=float)
    words = word_of(kept["text"])
    if words.nunique() < FEWEST or not np.ptp(scores):
        message = (
            f"skewness needs {FEWEST} words and scores that differ, got {words.nunique()} words "
            f"and {len(np.unique(scores))} distinct scores"
        )
        raise MeasureError(message)
    z = _z(scores)
    value = float(stats.skew(z))
    resampled = _resampled(z, words, rng)
    if not np.isfinite(resampled).all():
        message = "skewness hangs on a few words: without them all scores are equal"
        raise MeasureError(message)
    low, high = np.quantile(resampled, [0.025, 0.975])
    estimate = Estimate(
        value=value,
        low=min(float(low), value),
        high=max(float(high), value),
        unit=UNIT,
        n=len(scores),
        interval=f"{_REPEATS} resamples of words with all their spellings",
        beside={
            "mean": float(scores.mean()),
            "variance": float(scores.var()),
            "excess kurtosis": float(stats.kurtosis(z)),
            "tie share": 1 - len(np.unique(scores)) / len(scores),
        },
    )
    return widened(estimate, lambda drawn: float(stats.skew(_z(drawn))), scores, noise, rng)


def _z(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """In sd from the mean, so that rounding does not depend on the units."""
    standard: NDArray[np.float64] = (scores - scores.mean()) / scores.std()
    return standard


def _resampled(
    z: NDArray[np.float64], words: pd.Series[str], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Skewness of each resample, from per-word sums of the powers of z."""
    codes, names = pd.factorize(words, sort=True)
    powers = [np.bincount(codes, z**k, minlength=len(names)) for k in range(4)]
    sums = np.stack(powers, axis=1)  # (words, 4)
    out = []
    for start in range(0, _REPEATS, _CHUNK):
        size = min(_CHUNK, _REPEATS - start)
        drawn = rng.integers(len(names), size=(size, len(names)))
        drawn += np.arange(size)[:, None] * len(names)  # a row of counts for each resample
        weights = np.bincount(drawn.ravel(), minlength=size * len(names)).reshape(size, -1)
        n, first, second, third = (weights @ sums).T
        mean = first / n
        variance = second / n - mean**2
        variance[variance < 1e-12] = np.nan  # noqa: PLR2004  (rounding; z has variance 1)
        third_central = third / n - 3 * mean * second / n + 2 * mean**3
        out.append(third_central / variance**1.5)
    return np.concatenate(out)
