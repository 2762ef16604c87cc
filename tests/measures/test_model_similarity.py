"""How alike models are: against scipy and scikit-learn, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import ClassicalMDS

from rmaudit.errors import MeasureError
from rmaudit.measures.model_similarity import in_common, plane_coordinates, taus


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
