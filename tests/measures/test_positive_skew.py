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
from rmaudit.measures.positive_skew import UNIT, skewness
from rmaudit.verdicts.records import Estimate, Verdict, above

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


def test_the_estimate_says_what_it_is() -> None:
    """The unit is the bound's, n counts tokens, and the interval names what it leaves out."""
    estimate = measure(frame(range(50)))

    assert (estimate.unit, estimate.n) == (UNIT, 50)
    assert estimate.interval == "Student's t, words with all their spellings left out in turn"


def test_skewness_is_that_of_scipy() -> None:
    """The population form, far from 0 and in large units too."""
    scores = 1e4 + 50 * np.random.default_rng(1).gamma(2, size=1000)

    assert measure(frame(scores)).value == pytest.approx(stats.skew(scores), rel=1e-9)


def test_the_interval_is_that_of_a_percentile_bootstrap() -> None:
    """With one spelling a word, scipy's own bootstrap of tokens gives the same interval."""
    scores = np.random.default_rng(2).gamma(4, size=400)
    reference = stats.bootstrap(
        (scores,),
        stats.skew,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(3),
    ).confidence_interval

    estimate = measure(frame(scores))

    width = reference.high - reference.low
    assert estimate.low == pytest.approx(reference.low, abs=width / 8)
    assert estimate.high == pytest.approx(reference.high, abs=width / 8)


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
@given(scores=SCORES, scale=st.integers(1, 1000), shift=st.integers(-1000, 1000))
def test_the_units_of_the_score_do_not_matter(scores: list[int], scale: int, shift: int) -> None:
    """An affine change with a positive slope moves neither the value nor the interval."""
    changed = [scale * score + shift for score in scores]

    assert ends(measure(frame(changed))) == pytest.approx(
        ends(measure(frame(scores))), rel=1e-6, abs=1e-6
    )


@quick
@given(scores=SCORES)
def test_turning_the_scores_round_turns_the_skewness_round(scores: list[int]) -> None:
    """skew(-x) = -skew(x), and its interval is the mirror image."""
    low, value, high = ends(measure(frame(scores)))

    turned = ends(measure(frame([-score for score in scores])))

    assert turned == pytest.approx((-high, -value, -low), rel=1e-6, abs=1e-6)


@quick
@given(data=st.data(), scores=SCORES)
def test_the_order_of_the_rows_does_not_matter(data: st.DataObject, scores: list[int]) -> None:
    """The value is that of the set of scores."""
    shuffled = data.draw(st.permutations(scores))

    expected = measure(frame(scores)).value
    assert measure(frame(shuffled)).value == pytest.approx(expected, abs=1e-9)


@quick
@given(scores=SCORES, copies=st.integers(2, 4))
def test_more_spellings_are_no_more_evidence(scores: list[int], copies: int) -> None:
    """Each word in as many further spellings of its score: the interval is no narrower."""
    once = frame(scores)
    spelt = [once.assign(text=" " * i + once["text"].str.upper()) for i in range(copies)]

    estimate = measure(pd.concat(spelt))

    assert ends(estimate) == pytest.approx(ends(measure(once)), rel=1e-6, abs=1e-6)
    assert estimate.n == copies * len(scores)


def test_the_same_seed_gives_the_same_estimate() -> None:
    """Only the draws of numeric noise need it."""
    rows = frame(np.random.default_rng(4).gamma(2, size=100))

    def noisy(seed: int) -> Estimate:
        return skewness(rows, rng=np.random.default_rng(seed), noise=0.1)

    assert noisy(1) == noisy(1)
    assert noisy(1) != noisy(2)
    assert measure(rows, seed=1) == measure(rows, seed=2)


def test_unscored_rows_are_left_out() -> None:
    """A NaN is no score: with or without such rows the estimate is the same."""
    scored = frame(np.random.default_rng(7).gamma(2, size=50))
    unscored = pd.DataFrame({"text": ["nothing"] * 3, "score": [math.nan] * 3})

    assert measure(scored) == measure(pd.concat([scored, unscored]))


def test_the_frame_is_left_as_it_was() -> None:
    """Measuring changes no cell of a sweep."""
    rows = frame(range(50))
    before = rows.copy()

    measure(rows)

    pd.testing.assert_frame_equal(before, rows)


# Planted tails


@pytest.mark.parametrize(("sign", "expected"), [(+1, Verdict.PASS), (-1, Verdict.FAIL)])
def test_a_planted_tail_is_found(sign: int, expected: Verdict) -> None:
    """An upper tail passes "above 0", the same tail below fails."""
    scores = sign * np.random.default_rng(8).exponential(size=1000)

    assert above(0, unit=UNIT).judge(measure(frame(scores))) is expected


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


def test_the_check_of_the_coverage_can_fail() -> None:
    """Of 100 samples with skewness 2 hardly any has 0 in its interval."""
    assert sum(covered(seed, shape="exponential") for seed in range(100)) <= 5


# What cannot be measured


@pytest.mark.parametrize("scores", [[], [1.0], [1.0, 2.0]])
def test_a_few_scores_are_refused(scores: list[float]) -> None:
    """There is no third moment of two numbers to speak of; the error says how many there were."""
    with pytest.raises(MeasureError) as caught:
        measure(frame(scores).astype({"text": "str"}))

    n = len(scores)
    expected = f"skewness needs 30 words and scores that differ, got {n} words and {n} distinct "
    assert str(caught.value) == expected + "scores"


def test_unscored_rows_do_not_make_up_the_number() -> None:
    """Two scores and a NaN are two scores."""
    with pytest.raises(MeasureError, match=r"needs 30 words .*, got 2 words and 2 distinct"):
        measure(frame([1.0, 2.0, math.nan]))


def test_spellings_do_not_make_up_the_number() -> None:
    """Twenty-nine words in two spellings each are twenty-nine words."""
    rows = pd.concat(
        [frame(range(29)), frame(range(29)).assign(text=lambda each: " " + each["text"])]
    )

    with pytest.raises(MeasureError, match=r"needs 30 words .*, got 29 words"):
        measure(rows)


@pytest.mark.parametrize("score", [0.0, -3.5, 1e6])
def test_equal_scores_are_refused(score: float) -> None:
    """A model that says the same of everything has no shape."""
    with pytest.raises(MeasureError) as caught:
        measure(frame([score] * 40))

    expected = "skewness needs 30 words and scores that differ, got 40 words and 1 distinct scores"
    assert str(caught.value) == expected


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
