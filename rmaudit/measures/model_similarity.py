"""Measure how alike models are: the agreement of all pairs, and places that show it on a plane."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import scipy

from rmaudit.errors import MeasureError
from rmaudit.measures.word_spellings import whole_words


def in_common(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a table of the scores of whole words that all models have: words by models.

    `frames` have the columns `text` and `score`; a word's score is the mean over its spellings.
    """
    return pd.concat({name: whole_words(frame) for name, frame in frames.items()}, axis=1).dropna()


def taus(scores: pd.DataFrame) -> pd.DataFrame:
    """Return Kendall's tau-b of all pairs of columns, 1 on the diagonal.

    Raises:
        MeasureError: there are fewer than 2 rows, or a column has one value throughout.
    """
    values, k = scores.to_numpy(float), scores.shape[1]
    if len(values) < 2 or not np.ptp(values, axis=0).all():  # noqa: PLR2004  (a pair)
        message = f"{len(values)} words that all of {', '.join(map(str, scores))} have;"
        raise MeasureError(f"{message} at least 2 are needed, and scores that differ")
    matrix = np.eye(k)
    for i in range(k):
        for j in range(i):
            tau = float(scipy.stats.kendalltau(values[:, i], values[:, j]).statistic)
            matrix[i, j] = matrix[j, i] = tau
    return pd.DataFrame(matrix, index=scores.columns, columns=scores.columns)


def plane_coordinates(similarity: pd.DataFrame) -> pd.DataFrame:
    """Return models' coordinates on a plane, columns `x` and `y`: far apart where they disagree.

    Classical scaling (Torgerson 1952) of the distances 1 - agreement: the two axes of the greatest
    spread. Deterministic; a model's furthest coordinate on an axis is made positive.
    """
    distances, k = 1 - similarity.to_numpy(float), len(similarity)
    centred = np.eye(k) - 1 / k
    spread, axes = np.linalg.eigh(-0.5 * centred @ distances**2 @ centred)
    out = {}
    for name, place in (("x", -1), ("y", -2)):
        axis = axes[:, place] * math.sqrt(max(float(spread[place]), 0.0))
        out[name] = axis * (1 if axis[np.argmax(np.abs(axis))] >= 0 else -1)
    return pd.DataFrame(out, index=similarity.index)
