"""Numbers for people: rounded, and never onto a limit that they do not touch, or across it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.verdicts.rounded_numbers import (
    decimals_to_show,
    fixed,
    fixed_or_tiny,
    signed,
    significant,
)


@pytest.mark.parametrize(
    ("numbers", "limits", "decimals"),
    [
        ((0.499,), (0.5,), 3),
        ((0.4996,), (0.5,), 4),
        ((0.5,), (0.5,), 2),
        ((0.1 + 0.2,), (0.3,), 2),  # float64's rounding is no difference
        ((0.45, 0.4999999, 0.6), (0.5,), 7),
        ((0.2, 0.6, 0.998), (0.5, 1.0), 3),  # short of where harm begins
        ((0.3, 0.3004, 0.301), (), 4),
        ((0.499,), (float("inf"), 0.5), 3),
    ],
)
def test_decimals_by_hand(
    numbers: tuple[float, ...], limits: tuple[float, ...], decimals: int
) -> None:
    """Two, or as many as show the side of each limit, and the width."""
    assert decimals_to_show(numbers, limits) == decimals


@given(st.floats(-9, 9), st.floats(-9, 9).map(lambda x: round(x, 3)))
def test_no_number_crosses_its_limit(number: float, limit: float) -> None:
    """Neither with decimals nor with significant digits."""
    shown = fixed(number, decimals_to_show((number,), (limit,)))
    for text in (shown, significant(number, 2, limit)):
        if abs(number - limit) > 1e-10:
            assert (float(text) > limit, float(text) == limit) == (number > limit, False)
        assert float(text) == pytest.approx(number, rel=0.05, abs=0.005)


def test_signs() -> None:
    """A number that rounds to nothing has none of its own, unless it is shown in digits."""
    assert [signed(x) for x in (0.575, -0.21, -0.001, 0.0)] == ["+0.57", "-0.21", "+0.00", "+0.00"]
    tiny = [fixed_or_tiny(x, 3) for x in (8.26, 0.0, 2.4e-12, -0.00123, 0.0125)]
    assert tiny == ["8.260", "0.000", "2.4e-12", "-0.00123", "0.013"]
    assert [significant(x, 2) for x in (1.26, 0.00123, -3.0)] == ["1.3", "0.0012", "-3"]
