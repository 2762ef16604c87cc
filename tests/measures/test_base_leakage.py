"""Leakage: hand-derived, against statsmodels, its invariances, planted leaks, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures import base_leakage
from rmaudit.measures.base_leakage import FEWEST, UNIT, follows_base
from rmaudit.verdicts.records import Estimate, Verdict, between
from tests.measures import contract

LETTERS = "abcdefghij"
WORDS = [a + b for a in LETTERS for b in LETTERS]
SEEDS = st.integers(0, 2**32 - 1)
quick = settings(max_examples=8, deadline=None)  # an estimate takes a tenth of a second
VALENCE, NOT_HELD, ALL = (
    "only valence held fixed",
    "nothing held fixed",
    "all scored tokens, nothing held fixed",
)


def measure(
    scores: ArrayLike,
    likely: ArrayLike,
    held: ArrayLike,
    *,
    texts: list[str] | None = None,
    seed: int = 0,
    noise: float = 0.0,
    zipf: Any = None,
) -> Estimate:
    """The leakage of words (or `texts`, one id each); `held` is of the first words."""
    values = np.asarray(scores, dtype=float)
    ids = np.arange(len(values)) + 7
    texts = texts or WORDS[: len(values)]
    valence = np.asarray(held, dtype=float)
    return follows_base(
        pd.DataFrame({"token_id": ids, "text": texts, "score": values}),
        pd.Series(np.asarray(likely, dtype=float), index=ids),
        pd.Series(valence, index=WORDS[: len(valence)], name="toy"),
        pd.Series(np.ones(len(valence)) if zipf is None else zipf, index=WORDS[: len(valence)]),
        rng=np.random.default_rng(seed),
        noise=noise,
    )


def drawn(seed: int, n: int = 60) -> tuple[NDArray[np.float64], ...]:
    """Scores, log-probabilities and valences that have something to do with each other."""
    rng = np.random.default_rng(seed)
    held, shared = rng.normal(size=(2, n))
    own = rng.normal(size=(2, n))
    return held + shared + own[0], shared - held + own[1], held


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """The three numbers of an estimate."""
    return estimate.low, estimate.value, estimate.high


# Known numbers


def test_by_hand() -> None:
    """Twenty pairs of words of one valence, in the same order by all, but turned within pairs."""
    # Pair b has the ranks x = 2b + 1, 2b + 2; y = 2b + 2, 2b + 1; z = 2b + 1.5, tied. With B pairs
    # var(z) = V = (B² - 1) / 3, var(x) = var(y) = V + 1/4, cov(x, z) = cov(y, z) = V and
    # cov(x, y) = V - 1/4. What a line in z, of slope 1, leaves: of x and y 1/4 each, together -1/4.
    pairs = np.arange(20)
    x = np.column_stack([2 * pairs, 2 * pairs + 1]).ravel()
    y = np.column_stack([2 * pairs + 1, 2 * pairs]).ravel()
    z = np.repeat(pairs, 2)
    v = (20**2 - 1) / 3

    estimate = measure(x, y, z)

    assert estimate.value == pytest.approx(-1, abs=1e-12)
    assert estimate.secondary[NOT_HELD] == pytest.approx((v - 1 / 4) / (v + 1 / 4), rel=1e-12)


def test_it_is_the_formula_of_partial_correlation() -> None:
    """(r_xy - r_xz r_yz) / sqrt((1 - r_xz²)(1 - r_yz²)) of Spearman's rhos, with ties."""
    rng = np.random.default_rng(1)
    x, y, z = rng.integers(12, size=(3, 100))
    x = x + z

    def rho(a: Any, b: Any) -> float:
        return float(stats.spearmanr(a, b).statistic)

    expected = (rho(x, y) - rho(x, z) * rho(y, z)) / math.sqrt(
        (1 - rho(x, z) ** 2) * (1 - rho(y, z) ** 2)
    )
    estimate = measure(x, y, z)

    assert estimate.secondary[VALENCE] == pytest.approx(expected, rel=1e-9)
    assert estimate.secondary[NOT_HELD] == pytest.approx(rho(x, y), rel=1e-9)
    assert estimate.secondary[ALL] == pytest.approx(rho(x, y), rel=1e-9)


def test_it_is_the_correlation_of_least_squares_residuals() -> None:
    """Residuals of ranks by statsmodels, on the ranks of valence, of Zipf, and of how far out."""
    x, y, z = drawn(2, 100)
    zipf = x + np.random.default_rng(3).normal(size=100)
    by = [stats.rankdata(each) for each in (z, zipf)]
    held = np.column_stack([*by, *(np.abs(ranks - 50.5) for ranks in by)])
    fixed = sm.add_constant(stats.rankdata(held, axis=0))
    left = [sm.OLS(stats.rankdata(values), fixed).fit().resid for values in (x, y)]

    estimate = measure(x, y, z, zipf=zipf)

    assert estimate.value == pytest.approx(np.corrcoef(left)[0, 1], rel=1e-9)


def test_a_word_has_the_mean_rank_of_its_spellings() -> None:
    """Of two spellings in opposite places nothing is left but the third word's order."""
    x, y, z = drawn(5, 40)
    upper = [f" {word.upper()}" for word in WORDS[:40]]
    # The second spellings are far below in the order of the first: the mean rank keeps the order.
    low, down = x - 1000, y - 1000

    both = measure([*x, *low], [*y, *down], z, texts=[*WORDS[:40], *upper])

    assert both.n == 40
    assert both.value == pytest.approx(measure(x, y, z).value, rel=1e-12)
    # And in reverse order: every word's mean rank is the same.
    with pytest.raises(MeasureError, match="with 1 distinct scores, 40 distinct log-prob"):
        measure([*x, *(-x - 1000)], [*y, *down], z, texts=[*WORDS[:40], *upper])


def test_what_is_unscored_is_left_out() -> None:
    """NaN as a score, as a log-probability, as a rating, and an id that the base has not."""
    x, y, z = drawn(7, 60)
    expected = measure(x[:50], y[:50], z[:50])
    gaps = [x.copy(), y.copy(), z.copy()]
    gaps[0][50:54] = np.nan
    gaps[1][52:57] = np.nan
    gaps[2][55:] = np.nan

    found = measure(*gaps)

    assert found.n == 50
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    frame = pd.DataFrame({"token_id": range(60), "text": WORDS[:60], "score": x})
    valence = pd.Series(z, index=WORDS[:60], name="toy")
    known = pd.Series(y[:50], index=range(50))
    zipf = pd.Series(4.0, index=WORDS[:60])
    fewer = follows_base(frame, known, valence, zipf, rng=np.random.default_rng(0))
    assert ends(fewer) == ends(expected)


# What it does not depend on


@quick
@given(seed=SEEDS)
def test_monotone_scales_do_not_matter(seed: int) -> None:
    """Of reward, log-probability and valence alike, several spellings a word among them."""
    x, y, z = drawn(seed)
    texts = [*WORDS[:40], *(f" {word}" for word in WORDS[:20])]

    assert ends(measure(x, y, z[:40], texts=texts)) == pytest.approx(
        ends(measure(np.exp(x), y**3, 5 + 2 * np.arctan(z[:40]), texts=texts)), abs=1e-12
    )


@quick
@given(seed=SEEDS, copies=st.integers(1, 3))
def test_duplicated_spellings_do_not_matter(seed: int, copies: int) -> None:
    """Half of the words, all of their spellings once more: they gain no weight."""
    x, y, z = drawn(seed)
    texts = [*WORDS[:40], *(f" {word}" for word in WORDS[:20])]
    more = [i for i in range(60) if i % 20 < 10] * copies

    again = measure(
        [*x, *x[more]], [*y, *y[more]], z[:40], texts=[*texts, *(texts[i].upper() for i in more)]
    )

    assert again.n == 40
    assert ends(again) == pytest.approx(ends(measure(x, y, z[:40], texts=texts)), abs=1e-12)


# What it finds


@pytest.mark.parametrize("sign", [1, -1])
def test_a_planted_leak_fails(sign: int) -> None:
    """A reward that is the base's log-probability and noise is far outside, either way."""
    rng = np.random.default_rng(8)
    y, z, noise = rng.normal(size=(3, 100))

    estimate = measure(sign * y + 0.5 * noise, y, z)

    assert between(-0.15, 0.15, unit=UNIT).judge(estimate) is Verdict.FAIL


def test_the_base_itself_fails() -> None:
    """A reward that is the base's log-probability: 1, for certain."""
    _, y, z = drawn(8, 100)

    assert ends(measure(y, y, z)) == pytest.approx((1, 1, 1))


@pytest.mark.parametrize("shape", [lambda zipf: zipf, np.abs])
def test_frequency_alone_is_no_leak(shape: Callable[[Any], Any]) -> None:
    """Base and reward both follow frequency, straight or bent: 0.3 and more if it is left free."""
    zipf, z, *noise = np.random.default_rng(10).normal(size=(4, 100))

    base = shape(zipf) + 0.5 * noise[0]
    estimate = measure(shape(zipf) + 0.5 * noise[1], base, z, zipf=zipf)

    assert estimate.secondary[VALENCE] > 0.3
    assert abs(estimate.value) < 0.2
    assert estimate.low < 0 < estimate.high


def test_forms_of_a_word_are_one_draw() -> None:
    """Four forms of each stem, alike in everything: the interval is that of a quarter."""
    x, y, z = drawn(4, 25 * 4)
    nouns = [f"{word}ox" for word in WORDS[:50]]
    forms = [f"{noun}{end}" for noun in nouns for end in ("", "s", "ed", "ing")]
    values = [np.repeat(side[:50], 4) for side in (x, y, z)]
    table = pd.DataFrame({"token_id": range(200), "text": forms, "score": values[0]})

    def width(texts: list[str]) -> float:
        lists = (pd.Series(column, index=texts, name="toy") for column in (values[2], np.ones(200)))
        base = pd.Series(values[1], index=range(200))
        found = follows_base(table.assign(text=texts), base, *lists, rng=np.random.default_rng(0))
        return found.high - found.low

    apart = [f"{i}{word}" for i, word in enumerate(forms)]
    assert width(forms) > 1.5 * width(apart)


def test_agreement_by_sentiment_alone_is_no_leak() -> None:
    """Both like happy words: correlated as they are, but not at equal valence."""
    rng = np.random.default_rng(9)
    z, *noise = rng.normal(size=(3, 100))

    estimate = measure(z + 0.5 * noise[0], z + 0.5 * noise[1], z)

    assert estimate.secondary[NOT_HELD] > 0.6
    assert abs(estimate.value) < 0.25
    assert estimate.low < 0 < estimate.high


def test_independent_rewards_are_covered() -> None:
    """Of forty with no leak, most intervals hold zero."""
    inside = 0
    for seed in range(40):
        x, y, z = np.random.default_rng(seed).normal(size=(3, 100))
        estimate = measure(x + z, y, z, seed=seed)
        inside += estimate.low < 0 < estimate.high

    assert 34 <= inside <= 40


# What it refuses


def test_too_few_words() -> None:
    """The count, the lexicon and what is needed."""
    x, y, z = drawn(11, FEWEST - 1)

    with pytest.raises(MeasureError) as caught:
        measure(x, y, z)

    said = ("29 words (29 stems) are scored", "'toy'", "29 distinct scores", "at least 30 stems")
    assert [each for each in said if each not in str(caught.value)] == []


@pytest.mark.parametrize("flat", [0, 1, 2])
def test_what_is_all_equal(flat: int) -> None:
    """Reward, log-probability or valence."""
    given_ = list(drawn(12))
    given_[flat] = np.ones(60)

    with pytest.raises(MeasureError, match=r"with (1|60) distinct scores, .* stems that differ in"):
        measure(*given_)


@pytest.mark.parametrize("which", [0, 1])
def test_what_sentiment_explains_wholly(which: int) -> None:
    """A reward, or a log-probability, in the very order of valence."""
    given_ = list(drawn(13))
    given_[which] = np.exp(given_[2])

    with pytest.raises(MeasureError) as caught:
        measure(*given_)

    assert "those of valence, frequency or length" in str(caught.value)


def test_what_hangs_on_few_words() -> None:
    """One word out of order, without which nothing is left."""
    z = np.arange(60.0)
    x, y = z.copy(), z.copy()
    x[:2] = x[1::-1]
    y[:2] = y[1::-1]

    with pytest.raises(MeasureError, match="nothing is left to correlate"):
        measure(x, y, z)


@pytest.mark.parametrize("which", [0, 1])
def test_an_infinity(which: int) -> None:
    """It is neither a score nor a log-probability."""
    given_ = list(drawn(14))
    given_[which][3] = -np.inf

    with pytest.raises(MeasureError, match="leakage needs finite scores and log-probabilities"):
        measure(*given_)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Of a base that likes some words."""
    likely = pd.Series(contract.of(contract.KNOWN[2], texts))
    table = contract.frame(texts, scores)
    return base_leakage.follows_base(
        table, likely, contract.VALENCE, contract.ZIPF, rng=contract.rng(), noise=noise
    )


CONTRACT = contract.Contract("base_leakage", on_toys, turned=-1, chart=False)
