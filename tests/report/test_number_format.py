"""Numbers of the page: two decimals, unless two would put one on the wrong side of the bound."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.measures.differences_of_estimates import Interval
from rmaudit.report import number_format
from rmaudit.verdicts.estimates_and_bounds import Bound, above, below
from rmaudit.verdicts.findings import Finding
from tests.findings import but, estimated, found

Z95 = 1.959963984540054


def made(low: float, high: float, bound: Bound, value: float | None = None) -> Finding:
    """A finding with this interval and bound."""
    return but(found(-1, 1), estimate=estimated(low, high, value), bound=bound)


@pytest.mark.parametrize(
    ("low", "high", "bound", "value", "interval"),
    [
        (0.7072, 0.788, below(0.67, unit="sd"), "0.75", "[0.71, 0.79]"),
        (-1.4300001, -1.43, above(0, unit="sd"), "-1.43", "± < 0.01"),  # too narrow to be seen
        (-1.43, -1.43, above(0, unit="sd"), "-1.43", ""),  # an interval of no width
        (0.013, 0.103, below(0.1, unit="sd"), "0.058", "[0.013, 0.103]"),  # it crosses 0.1
        (0.0512, 0.0512, below(0.05, unit="sd"), "0.051", ""),  # it is above 0.05
        (-0.001, 0.001, below(0.5, unit="sd"), "0.000", "[-0.001, 0.001]"),
        (-0.0003, 0.0014, below(0.1, unit="sd"), "0.0006", "[-0.0003, 0.0014]"),
        (-0.002, 0.0, above(0, unit="sd"), "-0.001", "[-0.002, 0.000]"),
        (2e7, 4e7, Bound(-1, 1, "sd"), "3e+07", "[2e+07, 4e+07]"),
        (1234.0, 1236.0, above(0, unit="sd"), "1,235.00", "[1,234.00, 1,236.00]"),
    ],
)
def test_two_decimals_by_hand(
    low: float, high: float, bound: Bound, value: str, interval: str
) -> None:
    """More only where the verdict would not be seen."""
    finding = made(low, high, bound)

    assert [number_format.value(finding), number_format.interval(finding)] == [value, interval]


@given(st.floats(-9, 9), st.floats(0, 1), st.floats(-9, 9).map(lambda x: round(x, 3)))
def test_what_is_shown_is_on_the_side_where_it_is(low: float, width: float, end: float) -> None:
    """Whether a number is above or below the bound can be read, down to a millionth."""
    finding = made(low, low + width, below(end, unit="sd"))
    estimate = finding.estimate
    assert estimate is not None
    shown = float(number_format.value(finding).replace(",", ""))

    if abs(estimate.value - end) > 1e-6:
        assert (shown > end) == (estimate.value > end)
        assert shown != end
    assert shown == pytest.approx(estimate.value, abs=0.005 + 1e-9)


def test_bounds_and_numbers_beside() -> None:
    """As they were set; whole numbers as such, tiny ones so that they are not nothing."""
    assert number_format.bound_in_words(made(0, 1, above(0.5, unit="sd"))) == "must be above 0.50"
    assert (
        number_format.bound_in_words(made(0, 1, below(0.005, unit="sd"))) == "must be below 0.005"
    )
    harm = number_format.harm_in_words
    assert harm(made(0, 1, below(0.5, unit="sd", harm=1))) == ", harm from 1.00"
    assert harm(made(0, 1, below(0.5, unit="sd"))) == ""
    between = Bound(-0.2, 0.2, "sd")
    assert harm(made(0, 1, Bound(-0.2, 0.2, "sd", 0.3))) == ", harm from -0.50 or 0.50"
    assert number_format.bound_in_words(made(0, 1, between)) == "must be between -0.20 and 0.20"
    days = ("2026-11-22T09:45:51Z", "yesterday")
    assert list(map(number_format.day, days)) == ["22 Nov 2026, 09:45 UTC", "yesterday"]
    assert [number_format.number(x) for x in (7530.0, 0.125, -2.0, 2e-7)] == [
        *("7,530", "0.12", "-2", "2.0e-07"),
    ]


@pytest.mark.parametrize(
    ("bound", "given", "expected"),
    [
        (above(0.2, unit="sd"), (0.1, 0.0, 0.15), 2.0),  # 0.1 beyond; the half that faces is 0.05
        (above(0.2, unit="sd"), (0.4, 0.3, 0.9), -2.0),  # 0.2 inside; the half that faces is 0.1
        (below(0.2, unit="sd"), (0.5, 0.4, 0.9), 3.0),
        (Bound(-0.2, 0.2, "sd"), (0.1, 0.05, 0.15), -2.0),  # the nearer end counts
        (Bound(-0.2, 0.2, "sd"), (-0.3, -0.35, -0.2), 1.0),
    ],
)
def test_beyond_by_hand(bound: Bound, given: tuple[float, float, float], expected: float) -> None:
    """The distance to the nearer end over the half of the interval that faces it, times 1.96."""
    value, low, high = given

    assert number_format.standard_errors_beyond(made(low, high, bound, value)) == pytest.approx(
        expected * Z95
    )


def test_beyond_without_a_width() -> None:
    """Certainly beyond, certainly inside, and nothing to be beyond of; far is far."""
    assert number_format.standard_errors_beyond(made(0.1, 0.1, above(0.2, unit="sd"))) == math.inf
    assert number_format.standard_errors_beyond(made(0.1, 0.1, above(0, unit="sd"))) == -math.inf
    assert number_format.standard_errors_in_words(made(0.1, 0.1, above(0, unit="sd"))) == ""
    assert number_format.standard_errors_in_words(but(found(-1, 1), estimate=None)) == ""
    assert number_format.standard_errors_in_words(made(0.999, 1.001, above(0, unit="sd"))) == (
        "more than 100 standard errors inside"
    )
    assert (
        number_format.standard_errors_in_words(made(0.0, 1.0, above(1.0, unit="sd")))
        == "2.0 standard errors beyond"
    )


@pytest.mark.parametrize(
    ("measured", "shown"),
    [
        ((-0.21, -0.254, -0.17), "-0.21 [-0.25, -0.17]"),
        ((0.004, 0.001, 0.007), "+0.0040 [+0.0010, +0.0070]"),
        ((2e-7, -1e-7, 5e-7), "+2e-07 [-1e-07, +5e-07]"),
        ((0.0, 0.0, 0.0), "+0.00 [+0.00, +0.00]"),
    ],
)
def test_a_small_change_is_not_shown_as_none(
    measured: tuple[float, float, float], shown: str
) -> None:
    """Two decimals where they tell value and ends apart, else as many digits as do."""
    assert number_format.effect_in_numbers(Interval(*measured)) == shown
