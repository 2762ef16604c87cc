"""Measure what makes models alike: regress their pairwise agreements on properties they share.

The representational similarity analysis of Christian et al. 2025, §2.4 and Figure 2C: the
agreements of all pairs of models are regressed on matrices that say which models share a base
model or a developer, and which are of a like size or rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.word_spellings import whole_words

_PERMUTATIONS = 2_000


@dataclass(frozen=True, slots=True)
class Explained:
    """Least-squares fit of models' pairwise agreements on factors, with numbers by factor name.

    `p_cells` is the t test's, as published: it takes the cells for independent, which they are
    not, since a model is in all cells of its row. `p_models` is by permutation of the models.
    """

    coefficients: Mapping[str, float]
    p_cells: Mapping[str, float]
    p_models: Mapping[str, float]
    r_squared: float
    cells: int


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


def explained(
    similarity: pd.DataFrame,
    factors: Mapping[str, NDArray[np.float64]],
    *,
    diagonal: bool,
    rng: np.random.Generator,
) -> Explained:
    """Fit agreements (k, k), with or without their diagonal, on likeness matrices (`factors`).

    With `diagonal`, over all k² cells as published: each pair counts twice, and each model once
    with itself, where every agreement and every likeness is 1 by definition. Without, over the
    k(k - 1)/2 pairs. `p_models` is the share of 2,000 permutations of the models, drawn by `rng`,
    whose coefficient is at least as far from 0 (Mantel 1967; for several factors Krackhardt 1988,
    who permutes the agreements).

    Raises:
        MeasureError: a matrix has another shape or is not symmetric; or the factors do not differ
            over the cells, or only together.
    """
    values, k = similarity.to_numpy(float), len(similarity)
    for name, matrix in {"the agreements": values, **factors}.items():
        if matrix.shape != (k, k) or not np.array_equal(matrix, matrix.T):
            message = f"{name}: expected a symmetric matrix of {k} x {k}, found {matrix.shape}"
            raise MeasureError(message)
    cells = np.ones((k, k), bool) if diagonal else np.triu(np.ones((k, k), bool), 1)
    design = np.column_stack([np.ones(cells.sum()), *(m[cells] for m in factors.values())])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        where = f"{len(design)} cells {'with' if diagonal else 'without'} the diagonal"
        message = f"{', '.join(factors)}: not told apart by the {where}; leave out a factor"
        raise MeasureError(message)
    import statsmodels.api as sm  # which takes a second, and only several models need

    fit = sm.OLS(values[cells], design).fit()
    solve = np.linalg.pinv(design)[1:]
    reached = np.ones(len(factors))  # the order that was observed is one of them
    for _ in range(_PERMUTATIONS):
        order = rng.permutation(k)
        drawn = solve @ values[np.ix_(order, order)][cells]
        reached += np.abs(drawn) >= np.abs(fit.params[1:]) - 1e-12
    p_models = reached / (_PERMUTATIONS + 1)

    def named(numbers: NDArray[np.float64]) -> dict[str, float]:
        return dict(zip(factors, numbers.tolist(), strict=True))

    return Explained(
        coefficients=named(fit.params[1:]),
        p_cells=named(fit.pvalues[1:]),
        p_models=named(p_models),
        r_squared=float(fit.rsquared),
        cells=len(design),
    )


def same(values: Sequence[object]) -> NDArray[np.float64]:
    """Return a likeness matrix, shape (k, k): 1 where two models have the same value, else 0."""
    return np.array([[float(a == b) for b in values] for a in values])


def near(values: Sequence[float]) -> NDArray[np.float64]:
    """Return a likeness matrix, shape (k, k): 1 for equal numbers, 0 for those furthest apart.

    Raises:
        MeasureError: all have the same.
    """
    numbers = np.array(values, dtype=float)
    apart = np.abs(numbers[:, None] - numbers)
    if not apart.max() > 0:
        message = f"likeness needs numbers that differ, got {len(numbers)} of {numbers[:1]}"
        raise MeasureError(message)
    matrix: NDArray[np.float64] = 1 - apart / apart.max()
    return matrix


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
