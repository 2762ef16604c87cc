"""Differences of two estimates: by hand, and how often their intervals hold what is true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.measures.difference import Interval, gain, minus, room
from rmaudit.verdicts.records import Bound, Estimate, above, below, between

Z = 1.959963984540054


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
    ("correlation", "lowest", "highest"), [(0.0, 0.94, 0.96), (0.8, 0.995, 1.0)]
)
def test_the_interval_holds_the_true_difference(
    correlation: float, lowest: float, highest: float
) -> None:
    """In 95 of 100 of independent estimates; of those that err together more often, not less."""
    rng, errors = np.random.default_rng(3), (0.3, 0.1)
    shared = math.sqrt(correlation)
    held = 0
    for _ in range(5000):
        common = rng.normal()
        drawn = [
            value + error * (shared * common + math.sqrt(1 - correlation) * rng.normal())
            for value, error in zip((1.0, 0.4), errors, strict=True)
        ]
        new, old = (
            Interval(value, value - Z * error, value + Z * error)
            for value, error in zip(drawn, errors, strict=True)
        )
        found = minus(new, old)
        held += found.low <= 1.0 - 0.4 <= found.high

    assert lowest <= held / 5000 <= highest


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
    """The distance to the nearer end, and its range over the interval."""
    found = room(measured(0.5, 0.4, 0.8), bound)

    assert (found.value, found.low, found.high) == pytest.approx((value, low, high))


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


def test_crossing_the_middle_of_a_bound_is_no_gain_by_itself() -> None:
    """From -0.2 to +0.25 inside of -0.3 to 0.3 is 0.05 less room, not 0.45 more."""
    old, new = measured(-0.2, -0.22, -0.18), measured(0.25, 0.23, 0.27)

    assert gain(new, old, between(-0.3, 0.3, unit="rho")).value == pytest.approx(-0.05)


def test_another_unit_is_refused() -> None:
    """Not compared as if it were the bound's."""
    with pytest.raises(ValueError, match="the bound is in 'rho', the estimate in 'tau'"):
        gain(measured(1, 0, 2, "tau"), measured(1, 0, 2), above(0, unit="rho"))


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
