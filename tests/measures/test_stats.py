"""What noise does to an estimate: known widths, nothing where there is none, and the measures."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from rmaudit.measures._stats import (
    NOISE,
    UNMEASURED_NOISE,
    clustered_error,
    clustered_freedom,
    ends_of_many,
    exact_share,
    least_squares,
    widened,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate

LETTERS = "abcdefghij"
WORDS = [a + b + c for a in LETTERS for b in LETTERS for c in LETTERS]
MEAN = Estimate(0.0, -3.0, 3.0, "points", 100, "made up", secondary={"other": 1.0})


def mean(scores: NDArray[np.float64]) -> float:
    """A value whose noise is known: that of the scores over √n."""
    return float(scores.mean())


def rng(seed: int = 0) -> np.random.Generator:
    """A generator."""
    return np.random.default_rng(seed)


def test_the_interval_is_widened_in_quadrature() -> None:
    """On either side by 1.96 sd of the values, which stands beside the estimate."""
    estimate = widened(MEAN, mean, np.zeros(100), 20.0, rng())

    sd = estimate.secondary[NOISE]
    end = math.hypot(3.0, 1.96 * sd)
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((-end, 0.0, end))
    assert estimate.secondary["other"] == 1.0
    assert estimate.interval == "made up, and numeric noise"


def test_the_sd_is_that_of_the_value() -> None:
    """Of a mean of 100 scores, a tenth of a score's; twenty draws tell it to a sixth or so."""
    found = [widened(MEAN, mean, np.zeros(100), 20.0, rng(i)).secondary[NOISE] for i in range(50)]

    assert np.mean(found) == pytest.approx(2.0, rel=0.1)


def test_the_scores_are_drawn_around() -> None:
    """Not around zero: what depends on them stays what it is."""
    seen: list[NDArray[np.float64]] = []

    def value_of(scores: NDArray[np.float64]) -> float:
        seen.append(scores)
        return mean(scores)

    estimate = widened(MEAN, value_of, np.arange(1000.0), 0.5, rng())

    assert estimate.secondary[NOISE] == np.std([mean(scores) for scores in seen], ddof=1)
    off = np.array(seen) - np.arange(1000.0)
    assert off.shape == (20, 1000)
    assert (off.mean(), off.std()) == pytest.approx((0.0, 0.5), abs=0.02)


def test_no_noise_draws_nothing() -> None:
    """The estimate is the very same one, and the generator is where it was."""
    generator = rng()

    assert widened(MEAN, mean, np.zeros(100), 0.0, generator) is MEAN
    assert generator.random() == rng().random()
    assert widened(MEAN, mean, np.zeros(100), 0.0, None) is MEAN


def test_no_end_leaves_the_range() -> None:
    """Of a correlation, for example."""
    estimate = widened(MEAN, mean, np.zeros(100), 20.0, rng(), within=(-3.5, 3.0))

    assert (estimate.low, estimate.high) == (-3.5, 3.0)


def test_noise_needs_a_generator() -> None:
    """Nothing is drawn from nowhere."""
    with pytest.raises(ValueError, match=r"^noise of up to 0\.5 needs a generator: give rng$"):
        widened(MEAN, mean, np.zeros(100), 0.5, None)


def test_clusters_of_one_are_no_clusters() -> None:
    """Neither the mean's error nor the regression's covariance knows numbers from rows."""
    x = rng().standard_normal((40, 3))
    y = rng(1).standard_normal(40)
    each = rng(2).permutation(40)

    assert clustered_error(y, each) == pytest.approx(clustered_error(y))
    assert clustered_error(y) == pytest.approx(y.std(ddof=1) / math.sqrt(40))
    assert least_squares(x, y, each)[1] == pytest.approx(least_squares(x, y)[1])


def test_the_covariance_is_that_of_leaving_clusters_out() -> None:
    """CR3: the sum over clusters of what the coefficients move by when one is left out."""
    x = np.column_stack([rng().standard_normal((60, 2)), np.ones(60)])
    y, clusters = rng(1).standard_normal(60), rng(2).integers(0, 12, 60)

    fitted, covariance = least_squares(x, y, clusters)

    moved = [
        np.linalg.lstsq(x[clusters != g], y[clusters != g], rcond=None)[0] - fitted
        for g in range(12)
    ]
    assert covariance == pytest.approx(sum(np.outer(m, m) for m in moved))


def test_the_freedom_of_a_variance_is_that_of_its_spread() -> None:
    """Over many draws the squared error spreads as chi-square with so many degrees of freedom."""
    draws = rng().standard_t(12, size=(2_000, 50))
    squares = np.array([clustered_error(draw) ** 2 for draw in draws])
    spread = 2 * squares.mean() ** 2 / squares.var()

    whole = clustered_freedom(draws.ravel()) / len(draws)
    assert whole == pytest.approx(spread, rel=0.15)
    assert spread < 45  # of normal draws it would be 49


def test_one_cluster_that_decides_leaves_little_freedom() -> None:
    """Its rows are summed before they count; equal ones all around leave no doubt."""
    y = np.concatenate([rng().standard_normal(500), np.full(10, 10.0)])
    clusters = np.concatenate([np.arange(500), np.full(10, 500)])
    assert clustered_freedom(y, clusters) < 3
    assert clustered_freedom(y) > 30
    assert clustered_freedom(np.tile([1.0, -1.0], 20)) == math.inf


def test_only_the_end_that_fails_is_corrected_for_many() -> None:
    """The other one is that of each value: all must lie inside the bound for a pass."""

    def intervals(level: float) -> list[tuple[float, float]]:
        return [(-level, level), (1 - level, 1 + level)]

    assert ends_of_many(10, intervals) == [(-0.995, 0.95), (1 - 0.995, 1.95)]
    assert ends_of_many(10, intervals, least=True) == [(-0.95, 0.995), (1 - 0.95, 1.995)]


def test_noise_that_nobody_measured_is_said() -> None:
    """One NaN among the scores' noises is enough, and the others still widen the interval."""
    some = np.where(np.arange(100) == 7, math.nan, 20.0)

    assert widened(MEAN, mean, np.zeros(100), math.nan, rng()).caveats == (UNMEASURED_NOISE,)
    found = widened(MEAN, mean, np.zeros(100), some, rng())
    assert found.caveats == (UNMEASURED_NOISE,)
    assert found.low < MEAN.low


@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("hits", [0, 3, 20])
def test_an_exact_share_is_that_of_scipy(hits: int, level: float) -> None:
    """Clopper and Pearson's ends, by another way to them."""
    expected = scipy.stats.binomtest(hits, 20).proportion_ci(level, method="exact")

    assert exact_share(hits, 20, level=level) == pytest.approx(
        (expected.low, hits / 20, expected.high), abs=1e-9
    )
