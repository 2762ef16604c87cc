"""Errors of ratings and weights by hand; the ceiling of tau by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.ranks_and_ratings import standard_errors, tau_and_ceiling

RNG = np.random.default_rng


def test_the_error_of_a_rating_by_hand() -> None:
    """Among equals p(1 - p) is 1/4: 16 matches leave 400 / ln 10 / √(16 / 4) points."""
    errors = standard_errors(np.full(40, 1200.0), np.array([16.0] * 20 + [64.0] * 20))

    assert errors[0] == pytest.approx(400 / math.log(10) / 2)
    assert errors[-1] == pytest.approx(400 / math.log(10) / 4)


def test_one_sided_matches_tell_less() -> None:
    """Half of the opponents 800 points above: their p(1 - p) is 100/101², so the mean is 0.13."""
    elo = np.repeat([800.0, 1600.0], 20)

    errors = standard_errors(elo, np.full(40, 16.0))

    mean = (0.25 + 100 / 101**2) / 2
    assert errors == pytest.approx(np.full(40, 400 / math.log(10) / math.sqrt(16 * mean)), rel=0.03)


def test_the_error_is_that_of_fitted_ratings() -> None:
    """Maximum likelihood over drawn matches varies as the formula says (within a tenth)."""
    # One item of rating 1300 against opponents at 1200 of known rating; 200 drawn tournaments.
    matches, true, opponent = 400, 1300.0, 1200.0
    p = 1 / (1 + 10 ** ((opponent - true) / 400))
    wins = RNG(0).binomial(matches, p, size=4000) / matches
    fitted = opponent + 400 * np.log10(wins / (1 - wins))
    elo = np.full(101, opponent)
    elo[0] = true

    (error, *_) = standard_errors(elo, np.full(101, float(matches)))

    assert error == pytest.approx(float(fitted.std()), rel=0.1)


def test_no_match_is_no_rating() -> None:
    """What was never compared has no error, and is refused."""
    with pytest.raises(MeasureError, match=r"^a rating needs at least 1 match, found 0; leave out"):
        standard_errors(np.arange(3.0), np.array([4.0, 0.0, 2.0]))


def test_weighted_tau_by_hand() -> None:
    """Three items; the pair that the scores have wrong is hardly known, so it hardly counts."""
    # Their differences 1, 6 and 5 have the errors √(3² + 4²) = 5, 3 and 4.
    elo, errors = np.array([0.0, 1.0, 6.0]), np.array([3.0, 4.0, 0.0])
    e = 2 * stats.norm.cdf([1 / 5, 6 / 3, 5 / 4]) - 1  # pairs 01, 02, 12

    tau, ceiling = tau_and_ceiling(np.array([1.0, 0.0, 2.0]), elo, errors, RNG(0))

    assert ceiling == pytest.approx(e.mean())
    assert tau == pytest.approx((-e[0] + e[1] + e[2]) / e.sum())


@pytest.mark.parametrize("n", [2, 7, 8, 60])
def test_weighted_tau_is_that_of_all_pairs(n: int) -> None:
    """Every pair once, also where half a turn meets each twice; tied scores as in tau-b."""
    scores = RNG(n).integers(5, size=n).astype(float)
    scores[:2] = 0, 1  # not all equal
    elo, errors = RNG(n + 1).normal(size=n), RNG(n + 2).uniform(0.1, 1, size=n)
    i, j = np.triu_indices(n, 1)
    e = 2 * stats.norm.cdf((elo[i] - elo[j]) / np.hypot(errors[i], errors[j])) - 1
    sign = np.sign(scores[i] - scores[j])
    expected = (sign * e).sum() / math.sqrt(abs(e).sum() * abs(e)[sign != 0].sum())

    tau, ceiling = tau_and_ceiling(scores, elo, errors, RNG(0))

    assert (tau, ceiling) == pytest.approx((expected, abs(e).mean()))


def test_many_items_are_paired_with_some() -> None:
    """An incomplete U-statistic is close to the complete one."""
    elo, own = RNG(0).normal(size=(2, 3000))
    scores = elo + own
    tiny = np.full(3000, 1e-6)  # the order of every pair is known: tau-a, and a ceiling of 1

    tau, ceiling = tau_and_ceiling(scores, elo, tiny, RNG(0))

    assert ceiling == pytest.approx(1)
    assert tau == pytest.approx(stats.kendalltau(scores, elo).statistic, abs=0.003)


def test_the_ceiling_is_that_of_people_asked_again() -> None:
    """The tau of ratings with ratings redrawn by their errors."""
    elo = 1200 + 100 * RNG(0).normal(size=500)
    errors = standard_errors(elo, RNG(1).integers(6, 900, size=500).astype(float))
    again = [stats.kendalltau(elo, elo + errors * RNG(i).normal(size=500))[0] for i in range(40)]

    _, ceiling = tau_and_ceiling(elo, elo, errors, RNG(9))

    assert 0.7 < ceiling < 0.97  # worth the name
    assert ceiling == pytest.approx(float(np.mean(again)), abs=0.005)
