"""Tokens in two rankings: who is paired with whom, and how alike they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import ClassicalMDS

from rmaudit.errors import MeasureError
from rmaudit.measures.ranking_comparison import (
    correlation,
    in_common,
    paired,
    plane_coordinates,
    rbo,
    shared,
    taus,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate

RNG = np.random.default_rng


def frame(*rows: tuple[int, str, float]) -> pd.DataFrame:
    """A sweep of (id, text, score)."""
    return pd.DataFrame(rows, columns=["token_id", "text", "score"])


def test_tokens_are_paired_by_ids_or_by_texts_that_are_one_tokens_alone() -> None:
    """Of one vocabulary by ids, also where texts are alike; what is not scored is left out.

    Of two neither doubles on either side, scored or not, nor parts of characters, nor other cases.
    """
    old = frame((3, "a", 1), (4, "a", 2), (5, "b", math.nan), (6, "\ufffd", 4))
    new = frame((6, "\ufffd", 40), (4, "a", 20), (3, "a", 10), (5, "b", 30))
    one = frame((1, "a", 1), (2, "b", 2), (3, "b", 3), (4, "c", 4), (5, "\ufffd", 5), (6, "D", 6))
    other = frame((9, "c", 4), (8, "c", math.nan), (7, "a", 10), (6, "b", 2), (5, "\ufffd", 5))

    assert paired(old, new, by_id=True).to_dict("list") == {
        "text": ["\ufffd", "a", "a"],
        "model": [40, 20, 10],
        "baseline": [4, 2, 1],
    }
    alone = paired(one, other, by_id=False).to_dict("list")
    assert alone == {"text": ["a"], "model": [10], "baseline": [1]}


def sweep(words: int = 200, seed: int = 0, noise: float = 0.0) -> pd.DataFrame:
    """Each word in three spellings, whose scores are about the word's own; plus `noise`."""
    texts = [text for i in range(words) for text in (f"w{i}", f" w{i}", f"W{i}")]
    texts = [text.translate(str.maketrans("0123456789", "abcdefghij")) for text in texts]
    own = np.repeat(RNG(7).normal(size=words), 3) + 0.3 * RNG(8).normal(size=3 * words)
    return pd.DataFrame({"text": texts, "score": own + noise * RNG(seed).normal(size=3 * words)})


def compare(model: pd.DataFrame, baseline: pd.DataFrame, **given: Any) -> Estimate:
    """Tau of what they share, with a fixed generator."""
    return correlation(shared(model, baseline), rng=RNG(0), **given)


def test_shared_tokens_by_hand() -> None:
    """By text: duplicates are averaged; parts of characters and unscored tokens are left out."""
    model = pd.DataFrame(
        {"text": ["a", "b", "b", "\ufffd", "c", "d"], "score": [1, 2, 4, 9, math.nan, 5]}
    )
    baseline = pd.DataFrame({"text": ["d", "\ufffd", "b", "c", "x"], "score": [7, 8, 9, 6, 5]})

    both = shared(model, baseline).sort_values("text")

    assert both.to_dict("list") == {"text": ["b", "d"], "model": [3.0, 5.0], "baseline": [9.0, 7.0]}


def test_rbo_by_hand() -> None:
    """Lists ab and ba: overlaps 0 and 1, so (1 - p)/p · p² · 1 + p² · 1 = p."""
    assert rbo(["a", "b"], ["b", "a"], p=0.9) == pytest.approx(0.9)
    assert rbo(["a", "b", "c"], ["a", "x", "c"], p=0.5) == pytest.approx(
        0.5 * 1 + 0.25 * 0.5 + 0.125 * 2 / 3 + 0.125 * 2 / 3
    )
    for one, other in (("", ""), ("ab", "a"), ("aa", "ab"), ("ab", "bb")):
        with pytest.raises(MeasureError, match="RBO needs two rankings of one length without dupl"):
            rbo(list(one), list(other))


def test_the_numbers_are_scipys() -> None:
    """Tau-b and Spearman's rho of the shared tokens; of texts that repeat, too."""
    model, baseline = sweep(), sweep(noise=1).iloc[100:].sample(frac=1, random_state=0)
    both = model.merge(baseline, on="text")

    estimate = compare(model, baseline)

    assert estimate.n == len(both) == 500
    assert estimate.value == pytest.approx(stats.kendalltau(both["score_x"], both["score_y"])[0])
    rho = stats.spearmanr(both["score_x"], both["score_y"])[0]
    assert estimate.secondary["Spearman's rho"] == pytest.approx(rho)
    doubled = both.rename(columns={"score_x": "model", "score_y": "baseline"})
    doubled["text"] = [f"w{i % 40}" for i in range(len(doubled))]  # as tokens paired by ids may be
    again = correlation(doubled, rng=RNG(0))
    assert again.value == pytest.approx(estimate.value)
    assert again.n == 500


def test_of_many_words_some_are_drawn() -> None:
    """The interval of 7,000 words from 5,000 is about that of 5,000 scaled."""
    own, other = RNG(0).normal(size=(2, 7000))
    texts = [f"t{i}" for i in range(7000)]
    frames = [pd.DataFrame({"text": texts, "score": each}) for each in (own, own + other)]

    whole, part = compare(*frames), compare(*(frame[:5000] for frame in frames))

    ratio = (whole.high - whole.low) / (part.high - part.low)
    assert ratio == pytest.approx(math.sqrt(5000 / 7000), rel=0.05)


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


def test_taus_are_those_of_scipy() -> None:
    """For all pairs, whatever the ties; the matrix is symmetric, 1 on its diagonal.

    No tau is better than one of nothing. Words in common have the mean of their spellings.
    """
    scores = pd.DataFrame(RNG(0).integers(0, 9, (50, 3)), columns=list("ABC"))
    one = pd.DataFrame({"text": [" Love", "love", "b", "c", "7"], "score": [1.0, 3, 5, 1, 1]})
    other = pd.DataFrame({"text": ["LOVE", " b", "c", "d"], "score": [7.0, np.nan, 2, 1]})

    found = taus(scores)

    assert np.array_equal(found, found.T)
    assert np.diag(found).tolist() == [1, 1, 1]
    expected = stats.kendalltau(scores["A"], scores["C"]).statistic
    assert found.loc["A", "C"] == pytest.approx(expected)
    assert list(found.index) == list(found.columns) == ["A", "B", "C"]
    for n in (1, 5):
        with pytest.raises(MeasureError, match=f"{n} words that all of A, B have; at least 2"):
            taus(pd.DataFrame({"A": np.arange(n), "B": np.ones(n)}))
    table = in_common({"A": one, "B": other}).to_dict("index")
    assert table == {"love": {"A": 2.0, "B": 7.0}, "c": {"A": 1.0, "B": 2.0}}
