"""The shape of a score distribution (Christian et al. 2025, §2.2, Table 3)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, jackknife_variance, students, widened
from rmaudit.measures.words import word_of
from rmaudit.verdicts.records import Estimate

UNIT = "skewness"
FEWEST = 30  # words
_LEAST = 1e-9  # variance, z having 1: rounding


def skewness(
    frame: pd.DataFrame, *, rng: np.random.Generator, noise: float = UNMEASURED
) -> Estimate:
    """Skewness of the scores: above 0, a few tokens stand far above the rest.

    `frame` has columns `text` and `score`; unscored rows (NaN) are left out. The moment
    coefficient (population form), as in Table 3. The interval is Student's, by the jackknife that
    leaves out a word with all of its spellings at a time, widened by numeric `noise` (the sd of
    that of a score, in the scores' units), drawn with `rng`. Unchanged by an affine change of the
    scores.

    Raises:
        MeasureError: fewer than `FEWEST` words, or scores all equal, or so but for one word's.
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
    low, high = students(value, _error(z, words), words.nunique() - 1)
    estimate = Estimate(
        value=value,
        low=low,
        high=high,
        unit=UNIT,
        n=len(scores),
        interval="Student's t, words with all their spellings left out in turn",
        secondary={
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


def _error(z: NDArray[np.float64], words: pd.Series[str]) -> float:
    """Standard error of the skewness of z: the jackknife that leaves out a word at a time."""
    codes, names = pd.factorize(words)
    powers = np.stack([np.bincount(codes, z**k, minlength=len(names)) for k in range(4)])
    n, first, second, third = powers.sum(axis=1, keepdims=True) - powers  # (1 each, words)
    mean = first / n
    variance = second / n - mean**2
    if (variance < _LEAST).any():
        message = "skewness hangs on a single word: without it all scores are equal"
        raise MeasureError(message)
    left = (third / n - 3 * mean * second / n + 2 * mean**3) / variance**1.5
    return math.sqrt(jackknife_variance(left))
