"""Paired differences: exact where nothing differs, and 95 % of them hold the true one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rmaudit.measures._stats import NOISE, clustered_error
from rmaudit.measures.difference import Interval, minus
from rmaudit.measures.paired import GROUPS, difference, grouped, parts
from rmaudit.verdicts.records import Estimate

WORDS = [f"word{i}" for i in range(2000)]


def mean_of(values: NDArray[np.float64], names: list[str] = WORDS, noise: float = 0.0) -> Estimate:
    """The mean of values, with parts."""
    value, error = float(values.mean()), clustered_error(values)
    secondary = {NOISE: noise} if noise else {}
    reach = 1.96 * error
    made = Estimate(value, value - reach, value + reach, "points", len(values), "normal", secondary)
    return replace(made, parts=parts(values, names))


def test_what_is_the_same_differs_by_nothing() -> None:
    """However uncertain each is; and by what was added to every word, to the last digit."""
    values = np.random.default_rng(0).normal(size=len(WORDS))

    same = difference(mean_of(values), mean_of(values))
    moved = difference(mean_of(values + 0.25), mean_of(values))

    assert same == Interval(0.0, 0.0, 0.0)
    assert moved is not None
    assert (moved.low, moved.high) == pytest.approx((0.25, 0.25))


@pytest.mark.slow
def test_intervals_hold_the_true_difference() -> None:
    """95 of 100, whether the two have much in common or nothing; the shorter the more they have."""
    rng = np.random.default_rng(0)
    lengths = []
    for shared in (0.0, 0.9):
        ends, draws = [], 1000
        for _ in range(draws):
            common, *own = rng.normal(size=(3, len(WORDS)))
            old, new = (np.sqrt(shared) * common + np.sqrt(1 - shared) * each for each in own)
            found = difference(mean_of(new + 0.1), mean_of(old))
            assert found is not None
            ends.append((found.low, found.high))
        held = sum(low <= 0.1 <= high for low, high in ends)
        assert 0.93 <= held / draws <= 0.97
        lengths.append(float(np.mean([high - low for low, high in ends])))
    alone = minus(Interval.of(mean_of(new)), Interval.of(mean_of(old)))
    assert lengths[0] == pytest.approx(alone.high - alone.low, rel=0.1)
    assert lengths[1] < lengths[0] / 2


def test_numeric_noise_does_not_cancel() -> None:
    """It is of each run's own."""
    values = np.random.default_rng(0).normal(size=len(WORDS))

    found = difference(mean_of(values, noise=0.3), mean_of(values, noise=0.4))

    assert found is not None
    assert found.high == pytest.approx(1.96 * 0.5)


def test_without_parts_there_is_no_pair() -> None:
    """An audit of one's own may keep none."""
    made = mean_of(np.arange(2000.0))

    assert difference(made, replace(made, parts=())) is None


@given(st.permutations(range(40)))
def test_the_order_of_words_does_not_matter(order: list[int]) -> None:
    """Groups go by names, so another vocabulary's order or another machine changes nothing."""
    values, names = np.random.default_rng(0).normal(size=40), WORDS[:40]

    mixed = parts(values[order], [names[i] for i in order])

    assert mixed == pytest.approx(parts(values, names))
    assert sum(mixed) == pytest.approx(0.0, abs=1e-9)
    assert len(grouped(values, names)) == GROUPS
