"""Rank correlations are scipy's; their errors are those of the jackknife."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats

from rmaudit.measures.rank_correlation import (
    concordances,
    influences,
    kendall_error,
    partial_spearman,
    spearman,
)

SMALL = arrays(np.float64, st.integers(4, 40), elements=st.integers(-4, 4).map(float))


def three(rng: np.random.Generator, n: int = 200, levels: int = 0) -> list[NDArray[np.float64]]:
    """x, y and z that go together, in `levels` whole steps per unit if any."""
    z = rng.normal(size=n)
    x = 0.5 * z + rng.normal(size=n)
    y = 0.6 * x + 0.4 * z + rng.normal(size=n)
    return [np.round(levels * side) if levels else side for side in (x, y, z)]


@given(x=SMALL, seed=st.integers(0, 99))
def test_rho_is_scipys(x: NDArray[np.float64], seed: int) -> None:
    """With ties too; the influences have mean 0."""
    y = np.random.default_rng(seed).integers(-3, 3, size=len(x)).astype(float)
    assume(np.ptp(x) and np.ptp(y))

    rho, influence = influences(x, y)

    assert rho == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert influence.mean() == pytest.approx(0, abs=1e-12)


def test_influences_are_those_of_the_jackknife() -> None:
    """An influence is what rho loses without a row, n - 1 times; also where most values tie."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, 200).astype(float)
    y = np.round(x / 2 + rng.normal(size=200))
    rho, influence = influences(x, y)
    without = np.array([stats.spearmanr(np.delete(x, i), np.delete(y, i))[0] for i in range(200)])

    lost = 199 * (rho - without)
    assert influence == pytest.approx(lost - lost.mean(), abs=0.02)


@pytest.mark.parametrize("levels", [0, 2], ids=["untied", "tied"])
def test_errors_are_those_of_the_jackknife(levels: int) -> None:
    """Each row left out in turn and all ranked anew, with nothing, one or two held fixed."""
    x, y, z = three(np.random.default_rng(1), levels=levels)
    n = len(x)
    for held in (np.empty((n, 0)), z[:, None], np.column_stack([z, np.abs(z)])):
        kept = [np.arange(n) != i for i in range(n)]
        without = [partial_spearman(x[rows], y[rows], held[rows])[0] for rows in kept]
        error = partial_spearman(x, y, held)[1]
        assert error == pytest.approx(math.sqrt(n - 1) * np.std(without), rel=0.06)
    assert spearman(x, y) == pytest.approx(partial_spearman(x, y, np.empty((n, 0))))


def test_several_may_be_held_fixed() -> None:
    """As the residuals of a regression on all of them have it, also on one of them twice."""
    rng = np.random.default_rng(3)
    x, y, z = three(rng)
    held = np.column_stack([z, x + rng.normal(size=len(x)), np.round(y), z])
    ranks = stats.rankdata(np.column_stack([x, y, held]), axis=0)
    fixed = np.column_stack([np.ones(len(x)), ranks[:, 2:]])
    left = ranks[:, :2] - fixed @ np.linalg.lstsq(fixed, ranks[:, :2], rcond=None)[0]

    value, _ = partial_spearman(x, y, held)

    assert value == pytest.approx(np.corrcoef(left.T)[0, 1], abs=1e-9)
    assert partial_spearman(x, x, held) == pytest.approx((1, 0), abs=1e-9)


@given(seed=st.integers(0, 99))
def test_no_monotone_scale_matters_and_a_negative_one_turns_the_sign(seed: int) -> None:
    """Both the values and the errors."""
    x, y, z = three(np.random.default_rng(seed), n=30)

    assert partial_spearman(np.exp(x), y**3, z) == pytest.approx(partial_spearman(x, y, z))
    value, error = partial_spearman(x, y, z)
    assert partial_spearman(-x, y, z) == pytest.approx((-value, error))
    assert spearman(x, -y) == pytest.approx((-spearman(x, y)[0], spearman(x, y)[1]))


def test_what_is_constant_or_explained_has_no_correlation() -> None:
    """NaN, never a number."""
    x, y, z = three(np.random.default_rng(0))

    assert np.isnan(spearman(x, np.ones(len(x)))).all()
    assert np.isnan(partial_spearman(x, y, x)).all()
    assert np.isnan(partial_spearman(x, np.ones(len(x)), z)).all()


def test_the_same_order_is_1_and_its_reverse_minus_1() -> None:
    """Not a rounding more, which no estimate would take."""
    for n in range(4, 60):
        x = np.random.default_rng(n).normal(size=n)
        ends = spearman(x, -x)[0], spearman(x, x)[0]
        assert ends == pytest.approx((-1, 1))
        assert -1 <= ends[0] <= ends[1] <= 1


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-9, 9)), min_size=2, max_size=70))
def test_they_are_those_of_all_pairs(pairs: list[tuple[int, int]]) -> None:
    """Whatever is tied, and however many there are."""
    x, y = np.array(pairs, dtype=float).T
    signs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)

    assert concordances(x, y) == pytest.approx(signs.sum(axis=1) / (len(x) - 1))


def test_the_spellings_of_a_word_are_one_observation() -> None:
    """Each item twice tells no more than once, if it is said which two are one: as a jackknife."""
    x, y = np.random.default_rng(4).normal(size=(2, 200)) + np.linspace(0, 2, 200)
    once, words = kendall_error(x, y), np.repeat(np.arange(200), 2)
    without = [stats.kendalltau(*np.delete([x, y], i, axis=1)).statistic for i in range(200)]
    assert once == pytest.approx(199**0.5 * np.std(without), rel=0.02)
    x, y = np.repeat(x, 2), np.repeat(y, 2)

    assert kendall_error(x, y, words) == pytest.approx(once, rel=0.02)
    assert kendall_error(x, y) < 0.8 * once
