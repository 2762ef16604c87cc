"""Estimates of an author's own: scipy's and statsmodels' numbers, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.clustered_estimates import difference, mean, rank_correlation

ONE = np.random.default_rng(1).normal(0.4, 1.0, 60)
OTHER = np.random.default_rng(2).normal(0.0, 2.0, 40)
STEMS = np.arange(60) // 3


def test_a_mean_over_clusters_has_the_sandwich_error() -> None:
    """With clusters it is statsmodels' cluster-robust interval with Student's t; else scipy's.

    statsmodels' correction has a factor (n - 1)/(n - 1) for one coefficient: the same.
    """
    alone, found = mean(ONE, unit="points"), mean(ONE, unit="points", clusters=STEMS)

    fit = sm.OLS(ONE, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": STEMS}, use_t=True)
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]))
    expected = stats.ttest_1samp(ONE, 0.0).confidence_interval(0.95)
    assert (alone.low, alone.high) == pytest.approx((expected.low, expected.high))
    assert (alone.value, alone.unit, alone.n) == (pytest.approx(ONE.mean()), "points", 60)


@given(st.integers(2, 5))
def test_rows_said_again_are_no_news(times: int) -> None:
    """A row that is there several times in one cluster makes no interval shorter."""
    once = mean(ONE, unit="points")
    again = mean(np.repeat(ONE, times), unit="points", clusters=np.repeat(np.arange(60), times))

    assert (again.low, again.high) == pytest.approx((once.low, once.high))


def test_a_difference_has_welchs_interval() -> None:
    """Without clusters it is scipy's, for unequal variances; with them it is of cluster sums."""
    found = difference(ONE, OTHER, unit="points")

    expected = stats.ttest_ind(ONE, OTHER, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    names = pd.Series(STEMS).astype(str), pd.Series(np.arange(40)).astype(str) + "'"
    clustered = difference(ONE, OTHER, unit="points", clusters=names)
    assert clustered.value == found.value
    assert clustered.high != found.high


@pytest.mark.slow
def test_a_rank_correlation_of_few_clusters_is_known_badly() -> None:
    """Of six, the interval holds the true one, 0, more often than a normal one, which has 0.79."""
    rng, codes = np.random.default_rng(3), np.repeat(np.arange(6), 10)
    drawn = rng.normal(size=(300, 2, 6))[:, :, codes] + 0.5 * rng.normal(size=(300, 2, 60))
    found = [rank_correlation(*sides, clusters=codes) for sides in drawn]

    assert np.mean([each.low <= 0 <= each.high for each in found]) >= 0.85


def test_a_rank_correlation_is_spearmans() -> None:
    """Its value is scipy's, its interval lies in -1 to 1, and rows said again are no news."""
    x = np.arange(30.0)
    y = x + np.random.default_rng(3).normal(0, 4, 30)

    found = rank_correlation(x, y)
    again = rank_correlation(np.repeat(x, 3), np.repeat(y, 3), clusters=np.repeat(x, 3))

    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert -1 <= found.low < found.value < found.high <= 1
    assert (again.low, again.high) == pytest.approx((found.low, found.high), abs=2e-3)
    assert rank_correlation(x, x).high == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: mean([1.0, np.nan, 2.0], unit="u"), ["1 of 3", "NaN", "unscored"]),
        (lambda: mean([1.0, -np.inf, np.nan], unit="u"), ["2 of 3", "infinite"]),
        (lambda: mean([1.0], unit="u"), ["1 values", "two clusters"]),
        (lambda: mean([], unit="u"), ["0 values"]),
        (lambda: mean([1.0, 2.0], unit="u", clusters=[1, 1]), ["2 values", "two clusters"]),
        (lambda: mean([1.0, 2.0], unit="u", clusters=[1]), ["(1,)", "(2,)"]),
        (lambda: mean([[1.0]], unit="u"), ["(1, 1)", "(n,)"]),
        (lambda: mean(["a"], unit="u"), ["no numbers"]),
        (lambda: rank_correlation([1, 2, 3], [1, 2]), ["3 values", "2"]),
        (lambda: rank_correlation([1, 1, 1], [1, 2, 3]), ["equal"]),
        (
            lambda: difference([1, 2], [3, 4], unit="u", clusters=(["a", "b"], ["b", "c"])),
            ["1 clusters", "'b'", "pairs"],
        ),
    ],
)
def test_what_no_interval_can_be_made_of_is_refused(call: object, names: list[str]) -> None:
    """NaN is unscored and never a number; what is wrong is named."""
    with pytest.raises(MeasureError) as caught:
        call()

    assert all(name in str(caught.value) for name in names), caught.value


@pytest.mark.nightly
@pytest.mark.parametrize("sizes", [[32, *[16] * 6], [16] * 5, [32, 32, *[4] * 16]], ids=str)
@pytest.mark.parametrize("sd", [0.0, 0.3, 1.0])
def test_the_interval_holds_what_few_uneven_clusters_share(sizes: list[int], sd: float) -> None:
    """In 93 to 97 of 100 draws, give or take chance, whatever they have in common."""
    rng, clusters = np.random.default_rng(11), np.repeat(np.arange(len(sizes)), sizes)
    held = 0
    for _ in range(1500):
        own = sd * rng.normal(size=len(sizes))[clusters] + rng.normal(size=len(clusters))
        found = mean(own, unit="x", clusters=clusters)
        held += found.low <= 0 <= found.high

    assert 0.92 <= held / 1500 <= 0.98
