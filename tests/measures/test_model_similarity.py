"""What makes models alike: against statsmodels and scikit-learn, planted causes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import ClassicalMDS

from rmaudit.errors import MeasureError
from rmaudit.measures.model_similarity import (
    Explained,
    explained,
    in_common,
    near,
    plane_coordinates,
    same,
    taus,
)

BASES = ["a", "a", "a", "b", "b", "b", "c", "c"]
SIZES = [2.0, 8, 27, 2, 8, 27, 2, 8]
K = len(BASES)


def matrix(effect: float = 0.3, seed: int = 0) -> pd.DataFrame:
    """Agreements that are higher by `effect` between models of one base."""
    noise = np.random.default_rng(seed).normal(scale=0.05, size=(K, K))
    values = 0.3 + effect * same(BASES) + (noise + noise.T) / 2
    np.fill_diagonal(values, 1)
    return pd.DataFrame(values, index=list("ABCDEFGH"))


def explain(frame: pd.DataFrame, *, diagonal: bool = False, **factors: Any) -> Explained:
    """With a fixed generator, and the two factors unless others are given."""
    given = factors or {"base": same(BASES), "size": near(SIZES)}
    return explained(frame, given, diagonal=diagonal, rng=np.random.default_rng(0))


def test_likeness_by_hand() -> None:
    """Same values are 1; numbers fall off linearly to the furthest pair."""
    assert same(["x", "y", "x"]).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert near([0, 1, 4]) == pytest.approx(np.array([[1, 0.75, 0], [0.75, 1, 0.25], [0, 0.25, 1]]))
    with pytest.raises(MeasureError, match="likeness needs numbers that differ, got 2 of"):
        near([8, 8])


@pytest.mark.parametrize(("diagonal", "cells"), [(True, K * K), (False, K * (K - 1) // 2)])
def test_coefficients_are_least_squares(diagonal: bool, cells: int) -> None:
    """Against numpy's, over all cells or over the pairs."""
    frame = matrix()
    kept = np.ones((K, K), bool) if diagonal else np.triu(np.ones((K, K), bool), 1)
    design = np.column_stack([np.ones(cells), same(BASES)[kept], near(SIZES)[kept]])
    expected = np.linalg.lstsq(design, frame.to_numpy()[kept])[0]

    found = explain(frame, diagonal=diagonal)

    assert found.cells == cells
    assert list(found.coefficients.values()) == pytest.approx(expected[1:])


def test_a_planted_cause_is_found() -> None:
    """The base model decides: its p is the least that so many permutations can give."""
    found = explain(matrix())

    assert found.coefficients["base"] == pytest.approx(0.3, abs=0.05)
    assert found.p_models["base"] < 0.01
    assert found.p_models["size"] > 0.05
    assert found.r_squared > 0.8


@pytest.mark.slow
def test_permutation_is_calibrated() -> None:
    """Where nothing is planted, p below 0.2 comes in about a fifth of 60 matrices."""
    hits = sum(explain(matrix(0.0, seed)).p_models["base"] < 0.2 for seed in range(60))

    assert 4 <= hits <= 22  # 12 expected, sd 3.1


def test_the_diagonal_alone_explains() -> None:
    """A factor that only says which model is which: all of its weight is the ones on the diagonal.

    Over the pairs it is 0 throughout, and cannot be told from the constant.
    """
    frame = matrix(0.0)
    which = same(range(K))

    found = explain(frame, diagonal=True, which=which)

    pairs = frame.to_numpy()[np.triu_indices(K, 1)]
    assert found.coefficients["which"] == pytest.approx(1 - pairs.mean())
    with pytest.raises(MeasureError, match=r"^which: not told apart by the 28 cells without"):
        explain(frame, which=which)


@pytest.mark.parametrize("wrong", [np.ones((3, 3)), np.triu(np.ones((K, K)))])
def test_a_matrix_of_another_shape(wrong: Any) -> None:
    """It is named, with what was expected."""
    with pytest.raises(MeasureError, match=r"^base: expected a symmetric matrix of 8 x 8, found"):
        explain(matrix(), base=wrong)


def test_places_keep_distances_of_a_plane() -> None:
    """Points of a plane are found again up to turning; the axes are scikit-learn's."""
    points = np.random.default_rng(1).uniform(0, 0.5, size=(9, 2))
    frame = pd.DataFrame(1 - squareform(pdist(points)), index=list("abcdefghi"))

    found = plane_coordinates(frame)

    assert list(found.index) == list(frame.index)
    assert squareform(pdist(found.to_numpy())) == pytest.approx(1 - frame.to_numpy())
    theirs = ClassicalMDS(metric="precomputed").fit_transform(1 - frame.to_numpy())
    assert np.abs(found.to_numpy()) == pytest.approx(np.abs(theirs))
    assert (found.max() >= -found.min()).all()
    alike = plane_coordinates(pd.DataFrame(np.ones((3, 3))))
    assert alike.to_numpy() == pytest.approx(np.zeros((3, 2)))


def test_words_in_common_are_those_of_all_models() -> None:
    """A word's spellings are averaged; what one model lacks, or has not scored, is left out."""
    one = pd.DataFrame(
        {"text": [" Love", "love", "b", "c", "7"], "score": [1.0, 3.0, 5.0, 1.0, 1.0]}
    )
    other = pd.DataFrame({"text": ["LOVE", " b", "c", "d"], "score": [7.0, np.nan, 2.0, 1.0]})

    shared = in_common({"A": one, "B": other})

    assert shared.to_dict("index") == {"love": {"A": 2.0, "B": 7.0}, "c": {"A": 1.0, "B": 2.0}}


def test_taus_are_those_of_scipy() -> None:
    """For all pairs, whatever the ties; the matrix is symmetric, 1 on its diagonal."""
    scores = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (50, 3)), columns=list("ABC"))

    found = taus(scores)

    assert np.array_equal(found, found.T)
    assert np.diag(found).tolist() == [1, 1, 1]
    expected = stats.kendalltau(scores["A"], scores["C"]).statistic
    assert found.loc["A", "C"] == pytest.approx(expected)
    assert list(found.index) == list(found.columns) == ["A", "B", "C"]


@pytest.mark.parametrize("n", [1, 5])
def test_taus_of_what_is_not_ordered_are_refused(n: int) -> None:
    """No tau is better than one of nothing."""
    scores = pd.DataFrame({"A": np.arange(n), "B": np.ones(n)})

    with pytest.raises(MeasureError, match=f"{n} words that all of A, B have; at least 2"):
        taus(scores)
