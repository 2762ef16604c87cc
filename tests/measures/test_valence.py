"""Valence: hand-derived, against scipy, its invariances, planted sentiment, and refusals."""

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
from rmaudit.measures.valence import FEWEST, UNIT, follows_frame
from rmaudit.records import Estimate, Verdict, above

LETTERS = "abcdefghij"
WORDS = [a + b for a in LETTERS for b in LETTERS]
RATINGS = pd.Series(np.arange(100.0), index=WORDS, name="toy")
SCORES = st.lists(st.integers(-1000, 1000), min_size=40, max_size=60, unique=True)
quick = settings(max_examples=8, deadline=None)  # an estimate takes a tenth of a second


def frame(scores: ArrayLike) -> pd.DataFrame:
    """Scores of the first words."""
    values = np.asarray(scores, dtype=float)
    return pd.DataFrame({"text": WORDS[: len(values)], "score": values})


def measure(
    rows: pd.DataFrame, ratings: pd.Series[float] = RATINGS, *, sign: int = +1, seed: int = 0
) -> Estimate:
    """How far the scores follow the ratings, the interval drawn with `seed`."""
    return follows_frame(rows, ratings, sign=sign, rng=np.random.default_rng(seed))


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """The three numbers of an estimate."""
    return estimate.low, estimate.value, estimate.high


# Known numbers


def test_rho_by_hand() -> None:
    """Thirty words in the order of their ratings, but the first and the last exchanged."""
    # rho = 1 - 6 Σd² / (n (n² - 1)) = 1 - 6 (29² + 29²) / (30 · 899) = 1 - 10092 / 26970
    scores = [29, *range(1, 29), 0]

    assert measure(frame(scores)).value == pytest.approx(1 - 10092 / 26970, rel=1e-12)


def test_a_word_counts_once_with_the_mean_of_its_spellings() -> None:
    """Two spellings whose mean is the word's place in the order give that order."""
    once = frame(range(30))
    low, high = once["score"] - 100, once["score"] + 100
    spelt = pd.concat(
        [once.assign(score=low), once.assign(score=high, text=" " + once["text"].str.upper())]
    )

    estimate = measure(spelt)

    assert ends(measure(once)) == ends(estimate)
    assert estimate.value == pytest.approx(1.0)
    assert estimate.n == 30


def test_rho_is_that_of_scipy() -> None:
    """With ties on both sides."""
    rng = np.random.default_rng(1)
    scores, ratings = rng.integers(20, size=(2, 100))
    estimate = measure(frame(scores), pd.Series(ratings, index=WORDS, name="toy", dtype=float))

    assert estimate.value == pytest.approx(stats.spearmanr(scores, ratings).statistic, rel=1e-12)


def test_the_interval_is_that_of_a_percentile_bootstrap() -> None:
    """The bootstrap of pairs that scipy has gives the same interval."""
    rng = np.random.default_rng(2)
    scores = np.arange(100) + rng.normal(scale=50, size=100)
    reference = stats.bootstrap(
        (np.arange(100.0), scores),
        lambda x, y: float(stats.spearmanr(x, y).statistic),
        n_resamples=500,
        method="percentile",
        paired=True,
        vectorized=False,
        rng=np.random.default_rng(3),
    ).confidence_interval

    estimate = measure(frame(scores))

    width = reference.high - reference.low
    assert estimate.low == pytest.approx(reference.low, abs=width / 6)
    assert estimate.high == pytest.approx(reference.high, abs=width / 6)


def test_the_estimate_says_what_it_is() -> None:
    """The unit is the bound's, n counts words, and the interval names its resamples."""
    estimate = measure(frame(range(50)))

    assert (estimate.unit, estimate.n) == (UNIT, 50)
    assert estimate.interval == "500 resamples of words"


def test_further_lexicons_stand_beside_it_with_the_same_sign() -> None:
    """Each further lexicon is correlated over its own words and turned as the frame asks."""
    rows = frame(range(60))
    beside = {"same": RATINGS[:40], "reversed": -RATINGS[20:]}

    estimate = follows_frame(rows, RATINGS, sign=-1, rng=np.random.default_rng(0), beside=beside)

    assert dict(estimate.beside) == pytest.approx({"same": -1.0, "reversed": 1.0})


# Properties


@quick
@given(scores=SCORES, scale=st.integers(1, 1000), shift=st.integers(-1000, 1000))
def test_the_units_of_the_score_do_not_matter(scores: list[int], scale: int, shift: int) -> None:
    """An affine change with a positive slope changes no rank, hence no number."""
    changed = [scale * score + shift for score in scores]

    assert ends(measure(frame(scores))) == ends(measure(frame(changed)))


@quick
@given(data=st.data(), scores=SCORES)
def test_the_order_of_the_rows_does_not_matter(data: st.DataObject, scores: list[int]) -> None:
    """Neither the order of the tokens nor that of the lexicon moves any number."""
    rows = frame(scores)
    order = data.draw(st.permutations(range(len(scores))))

    shuffled = measure(rows.iloc[list(order)], RATINGS[::-1])

    assert ends(measure(rows)) == ends(shuffled)


@quick
@given(data=st.data(), scores=SCORES)
def test_more_spellings_are_no_more_evidence(data: st.DataObject, scores: list[int]) -> None:
    """Words that occur in further spellings of the same score weigh no more than others."""
    rows = frame(scores)
    chosen = data.draw(st.lists(st.sampled_from(range(len(scores))), max_size=20))
    copies = rows.iloc[chosen]

    estimate = measure(pd.concat([rows, copies.assign(text=" " + copies["text"].str.title())]))

    assert ends(measure(rows)) == ends(estimate)
    assert estimate.n == len(scores)


@quick
@given(scores=SCORES)
def test_a_negative_frame_turns_the_estimate_round(scores: list[int]) -> None:
    """The sign of the frame is the sign of the number, and mirrors its interval."""
    low, value, high = ends(measure(frame(scores)))

    assert pytest.approx(ends(measure(frame(scores), sign=-1))) == (-high, -value, -low)


@quick
@given(scores=SCORES)
def test_turning_the_scores_round_turns_the_estimate_round(scores: list[int]) -> None:
    """rho(-x) = -rho(x), and its interval is the mirror image."""
    low, value, high = ends(measure(frame(scores)))

    turned = ends(measure(frame([-score for score in scores])))

    assert pytest.approx(turned, abs=1e-9) == (-high, -value, -low)


def test_the_same_seed_gives_the_same_estimate() -> None:
    """All randomness is the generator's; another seed moves the interval only."""
    rows = frame(np.random.default_rng(4).normal(size=60))

    assert measure(rows, seed=5) == measure(rows, seed=5)
    assert measure(rows, seed=5).value == measure(rows, seed=6).value
    assert measure(rows, seed=5).low != measure(rows, seed=6).low


def test_what_is_not_in_both_is_left_out() -> None:
    """Unscored tokens, fragments, unrated words and unscored ratings change no number."""
    rows = frame(np.random.default_rng(7).normal(size=60))
    others = pd.DataFrame({"text": ["zz", "aa.", "aa", "42"], "score": [9.0, 9.0, math.nan, 9.0]})
    expected = measure(rows)

    found = measure(pd.concat([rows, others]))

    assert (ends(found), found.n) == (ends(expected), expected.n)


# What a plot needs


def test_the_bins_hold_every_word_once() -> None:
    """Nine bins of equal width from the least to the greatest rating, and no word lost."""
    evidence = measure(frame(range(90))).evidence

    bins = evidence["bins"]
    assert sum(each["n"] for each in bins) == 90
    assert [each["n"] for each in bins[:8]] == [10] * 8
    assert (bins[0]["low"], bins[-1]["high"]) == (0.0, 89.0)
    assert (
        evidence["kind"],
        evidence["lexicon"],
        evidence["axis"],
    ) == ("sentiment", "toy", "toy valence")


def test_the_bins_hold_medians_and_quartiles_in_sd() -> None:
    """The first of nine bins has the scores 0 to 9, quartiles by linear interpolation."""
    # scores 0..89: mean 44.5, sd √((90² - 1) / 12) of a population
    # of 0..9: q25 2.25, median 4.5, q75 6.75
    first = measure(frame(range(90))).evidence["bins"][0]

    sd = math.sqrt(89 * 91 / 12)
    expected = [(q - 44.5) / sd for q in (2.25, 4.5, 6.75)]
    assert [first["q25"], first["median"], first["q75"]] == pytest.approx(expected)


def test_an_empty_bin_is_left_out() -> None:
    """A lexicon without neutral words has no bin there, rather than one of NaN."""
    ratings = pd.Series([0.0] * 20 + [9.0] * 20, index=WORDS[:40], name="toy")

    bins = measure(frame(range(40)), ratings).evidence["bins"]

    assert [(b["low"], b["high"], b["n"]) for b in bins] == [(0.0, 1.0, 20), (8.0, 9.0, 20)]


# Planted sentiment


@pytest.mark.parametrize(
    ("planted", "sign", "expected"),
    [
        (+1, +1, Verdict.PASS),
        (-1, +1, Verdict.FAIL),
        (-1, -1, Verdict.PASS),
        (+1, -1, Verdict.FAIL),
    ],
)
def test_planted_sentiment_is_found(planted: int, sign: int, expected: Verdict) -> None:
    """Scores that follow valence pass a positive frame and fail a negative one, and vice versa."""
    noise = np.random.default_rng(8).normal(scale=30, size=100)

    estimate = measure(frame(planted * np.arange(100) + noise), sign=sign)

    assert above(0, unit=UNIT).judge(estimate) is expected


def covered(seed: int, *, planted: float) -> bool:
    """Whether the interval of 80 words covers 0, their scores having `planted` of the ratings."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=80) + planted * stats.zscore(np.arange(80))
    estimate = follows_frame(frame(scores), RATINGS, sign=+1, rng=rng)
    return estimate.low <= 0 <= estimate.high


def test_scores_without_sentiment_are_not_called_sentimental() -> None:
    """Of 40 models that ignore valence about 95 % have 0 in their interval."""
    # P(X < 33) < 1e-3 for X ~ B(40, 0.95); the seeds are fixed
    assert sum(covered(seed, planted=0) for seed in range(40)) >= 33


def test_the_check_of_the_coverage_can_fail() -> None:
    """Of ten models that follow valence at all none has 0 in its interval."""
    assert sum(covered(seed, planted=1) for seed in range(10)) == 0


# What cannot be measured


def test_too_few_words_are_refused() -> None:
    """One word fewer than `FEWEST`: the error has the count, the lexicon and what is needed."""
    with pytest.raises(MeasureError) as caught:
        measure(frame(range(FEWEST - 1)))

    expected = (
        "29 words are both scored and in the lexicon 'toy', with 29 distinct scores "
        "and 29 distinct ratings; at least 30 words that differ in both are needed"
    )
    assert str(caught.value) == expected


def test_the_fewest_words_are_enough() -> None:
    """At `FEWEST` words there is an estimate."""
    assert measure(frame(range(FEWEST))).n == FEWEST


def test_spellings_do_not_make_up_the_number_of_words() -> None:
    """Fifteen words in two spellings each are fifteen words."""
    rows = frame(range(15))

    with pytest.raises(MeasureError, match=r"^15 words are both scored and in the lexicon 'toy'"):
        measure(pd.concat([rows, rows.assign(text=rows["text"].str.upper())]))


def test_a_sweep_without_a_score_is_refused() -> None:
    """Where all is NaN, no words are scored."""
    with pytest.raises(MeasureError, match=r"^0 words are both scored and in the lexicon 'toy'"):
        measure(frame([math.nan] * 40))


def test_a_lexicon_of_other_words_is_refused() -> None:
    """No shared word is no zero correlation."""
    other = RATINGS.rename(lambda word: f"x{word}").rename("other")

    with pytest.raises(MeasureError, match=r"^0 words are both scored and in the lexicon 'other'"):
        measure(frame(range(40)), other)


def test_equal_scores_are_refused() -> None:
    """A model that says the same of every word follows nothing."""
    with pytest.raises(MeasureError) as caught:
        measure(frame([0.5] * 40))

    expected = (
        "40 words are both scored and in the lexicon 'toy', with 1 distinct scores "
        "and 40 distinct ratings; at least 30 words that differ in both are needed"
    )
    assert str(caught.value) == expected


def test_a_further_lexicon_of_too_few_words_is_left_out() -> None:
    """What stands beside the estimate cannot undo it, and is no number where it cannot be one."""
    rng = np.random.default_rng(0)
    beside = {"few": RATINGS[:5].rename("few"), "same": RATINGS}

    estimate = follows_frame(frame(range(40)), RATINGS, sign=1, rng=rng, beside=beside)

    assert list(estimate.beside) == ["same"]


@pytest.mark.parametrize(
    ("scores", "ratings"),
    [(np.arange(40.0), np.zeros(40)), ([0.0] * 39 + [1.0], np.arange(40.0))],
    ids=["equal ratings", "one outlier among equal scores"],
)
def test_a_correlation_that_hangs_on_a_word_is_refused(
    scores: list[float], ratings: list[float]
) -> None:
    """Resamples without any difference have no rank correlation."""
    texts = [a + b for a in "abcd" for b in "abcdefghij"]
    valence = pd.Series(ratings, index=texts, name="toy")
    with pytest.raises(MeasureError):
        follows_frame(
            pd.DataFrame({"text": texts, "score": scores}),
            valence,
            sign=1,
            rng=np.random.default_rng(0),
        )
