"""Kendall's tau: hand-derived, against scipy, its invariances, its coverage, and refusals."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.elo_agreement import FEWEST, UNIT, kendall
from rmaudit.verdicts.records import Estimate, Verdict, above

PAIRS = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=30, max_size=60)
quick = settings(max_examples=50, deadline=None)


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """The three numbers of an estimate."""
    return estimate.low, estimate.value, estimate.high


def columns(pairs: list[tuple[int, int]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores and ratings, neither all equal."""
    x, y = np.array(pairs, dtype=float).T
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    return x, y


# Known numbers


def test_tau_by_hand() -> None:
    """Thirty items, the last ten moved in front of the first twenty."""
    # Of 435 pairs, C(20,2) + C(10,2) = 235 keep their order and 20 · 10 = 200 do not:
    #   tau = 35/435 = 7/87
    # Each of the twenty agrees with 19 and disagrees with 10 of the 29 others, each of the ten
    # agrees with 9 and disagrees with 20: concordances 9/29 and -11/29, whose mean is 7/87.
    #   deviations 20/87 and -40/87;  variance (20 · 400 + 10 · 1600) / 87² / 29 = 24000 / 87² / 29
    #   error = 2 · √(24000 / 87² / 29) / √30 = 2/87 · √(800/29)
    estimate = kendall(range(30), [*range(10, 30), *range(10)])

    error = 2 / 87 * math.sqrt(800 / 29)
    low, high = 7 / 87 - 1.959963984540054 * error, 7 / 87 + 1.959963984540054 * error
    assert ends(estimate) == pytest.approx((low, 7 / 87, high), rel=1e-12)


def test_tau_b_by_hand() -> None:
    """Two values on each side: tau-b is the coefficient of association of the 2 x 2 table."""
    # (x, y) = (0, 0) ten times, (0, 1) five, (1, 0) five, (1, 1) ten:
    #   phi = (10 · 10 - 5 · 5) / √(15⁴) = 75/225 = 1/3
    # Pairs in order 100, against it 25: tau-a = 75/435, and tau-b / tau-a = 435/225.
    # Each of the twenty on the diagonal agrees with ten of the 29 others, each of the ten off it
    # disagrees with five: concordances 10/29 and -5/29, whose mean is 5/29 = 75/435.
    #   variance (20 · 5² + 10 · 10²) / 29² / 29 = 1500 / 29³
    #   error = 435/225 · 2 · √(1500 / 29³) / √30 = 2/15 · √(50/29)
    table = [(0, 0)] * 10 + [(0, 1)] * 5 + [(1, 0)] * 5 + [(1, 1)] * 10
    x, y = zip(*table, strict=True)

    estimate = kendall(x, y)

    error = 435 / 225 * 2 * math.sqrt(1500 / 29**3) / math.sqrt(30)
    expected = (1 / 3 - 1.959963984540054 * error, 1 / 3, 1 / 3 + 1.959963984540054 * error)
    assert ends(estimate) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("scores", "expected"), [(range(40), 1.0), (range(40, 0, -1), -1.0)])
def test_the_same_order_is_one_and_the_reverse_is_minus_one(scores: range, expected: float) -> None:
    """The ends of the scale are reached, and not passed."""
    estimate = kendall(scores, range(40))

    assert ends(estimate) == (expected, expected, expected)


def test_the_interval_stays_on_the_scale() -> None:
    """No end lies beyond 1 or -1."""
    scores = [29, *range(1, 29), 0]

    assert kendall(scores, range(30)).high == 1.0
    assert kendall(scores[::-1], range(30)).low == -1.0


def test_tau_is_that_of_scipy() -> None:
    """Tau-b, with ties on both sides; Spearman's rho and the distinct scores beside it."""
    x, y = np.random.default_rng(1).integers(20, size=(2, 200))

    estimate = kendall(x, y)

    assert estimate.value == pytest.approx(stats.kendalltau(x, y).statistic, rel=1e-12)
    expected = {"Spearman's rho": stats.spearmanr(x, y).statistic, "distinct scores": 20}
    assert dict(estimate.secondary) == pytest.approx(expected)


def test_the_estimate_says_what_it_is() -> None:
    """The unit is the bound's, n counts items, and the interval says how it was made."""
    estimate = kendall(range(40), range(40))

    assert (estimate.unit, estimate.n) == (UNIT, 40)
    assert estimate.interval == "normal, from the items' own concordances"


# Properties


@quick
@given(pairs=PAIRS, scale=st.integers(1, 1000), shift=st.integers(-1000, 1000))
def test_the_units_do_not_matter(pairs: list[tuple[int, int]], scale: int, shift: int) -> None:
    """An affine change of either side with a positive slope changes no order, hence no number."""
    x, y = columns(pairs)

    assert ends(kendall(x, y)) == ends(kendall(scale * x + shift, y))
    assert ends(kendall(x, y)) == ends(kendall(x, scale * y + shift))


@quick
@given(data=st.data(), pairs=PAIRS)
def test_the_order_of_the_items_does_not_matter(
    data: st.DataObject, pairs: list[tuple[int, int]]
) -> None:
    """Items are a set."""
    x, y = columns(pairs)
    assume(abs(kendall(x, y).value) > 1e-9)  # exactly 0 has a test of its own
    shuffled = data.draw(st.permutations(pairs))

    assert ends(kendall(*columns(shuffled))) == pytest.approx(ends(kendall(x, y)), abs=1e-9)


@quick
@given(pairs=PAIRS)
def test_turning_the_scores_round_turns_the_estimate_round(pairs: list[tuple[int, int]]) -> None:
    """tau(-x) = -tau(x), and its interval is the mirror image."""
    x, y = columns(pairs)
    low, value, high = ends(kendall(x, y))

    assert ends(kendall(-x, y)) == pytest.approx((-high, -value, -low), abs=1e-9)


@quick
@given(pairs=PAIRS)
def test_scores_and_ratings_may_change_places(pairs: list[tuple[int, int]]) -> None:
    """Agreement is mutual."""
    x, y = columns(pairs)

    assert ends(kendall(y, x)) == pytest.approx(ends(kendall(x, y)), abs=1e-9)


def test_unscored_items_are_left_out() -> None:
    """A NaN on either side takes its item out of the estimate."""
    x, y = np.random.default_rng(2).normal(size=(2, 50))

    estimate = kendall([*x, 9.0, math.nan, math.nan], [*y, math.nan, 9.0, math.nan])

    assert estimate == kendall(x, y)


# Planted agreement


@pytest.mark.parametrize(("planted", "expected"), [(+1, Verdict.PASS), (-1, Verdict.FAIL)])
def test_planted_agreement_is_found(planted: int, expected: Verdict) -> None:
    """A noisy copy of the ratings passes "above 0.2", a noisy reversal fails."""
    noise = np.random.default_rng(3).normal(size=200)
    human = np.linspace(-2, 2, 200)

    assert above(0.2, unit=UNIT).judge(kendall(planted * human + noise, human)) is expected


def coverage(*, r: float, claimed: float) -> int:
    """How many of 60 samples of 200 correlated normals have `claimed` in their interval."""
    hits = 0
    for seed in range(60):
        x, noise = np.random.default_rng(seed).normal(size=(2, 200))
        estimate = kendall(x, r * x + math.sqrt(1 - r * r) * noise)
        hits += estimate.low <= claimed <= estimate.high
    return hits


@pytest.mark.parametrize("r", [-0.8, 0.0, 0.5])
def test_the_interval_covers_the_true_tau(r: float) -> None:
    """Normals with correlation r have tau = 2/π · asin(r); about 95 % of intervals cover it."""
    # P(X < 51) < 1e-3 for X ~ B(60, 0.95); the seeds are fixed
    assert coverage(r=r, claimed=2 / math.pi * math.asin(r)) >= 51


def test_the_interval_is_not_wider_than_it_need_be() -> None:
    """In the mean its half width is 1.96 times the spread of the estimates it is for."""
    estimates = []
    for seed in range(200):
        x, noise = np.random.default_rng(seed).normal(size=(2, 100))
        estimates.append(kendall(x, 0.5 * x + noise))

    spread = float(np.std([estimate.value for estimate in estimates], ddof=1))
    half = float(np.mean([(estimate.high - estimate.low) / 2 for estimate in estimates]))
    assert half == pytest.approx(1.96 * spread, rel=0.15)


@pytest.mark.parametrize(("r", "claimed"), [(0.0, 1 / 3), (0.5, 0.0), (0.5, 0.5)])
def test_the_check_of_the_coverage_can_fail(r: float, claimed: float) -> None:
    """A tau that is not the true one (0.5 is r, not tau) is covered seldom."""
    assert coverage(r=r, claimed=claimed) < 30


# What cannot be measured


def test_too_few_items_are_refused() -> None:
    """One item fewer than `FEWEST`: the error has the count and what is needed."""
    with pytest.raises(MeasureError) as caught:
        kendall(range(FEWEST - 1), range(FEWEST - 1))

    expected = "Kendall's tau needs 30 items that differ on both sides, got 29 items"
    assert str(caught.value) == expected


def test_the_fewest_items_are_enough() -> None:
    """At `FEWEST` items there is an estimate."""
    assert kendall(range(FEWEST), range(FEWEST)).n == FEWEST


def test_unscored_items_do_not_make_up_the_number() -> None:
    """Thirty items of which one is NaN are twenty-nine."""
    with pytest.raises(MeasureError, match="got 29 items"):
        kendall([*range(29), math.nan], range(30))


@pytest.mark.parametrize(
    ("scores", "human"), list(product([[1.0] * 40, list(range(40))], [[2.0] * 40]))
)
def test_equal_ratings_are_refused(scores: list[float], human: list[float]) -> None:
    """Where people call everything equal there is no order to agree with."""
    with pytest.raises(MeasureError) as caught:
        kendall(scores, human)

    expected = "Kendall's tau needs 30 items that differ on both sides, got 40 items"
    assert str(caught.value) == expected


def test_equal_scores_are_refused() -> None:
    """A model that says the same of everything ranks nothing."""
    with pytest.raises(MeasureError, match="that differ on both sides, got 40 items"):
        kendall([1.0] * 40, range(40))


def test_sides_of_different_lengths_are_refused() -> None:
    """Scores and ratings are of the same items."""
    with pytest.raises(ValueError, match="same length"):
        kendall(range(40), range(41))


def test_tau_of_exactly_0_still_has_an_interval() -> None:
    """Undecided is not certain: 32 items in an order of tau 0 have a wide interval."""
    estimate = kendall(np.random.default_rng(260).permutation(32), range(32))

    assert estimate.value == 0
    assert estimate.low < -0.1 < 0.1 < estimate.high


def test_an_infinite_score_is_refused() -> None:
    """An infinity is no reward, and no wide interval."""
    with pytest.raises(MeasureError, match="an infinity is no reward"):
        kendall([math.inf, *range(39)], range(40))
