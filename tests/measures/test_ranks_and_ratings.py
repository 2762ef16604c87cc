"""Errors of ratings by hand; the weighted tau, and its ceiling, as of all pairs."""

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


def test_no_match_is_no_rating() -> None:
    """What was never compared has no error, and is refused."""
    with pytest.raises(MeasureError, match=r"^a rating needs at least 1 match, found 0; leave out"):
        standard_errors(np.arange(3.0), np.array([4.0, 0.0, 2.0]))


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
