"""The slope of reward on log frequency, valence and length held fixed: arithmetic and properties.

Words are AA, AB, ... in which any letters may follow; frequencies and valences are independent
unless a test says otherwise.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import NOISE
from rmaudit.measures.frequency_bias import FEWEST, UNIT, slope
from rmaudit.verdicts.records import Estimate

N = 120
_RNG = np.random.default_rng(0)
WORDS = [
    a + b + "x" * int(n)
    for (a, b), n in zip(product("abcdefghijkl", repeat=2), _RNG.integers(6, size=N), strict=False)
]
ZIPF = pd.Series(_RNG.uniform(3, 7, size=N), index=WORDS, name="zipf")
VALENCE = pd.Series(_RNG.uniform(1, 9, size=N), index=WORDS, name="happy")
LETTERS = np.array([len(word) for word in WORDS], float)

quick = settings(max_examples=10, deadline=None)


def frame(scores: object, words: list[str] = WORDS) -> pd.DataFrame:
    """A sweep of these words."""
    return pd.DataFrame({"text": words, "score": np.asarray(scores, float)})


def measure(rows: pd.DataFrame, *, seed: int = 0, **given: object) -> Estimate:
    """The estimate with the lists of this file."""
    return slope(rows, ZIPF, VALENCE, rng=np.random.default_rng(seed), **given)  # type: ignore[arg-type]


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """Low, value, high."""
    return estimate.low, estimate.value, estimate.high


def noisy(seed: int = 1, *, planted: float = 0.0) -> NDArray[np.float64]:
    """Scores that have `planted` of the frequency, one of the valence, and noise of sd 1."""
    rng = np.random.default_rng(seed)
    return planted * ZIPF.to_numpy() + VALENCE.to_numpy() + rng.normal(size=N)


# Arithmetic


def test_what_was_planted_is_found_exactly() -> None:
    """Two points per tenfold frequency, beside any effect of valence, its square and length."""
    valence = VALENCE.to_numpy()
    scores = 7 + 2 * ZIPF.to_numpy() - 3 * valence + 0.5 * valence**2 + LETTERS

    estimate = measure(frame(scores))

    assert ends(estimate) == pytest.approx((2 / scores.std(),) * 3)
    assert (estimate.unit, estimate.n) == (UNIT, N)


def test_slope_and_interval_are_those_of_least_squares_with_hc3_errors() -> None:
    """White's sandwich with residuals over 1 - leverage, and Student's t, written out."""
    scores, valence = noisy(), VALENCE.to_numpy()
    y = (scores - scores.mean()) / scores.std()
    x = np.column_stack([ZIPF, valence, valence**2, LETTERS, np.ones(N)])
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x)
    meat = x.T @ (x * (((y - x @ beta) / (1 - leverage)) ** 2)[:, None])
    error = math.sqrt((inverse @ meat @ inverse)[0, 0])
    reach = stats.t.ppf(0.975, N - 5) * error

    expected = (beta[0] - reach, beta[0], beta[0] + reach)
    assert ends(measure(frame(scores))) == pytest.approx(expected)


def test_a_word_scores_the_mean_of_its_spellings() -> None:
    """In sd of all scores of the frame, those of other tokens included."""
    scores = noisy()
    rows = pd.concat(
        [
            frame(scores + 1),
            frame(scores - 1, [f" {word.upper()}" for word in WORDS]),
            frame([100.0, -100.0], ["zz", "!"]),
        ]
    )

    estimate = measure(rows)

    factor = scores.std() / rows["score"].std(ddof=0)
    assert estimate.value == pytest.approx(measure(frame(scores)).value * factor)
    assert estimate.n == N


def test_frequent_words_that_are_liked_for_their_valence_are_not_overvalued() -> None:
    """Without the control the slope is that of valence; it stands beside."""
    rng = np.random.default_rng(2)
    happy = pd.Series(ZIPF + rng.normal(scale=0.5, size=N), name="happy")
    scores = happy.to_numpy() + rng.normal(scale=0.1, size=N)

    estimate = slope(frame(scores), ZIPF, happy, rng=rng)

    assert abs(estimate.value) < 0.05
    assert estimate.secondary["without the control"] > 0.7
    alone = stats.linregress(ZIPF, scores).slope / scores.std()
    assert estimate.secondary["without the control"] == pytest.approx(alone)


def test_further_lists_stand_beside() -> None:
    """Another list with and without the control, other lexicons, none that has too few words."""
    half = ZIPF[:60] / 2
    scores = noisy(planted=1)
    given = {
        "secondary_frequency": {"other": half, "few": ZIPF[:20]},
        "secondary_valence": {"sad": -VALENCE, "few too": VALENCE[:20]},
    }

    estimate = measure(frame(scores), **given)

    assert list(estimate.secondary) == [
        *("without the control", "sd per point of valence"),
        *("other", "other, without the control", "sad"),
    ]
    assert estimate.secondary["sad"] == pytest.approx(estimate.value)
    alone = stats.linregress(half, scores[:60]).slope / scores.std()
    assert estimate.secondary["other, without the control"] == pytest.approx(alone)


def test_numeric_noise_widens_the_interval_by_what_it_does_to_the_slope() -> None:
    """The slope is a weighted sum: the sd that noise gives it is that of its weights' length."""
    rows = pd.concat([frame(noisy()), frame(noisy(), [word.upper() for word in WORDS])])
    x = np.column_stack([ZIPF, VALENCE, VALENCE**2, LETTERS, np.ones(N)])
    weights = np.linalg.pinv(x)[0]
    sd = 0.5 * math.sqrt((weights**2).sum() / 2) / rows["score"].std(ddof=0)
    plain = measure(rows)

    drawn = [measure(rows, seed=seed, noise=0.5) for seed in range(20)]

    assert np.mean([e.secondary[NOISE] for e in drawn]) == pytest.approx(sd, rel=0.15)
    assert all(e.value == plain.value and e.low < plain.low for e in drawn)


# Properties


@quick
@given(data=st.data())
def test_neither_order_nor_further_spellings_matter(data: st.DataObject) -> None:
    """All words in a further spelling of the same score, in any order of tokens and lists."""
    rows = frame(noisy())
    both = pd.concat([rows, rows.assign(text=" " + rows["text"].str.title())])
    order = data.draw(st.permutations(range(len(both))))

    found = slope(both.iloc[list(order)], ZIPF[::-1], VALENCE, rng=np.random.default_rng(0))

    assert (ends(found), found.n) == (pytest.approx(ends(measure(rows))), N)


@pytest.mark.slow
def test_the_interval_covers_what_was_planted() -> None:
    """In about 95 of 100 models; P(X < 88) < 0.3 % for X ~ B(100, 0.95); the seeds are fixed."""
    truth = 0.5
    covered = 0
    for seed in range(100):
        scores = noisy(seed, planted=truth)
        estimate = measure(frame(scores))
        covered += estimate.low <= truth / scores.std() <= estimate.high

    assert 88 <= covered < 100


# What a plot needs


def test_the_bins_hold_every_word_once_and_only_the_effect_of_frequency() -> None:
    """With valence and length taken out, a planted line goes through the middles of the bins."""
    scores = 2 * ZIPF.to_numpy() - 3 * VALENCE.to_numpy() + LETTERS

    evidence = measure(frame(scores)).evidence

    assert evidence.axis == "Zipf frequency (zipf)"
    assert sum(each.n for each in evidence.bins) == N
    for each in evidence.bins:
        low, high = (2 * (end - ZIPF.mean()) / scores.std() for end in (each.low, each.high))
        assert low <= each.q25 <= each.median <= each.q75 <= high


# What cannot be measured


def test_too_few_words_are_refused() -> None:
    """The count, both lists and what is needed."""
    with pytest.raises(MeasureError) as caught:
        measure(frame(noisy()[: FEWEST - 1], WORDS[: FEWEST - 1]))

    assert str(caught.value) == (
        "49 words are scored, in the frequency list 'zipf' and in the lexicon 'happy'; "
        "at least 50 that differ in all are needed"
    )


def test_words_of_one_valence_are_refused() -> None:
    """What does not vary cannot be held fixed; the error says which."""
    with pytest.raises(MeasureError, match=r"are needed \(all have the same valence\)$"):
        slope(frame(noisy()), ZIPF, VALENCE * 0, rng=np.random.default_rng(0))
