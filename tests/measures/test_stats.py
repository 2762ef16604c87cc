"""What noise does to an estimate: known widths, nothing where there is none, and the measures."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray
from statsmodels.robust.scale import Huber

from rmaudit.measures._stats import (
    NOISE,
    UNMEASURED_NOISE,
    clustered_error,
    clustered_freedom,
    ends_of_greatest,
    ends_of_many,
    exact_share,
    least_squares,
    robust_spread,
    widened,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate

RNG = np.random.default_rng
MEAN = Estimate(0.0, -3.0, 3.0, "points", 100, "made up", secondary={"other": 1.0})


def mean(scores: NDArray[np.float64]) -> float:
    """A value whose noise is known: that of the scores over √n."""
    return float(scores.mean())


def test_the_interval_is_widened_in_quadrature() -> None:
    """By 1.96 sd of the values, a tenth of a score's for a mean of 100; no end leaves its range."""
    found = [widened(MEAN, mean, np.zeros(100), 20.0, RNG(seed)) for seed in range(50)]

    for estimate in found:
        end = math.hypot(3.0, 1.96 * estimate.secondary[NOISE])
        assert (estimate.low, estimate.value, estimate.high) == pytest.approx((-end, 0.0, end))
    assert np.mean([estimate.secondary[NOISE] for estimate in found]) == pytest.approx(2.0, rel=0.1)
    assert found[0].secondary["other"] == 1.0
    assert found[0].interval == "made up, and numeric noise"
    held = widened(MEAN, mean, np.zeros(100), 20.0, RNG(0), within=(-3.5, 3.0))
    assert (held.low, held.high) == (-3.5, 3.0)


def test_the_scores_are_drawn_around() -> None:
    """Not around zero: what depends on them stays what it is."""
    seen: list[NDArray[np.float64]] = []

    def value_of(scores: NDArray[np.float64]) -> float:
        seen.append(scores)
        return mean(scores)

    estimate = widened(MEAN, value_of, np.arange(1000.0), 0.5, RNG(0))

    assert estimate.secondary[NOISE] == np.std([mean(scores) for scores in seen], ddof=1)
    off = np.array(seen) - np.arange(1000.0)
    assert off.shape == (20, 1000)
    assert (off.mean(), off.std()) == pytest.approx((0.0, 0.5), abs=0.02)


def test_no_noise_draws_nothing() -> None:
    """The estimate is the very same one, and the generator is where it was."""
    generator = RNG(0)

    assert widened(MEAN, mean, np.zeros(100), 0.0, generator) is MEAN
    assert generator.random() == RNG(0).random()
    assert widened(MEAN, mean, np.zeros(100), 0.0, None) is MEAN


def test_noise_needs_a_generator() -> None:
    """Nothing is drawn from nowhere."""
    with pytest.raises(ValueError, match=r"^noise of up to 0\.5 needs a generator: give rng$"):
        widened(MEAN, mean, np.zeros(100), 0.5, None)


def test_the_covariance_is_that_of_leaving_clusters_out() -> None:
    """CR3: the sum over clusters of what the coefficients move by when one is left out.

    Clusters of one row are no clusters, of a mean neither.
    """
    x = np.column_stack([RNG(0).standard_normal((60, 2)), np.ones(60)])
    y, alone = RNG(1).standard_normal(60), RNG(2).permutation(60)

    for clusters in (RNG(2).integers(0, 12, 60), alone):
        fitted, covariance = least_squares(x, y, clusters)
        kept = [clusters != each for each in np.unique(clusters)]
        moved = [np.linalg.lstsq(x[one], y[one], rcond=None)[0] - fitted for one in kept]
        assert covariance == pytest.approx(sum(np.outer(each, each) for each in moved))
    assert least_squares(x, y)[1] == pytest.approx(covariance)
    assert clustered_error(y, alone) == pytest.approx(clustered_error(y))
    assert clustered_error(y) == pytest.approx(y.std(ddof=1) / math.sqrt(60))


def test_the_freedom_of_a_variance_is_that_of_its_spread() -> None:
    """Over many draws the squared error spreads as chi-square with so many degrees of freedom."""
    draws = RNG(0).standard_t(12, size=(2_000, 50))
    squares = np.array([clustered_error(draw) ** 2 for draw in draws])
    spread = 2 * squares.mean() ** 2 / squares.var()

    whole = clustered_freedom(draws.ravel()) / len(draws)
    assert whole == pytest.approx(spread, rel=0.15)
    assert spread < 45  # of normal draws it would be 49


def test_one_cluster_that_decides_leaves_little_freedom() -> None:
    """Its rows are summed before they count; equal ones all around leave no doubt."""
    y = np.concatenate([RNG(0).standard_normal(500), np.full(10, 10.0)])
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


def test_values_that_cannot_be_the_greatest_need_no_correction() -> None:
    """Two of three intervals reach the highest lower end; alone above all, a value has its own."""

    def around(*values: float) -> tuple[list[tuple[float, float]], int]:
        return ends_of_greatest(lambda level: [(value - level, value + level) for value in values])

    ends, many = around(0.0, 3.0, 4.0)
    assert many == 2
    assert ends == [(-0.975, 0.95), (3.0 - 0.975, 3.95), (4.0 - 0.975, 4.95)]
    assert around(0.0, 1.0, 4.0)[0][2] == (4.0 - 0.95, 4.95)


def test_noise_that_nobody_measured_is_said() -> None:
    """One NaN among the scores' noises is enough, and the others still widen the interval."""
    some = np.where(np.arange(100) == 7, math.nan, 20.0)

    assert widened(MEAN, mean, np.zeros(100), math.nan, RNG(0)).caveats == (UNMEASURED_NOISE,)
    found = widened(MEAN, mean, np.zeros(100), some, RNG(0))
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


@pytest.mark.parametrize("outlier", [1.0, 40.0])
def test_a_robust_spread_is_hubers(outlier: float) -> None:
    """As statsmodels' proposal 2 has it; one outlier of sixty moves it by less than a tenth."""
    drawn = np.random.default_rng(3).normal(size=60) * 2
    drawn[7] = outlier

    found, _ = robust_spread(drawn)

    _, expected = Huber(c=1.5, tol=1e-10, maxiter=200)(drawn, mu=np.zeros(1))
    assert found == pytest.approx(float(expected.item()), rel=1e-6)
    assert found == pytest.approx(robust_spread(np.delete(drawn, 7))[0], rel=0.1)


def test_a_robust_spread_has_the_error_of_the_jackknife() -> None:
    """Influences say how the logarithm moves if a distance is left out, outliers too."""
    drawn = np.random.default_rng(4).standard_t(3, size=300)

    found, influence = robust_spread(drawn)
    left = [math.log(robust_spread(np.delete(drawn, i))[0]) for i in range(len(drawn))]

    moved = (math.log(found) - np.array(left)) * (len(drawn) - 1)
    assert moved == pytest.approx(influence, abs=0.05)
    assert influence.mean() == pytest.approx(0)


def test_no_spread_of_equal_values() -> None:
    """It is unknown, and not 0, where nearly all distances are 0."""
    assert math.isnan(robust_spread(np.array([0.0, 0.0, 0.0, 1.0]))[0])
    assert robust_spread(np.array([0.0, 1.0, 1.0, 1.0]))[0] > 0
