"""Differences of two estimates: by hand, exact where nothing differs, and as wide as need be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rmaudit.measures._stats import NOISE, clustered_error
from rmaudit.measures.differences_of_estimates import (
    GROUPS,
    Interval,
    difference,
    distance_inside,
    gain,
    grouped,
    minus,
    parts,
)
from rmaudit.verdicts.estimates_and_bounds import Bound, Estimate, above, below, between

Z = 1.959963984540054
WORDS = [f"word{i}" for i in range(2000)]


def measured(value: float, low: float, high: float, unit: str = "rho") -> Estimate:
    """An estimate with this interval."""
    return Estimate(value, low, high, unit, 9, "made up")


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    """With an interval that may be longer on one side, or have no length."""
    value, short, more = (draw(st.floats(*ends)) for ends in ((-5, 5), (0, 2), (0, 2)))
    return measured(value, value - short, value + more)


def test_the_interval_of_a_difference_by_hand() -> None:
    """Each end is made of the half widths that face it: the new lower and the old upper one."""
    found = minus(Interval(0.5, 0.2, 0.6), Interval(0.1, 0.0, 0.5))

    assert found.value == pytest.approx(0.4)
    assert found.low == pytest.approx(0.4 - math.hypot(0.3, 0.4))
    assert found.high == pytest.approx(0.4 + math.hypot(0.1, 0.1))


@pytest.mark.parametrize(
    ("bound", "value", "low", "high"),
    [
        (above(0.2, unit="rho"), 0.3, 0.2, 0.6),  # 0.5 in 0.4 to 0.8, less 0.2
        (below(0.2, unit="rho"), -0.3, -0.6, -0.2),
        (between(0.0, 1.0, unit="rho"), 0.5, 0.2, 0.5),  # most in the middle, which is inside
        (between(0.0, 0.6, unit="rho"), 0.1, -0.2, 0.2),
    ],
    ids=str,
)
def test_room_by_hand(bound: Bound, value: float, low: float, high: float) -> None:
    """The distance to the nearer end, and its range over the interval; not in another unit."""
    found = distance_inside(measured(0.5, 0.4, 0.8), bound)

    assert (found.value, found.low, found.high) == pytest.approx((value, low, high))
    with pytest.raises(ValueError, match="the bound is in 'rho', the estimate in 'tau'"):
        distance_inside(measured(0.5, 0.4, 0.8, "tau"), bound)


@given(estimates(), estimates())
def test_of_a_bound_with_one_end_the_gain_is_the_difference(old: Estimate, new: Estimate) -> None:
    """As it is above a bound, and turned round below one; where the bound is does not matter."""
    plain = minus(Interval.of(new), Interval.of(old))
    over = gain(new, old, above(0.7, unit="rho"))
    under = gain(new, old, below(-3, unit="rho"))

    expected = (plain.value, plain.low, plain.high)
    assert (over.value, over.low, over.high) == pytest.approx(expected, abs=1e-9)
    assert (-under.value, -under.high, -under.low) == pytest.approx(expected, abs=1e-9)


@given(estimates(), estimates(), st.floats(0.1, 3))
def test_a_gain_lies_in_its_interval_and_turns_round(
    old: Estimate, new: Estimate, half: float
) -> None:
    """Whatever the bound: what one direction calls better the other calls worse."""
    bound = between(-half, half, unit="rho")
    there, back = gain(new, old, bound), gain(old, new, bound)

    assert there.low <= there.value <= there.high
    assert (there.value, there.low) == pytest.approx((-back.value, -back.high), abs=1e-9)


@pytest.mark.parametrize(
    ("interval", "margin", "counts"),
    [
        (Interval(0.2, 0.1, 0.3), 0.0, True),
        (Interval(-0.2, -0.3, -0.1), 0.0, True),
        (Interval(0.2, -0.1, 0.3), 0.0, False),
        (Interval(0.2, 0.0, 0.3), 0.0, False),
        (Interval(-0.2, -0.3, 0.0), 0.0, False),
        (Interval(0.2, 0.1, 0.3), 0.2, False),
        (Interval(-0.25, -0.3, -0.1), 0.2, True),
        (Interval(0.0, 0.0, 0.0), 0.0, False),
    ],
)
def test_a_difference_counts(interval: Interval, margin: float, counts: bool) -> None:
    """If its interval excludes 0 and it is beyond the margin: both."""
    assert interval.counts(margin) is counts


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
    assert (moved.low, moved.high) == pytest.approx((0.25, 0.25))


@pytest.mark.nightly
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

    assert found.high == pytest.approx(1.96 * 0.5)
    assert difference(mean_of(values), replace(mean_of(values), parts=())) is None


@given(st.permutations(range(40)))
def test_the_order_of_words_does_not_matter(order: list[int]) -> None:
    """Groups go by names, so another vocabulary's order or another machine changes nothing."""
    values, names = np.random.default_rng(0).normal(size=40), WORDS[:40]

    mixed = parts(values[order], [names[i] for i in order])

    assert mixed == pytest.approx(parts(values, names))
    assert sum(mixed) == pytest.approx(0.0, abs=1e-9)
    assert len(grouped(values, names)) == GROUPS
