"""Skewness: hand-derived, against scipy, its invariances, and what cannot be measured."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.positive_skew import skewness
from rmaudit.verdicts.records import Estimate

SCORES = st.lists(st.integers(-1000, 1000), min_size=30, max_size=50, unique=True)
quick = settings(max_examples=50, deadline=None)


def frame(scores: ArrayLike) -> pd.DataFrame:
    """Scores of as many different words."""
    values = np.asarray(scores, dtype=float)
    return pd.DataFrame({"text": [f"w{i}" for i in range(len(values))], "score": values})


def measure(rows: pd.DataFrame, *, seed: int = 0) -> Estimate:
    """The skewness of a frame, its interval drawn with `seed`."""
    return skewness(rows, rng=np.random.default_rng(seed))


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """The three numbers of an estimate."""
    return estimate.low, estimate.value, estimate.high


# Known numbers


def test_skewness_by_hand() -> None:
    """One score in four is 1, the others 0: skewness 2/√3, and the moments beside it."""
    # mean      1/4
    # variance  (3 (1/4)² + (3/4)²) / 4 = 3/16
    # third     (-3 (1/4)³ + (3/4)³) / 4 = 3/32;    (3/32) / (3/16)^1.5 = 2/√3
    # fourth    (3 (1/4)⁴ + (3/4)⁴) / 4 = 21/256;   (21/256) / (3/16)² - 3 = 7/3 - 3 = -2/3
    # ties      2 distinct of 100: 1 - 2/100
    estimate = measure(frame([0, 0, 0, 1] * 25))

    assert estimate.value == pytest.approx(2 / math.sqrt(3), rel=1e-12)
    assert estimate.secondary == pytest.approx(
        {"mean": 1 / 4, "variance": 3 / 16, "excess kurtosis": -2 / 3, "tie share": 0.98}
    )


def test_skewness_is_that_of_scipy() -> None:
    """The population form, far from 0 and in large units too."""
    scores = 1e4 + 50 * np.random.default_rng(1).gamma(2, size=1000)

    assert measure(frame(scores)).value == pytest.approx(stats.skew(scores), rel=1e-9)


def test_the_interval_is_that_of_the_jackknife_written_out() -> None:
    """Each word is left out with all of its spellings; scipy measures what is left."""
    scores = np.random.default_rng(9).gamma(2, size=120)
    rows = frame(scores).assign(text=[f"{' ' * (i // 40)}w{i % 40:02}" for i in range(120)])

    estimate = measure(rows)

    place = np.arange(120) % 40
    left = np.array([stats.skew(scores[place != word]) for word in range(40)])
    error = math.sqrt(39 / 40 * ((left - left.mean()) ** 2).sum())
    half = stats.t.ppf(0.975, 39) * error
    expected = (stats.skew(scores) - half, stats.skew(scores) + half)
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-9)


# Properties


@quick
@given(scores=SCORES, copies=st.integers(2, 4))
def test_more_spellings_are_no_more_evidence(scores: list[int], copies: int) -> None:
    """Each word in as many further spellings of its score: the interval is no narrower."""
    once = frame(scores)
    spelt = [once.assign(text=" " * i + once["text"].str.upper()) for i in range(copies)]

    estimate = measure(pd.concat(spelt))

    assert ends(estimate) == pytest.approx(ends(measure(once)), rel=1e-6, abs=1e-6)
    assert estimate.n == copies * len(scores)


# Planted tails


def covered(seed: int, *, shape: str) -> bool:
    """Whether the interval of 200 draws covers 0."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=200) if shape == "normal" else rng.exponential(size=200)
    estimate = skewness(frame(scores), rng=rng)
    return estimate.low <= 0 <= estimate.high


def test_a_symmetric_distribution_is_not_called_skewed() -> None:
    """Of 100 normal samples about 95 have 0 in their interval."""
    # P(X < 85) < 1e-4 for X ~ B(100, 0.95); the seeds are fixed
    assert sum(covered(seed, shape="normal") for seed in range(100)) >= 85


# What cannot be measured


@pytest.mark.parametrize("scores", [[], [1.0], [1.0, 2.0]])
def test_a_few_scores_are_refused(scores: list[float]) -> None:
    """There is no third moment of two numbers to speak of; the error says how many there were."""
    with pytest.raises(MeasureError) as caught:
        measure(frame(scores).astype({"text": "str"}))

    n = len(scores)
    expected = f"skewness needs 30 words and scores that differ, got {n} words and {n} distinct "
    assert str(caught.value) == expected + "scores"


def test_spellings_do_not_make_up_the_number() -> None:
    """Twenty-nine words in two spellings each are twenty-nine words."""
    rows = pd.concat(
        [frame(range(29)), frame(range(29)).assign(text=lambda each: " " + each["text"])]
    )

    with pytest.raises(MeasureError, match=r"needs 30 words .*, got 29 words"):
        measure(rows)


def test_equal_scores_of_float32_are_refused() -> None:
    """So it is for the dtype of a sweep, where 0.1 is no round number."""
    rows = frame([0.1] * 1001).astype({"score": "float32"})

    with pytest.raises(MeasureError, match="got 1001 words and 1 distinct scores"):
        measure(rows)


@pytest.mark.parametrize(
    ("scores", "texts"),
    [
        ([0.0, 1.0, 5.0], ["a", " a", "A"]),
        ([0.0, 1.0, 5.0], ["a", "b", "c"]),
        ([0.1] * 40, [f"w{i}" for i in range(40)]),
        ([0.0] * 39 + [1.0], [f"w{i}" for i in range(40)]),
    ],
    ids=["one word", "three words", "equal", "one outlier"],
)
def test_too_few_words_that_differ_are_refused(scores: list[float], texts: list[str]) -> None:
    """What hangs on a word or two is no certainty."""
    with pytest.raises(MeasureError):
        skewness(pd.DataFrame({"text": texts, "score": scores}), rng=np.random.default_rng(0))
