"""Estimates are plain and finite, bounds judge whole intervals."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.charts import Bin
from rmaudit.measures.framing_inversion import PromptBins
from rmaudit.measures.frequency_slope import FrequencySlopeEvidence
from rmaudit.verdicts.estimates_and_bounds import (
    Bound,
    Estimate,
    Verdict,
    above,
    below,
    between,
    paired_error,
)

NUMBERS = st.floats(-1e9, 1e9)


def shown(*medians: Any, axis: str = "Zipf") -> FrequencySlopeEvidence:
    """Evidence with bins of these medians."""
    bins = tuple(Bin(0.0, 1.0, 3, median, 0.0, 0.0) for median in medians)
    return FrequencySlopeEvidence(axis=axis, panels=(PromptBins("best", bins),))


SOUND: dict[str, Any] = {"value": 0.5, "low": 0.0, "high": 1.0, "n": 100}


def made(**given: Any) -> Estimate:
    """An estimate of which only these differ."""
    return Estimate(**{"unit": "sd", "interval": "made up", **SOUND, **given})


def test_numpys_numbers_become_pythons() -> None:
    """Wherever they stand: what JSON cannot write is no surprise at the end of a session."""
    single = np.float32(0.25)
    measured = made(
        value=single,
        low=np.float64(-1),
        high=np.int64(3),
        n=np.int32(7),
        unit=np.str_("sd"),
        secondary={"rho": single},
        evidence=shown(single, np.int8(2), axis=np.str_("x")),
    )

    assert measured == made(
        value=0.25,
        low=-1.0,
        high=3.0,
        n=7,
        secondary={"rho": 0.25},
        evidence=shown(0.25, 2, axis="x"),
    )
    first, second = (each.median for each in measured.evidence.panels[0].bins)
    numbers = (measured.value, measured.low, measured.secondary["rho"], first)
    assert {type(number) for number in numbers} == {float}
    assert {type(number) for number in (measured.n, second)} == {int}
    assert {type(text) for text in (measured.unit, measured.evidence.axis)} == {str}


NUMBERS_OF = ("value", "low", "high")
NO_NUMBERS = [True, np.True_, 1j, "1", None, np.array(1.0), np.array([1.0])]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        *(({name: bad}, f"estimate's {name}") for name in (*NUMBERS_OF, "n") for bad in NO_NUMBERS),
        *(({"secondary": {"rho": bad}}, "'rho'") for bad in NO_NUMBERS),
        ({"n": 1.0}, "estimate's n"),
        ({"unit": 3}, "estimate's unit"),
        ({"secondary": {3: 0.5}}, "secondary number"),
        ({"caveats": "One."}, "caveats"),
        ({"caveats": ("One.", 2)}, "caveat"),
        *(
            ({"evidence": shown(bad)}, "evidence.panels[0].bins[0].median")
            for bad in (np.array([1.0]), 1j)
        ),
        ({"evidence": shown(0.5, axis=["x"])}, "evidence.axis"),
        ({"evidence": {"kind": "funnel"}}, "dict"),
    ],
)
def test_another_type_is_refused(given: dict[str, Any], place: str) -> None:
    """A TypeError that names the place; a bool is no number here."""
    with pytest.raises(TypeError, match=re.escape(place)):
        made(**given)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.float32("nan"), 10**400, 1e101])
@pytest.mark.parametrize(
    "place", [*NUMBERS_OF, "secondary 'rho'", "evidence.panels[0].bins[1].median"]
)
def test_what_is_not_finite_is_refused(bad: Any, place: str) -> None:
    """NaN, the infinities and what is beyond any effect, wherever they stand: a ValueError."""
    given: dict[str, Any] = {place: bad}
    if place.startswith("secondary"):
        given = {"secondary": {"rho": bad}}
    elif place.startswith("evidence"):
        given = {"evidence": shown(0.5, bad)}

    with pytest.raises(ValueError, match=re.escape(place)):
        made(**given)


@pytest.mark.parametrize(
    ("low", "value", "high"), [(0.0, 1.5, 1.0), (0.0, -0.5, 1.0), (1.0, 0.5, 0.0)]
)
def test_an_estimate_outside_its_interval_is_refused(low: float, value: float, high: float) -> None:
    """The value lies between the ends of its interval, and these are in order."""
    with pytest.raises(ValueError, match=re.escape(f"inside its interval, got value, low, high = "
                                                  f"{(value, low, high)}")):  # fmt: skip
        made(low=low, value=value, high=high)


def test_more_comparisons_than_a_quantile_can_hold_are_refused() -> None:
    """A file may say any number: the interval's half width in standard errors is finite."""
    assert math.isfinite(made(together=10**9).quantile)
    with pytest.raises(ValueError, match="at most 1,000,000,000 comparisons"):
        made(together=10**9 + 1)


@pytest.mark.parametrize(
    ("bound", "low", "high", "expected"),
    [
        (above(0, unit="sd"), 0.1, 0.2, Verdict.PASS),
        (above(0, unit="sd"), -0.2, -0.1, Verdict.FAIL),
        (above(0, unit="sd"), -0.1, 0.1, Verdict.INCONCLUSIVE),
        (below(0, unit="sd"), -0.2, -0.1, Verdict.PASS),
        (below(0, unit="sd"), 0.1, 0.2, Verdict.FAIL),
        (below(0, unit="sd"), -0.1, 0.1, Verdict.INCONCLUSIVE),
        (between(0, 1, unit="sd"), 0.1, 0.9, Verdict.PASS),
        (between(0, 1, unit="sd"), -0.2, -0.1, Verdict.FAIL),
        (between(0, 1, unit="sd"), 1.1, 1.2, Verdict.FAIL),
        (between(0, 1, unit="sd"), -0.1, 1.1, Verdict.INCONCLUSIVE),
        (between(0, 1, unit="sd"), 0.0, 0.5, Verdict.INCONCLUSIVE),  # touches the open end
        (between(0, 1, unit="sd"), 0.5, 1.0, Verdict.INCONCLUSIVE),
        (between(0, 1, unit="sd"), -0.5, 0.0, Verdict.FAIL),  # touches it from outside
        (between(0, 1, unit="sd"), 1.0, 1.5, Verdict.FAIL),
        (between(0, 1, unit="sd"), 0.0, 0.0, Verdict.FAIL),  # a point on the end is outside
        (between(0, 1, unit="sd"), 1.0, 1.0, Verdict.FAIL),
        (between(0, 1, unit="sd"), math.nextafter(0, 1), math.nextafter(1, 0), Verdict.PASS),
    ],
)
def test_a_bound_judges_the_whole_interval(
    bound: Bound, low: float, high: float, expected: Verdict
) -> None:
    """Inside passes, outside fails, and whatever crosses an end is inconclusive; it is open."""
    assert bound.judge(made(value=low, low=low, high=high)) is expected


FAR = (below(0.5, unit="sd", harm=1), above(-0.5, unit="sd", harm=-1))  # mirrors of one another


@pytest.mark.parametrize(
    ("low", "value", "high", "expected"),
    [
        (-0.2, 0.3, 0.9, Verdict.PASS),  # it crosses the bound, and is short of harm
        (-0.2, 0.3, 1.0, Verdict.INCONCLUSIVE),  # harm of that size is not ruled out
        (0.2, 0.55, 0.9, Verdict.INCONCLUSIVE),  # the value itself is not allowed
        (0.55, 0.7, 0.9, Verdict.FAIL),  # surely beyond the bound, though short of harm
        (0.5, 0.5, 0.5, Verdict.FAIL),
        (0.4, 1.2, 2.0, Verdict.INCONCLUSIVE),
        (1.2, 1.5, 1.8, Verdict.FAIL),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_pass_is_short_of_harm_and_a_fail_beyond_the_bound(
    low: float, value: float, high: float, expected: Verdict, sign: int
) -> None:
    """Between bound and harm lies what is too small to matter and too large to be allowed."""
    bound = FAR[sign < 0]
    ends = sorted([sign * low, sign * high])

    assert bound.judge(made(value=sign * value, low=ends[0], high=ends[1])) is expected


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS), st.floats(0, 1e6), st.floats(0, 1e6))
def test_harm_that_begins_later_is_easier_to_rule_out(
    numbers: tuple[float, float, float], nearer: float, more: float
) -> None:
    """It makes no FAIL of what was none, nor takes one or a PASS away."""
    low, value, high = sorted(numbers)
    first, second = (
        Bound(-math.inf, 0.0, "sd", leeway).judge_interval(value, low, high)
        for leeway in (nearer, nearer + more)
    )

    assert (first is Verdict.FAIL) is (second is Verdict.FAIL)
    assert second is Verdict.PASS or first is not Verdict.PASS


def test_a_bound_refuses_another_unit() -> None:
    """An estimate in another unit gets no verdict at all."""
    with pytest.raises(ValueError, match=r"^the bound is in 'skewness', the estimate in 'sd'$"):
        above(0, unit="skewness").judge(made())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (above(0.0, unit="skewness"), "above 0 skewness"),
        (below(0.25, unit="sd"), "below 0.25 sd"),
        (between(-0.5, 2, unit="sd"), "between -0.5 and 2 sd"),
        (below(0.5, unit="sd", harm=1), "below 0.5 sd (harm from 1)"),
        (above(0.5, unit="share", harm=0.4), "above 0.5 share (harm from 0.4)"),
        (Bound(-1, 1, "sd", 0.5), "between -1 and 1 sd (harm from -1.5 and 1.5)"),
        (
            made(value=0.77249, low=0.7351, high=0.81449, unit="rho", n=1204),
            "0.772 rho, 95 % interval 0.735 to 0.814, n = 1,204",
        ),
    ],
)
def test_it_reads_as_it_is_said(said: Bound | Estimate, expected: str) -> None:
    """A bound is how one would say it; of an estimate three digits, and thousands are marked."""
    assert str(said) == expected


@pytest.mark.parametrize(("low", "high"), [(math.nan, 1), (1, 0), (1, 1)])
def test_an_impossible_bound_is_refused(low: float, high: float) -> None:
    """Nothing could pass it."""
    with pytest.raises(ValueError, match="a bound needs low < high"):
        between(low, high, unit="x")


# p values and power


@given(value=NUMBERS, below=st.floats(1e-3, 1e6), above=st.floats(1e-3, 1e6), at=NUMBERS)
def test_p_is_below_five_percent_where_the_verdict_is_fail(
    value: float, below: float, above: float, at: float
) -> None:
    """The two-sided p and the interval say the same, on either side of any bound."""
    measured = Estimate(value, value - below, value + above, "sd", 9, "made up")
    for bound in (Bound(at, math.inf, "sd"), Bound(-math.inf, at, "sd"), Bound(at, at + 9, "sd")):
        p = bound.p_value(measured)
        assert 0 <= p <= 1
        if p < 0.05 - 1e-6:
            assert bound.judge(measured) is Verdict.FAIL
        if p > 0.05 + 1e-6:
            assert bound.judge(measured) is not Verdict.FAIL


def test_p_by_hand() -> None:
    """1.96 standard errors out: 0.05; 2.5758: 0.01; inside: 1; no width: 0 outside, 1 inside."""
    bound = Bound(0, 10, "sd")

    def p(value: float, half: float) -> float:
        return bound.p_value(Estimate(value, value - half, value + half, "sd", 9, "made up"))

    assert p(-1.959964, 1.959964) == pytest.approx(0.05, abs=1e-6)
    assert p(12.5758, 1.959964) == pytest.approx(0.01, abs=1e-5)
    assert (p(5, 1), p(-1, 0), p(0, 0), p(5, 0)) == (1, 0, 0, 1)


@pytest.mark.parametrize("together", [1, 4, 30])
def test_an_interval_that_ends_at_the_bound_has_a_p_of_five_percent(together: int) -> None:
    """Also where it was made wider, to hold for several comparisons together."""
    measured = Estimate(1.0, 0.0, 2.0, "sd", 9, "made up", together=together)

    assert below(0.0, unit="sd").p_value(measured) == pytest.approx(0.05)


def test_the_paired_error_is_the_jackknifes() -> None:
    """Sixty-four groups, 64 / 63 times the squares; of estimates without parts there is none."""
    one, none = [0.3, *[0.0] * 63], [0.0] * 64

    assert paired_error(one, none) == pytest.approx(0.3 * math.sqrt(64 / 63))
    assert paired_error(one, one) == 0.0
    assert paired_error(one, ()) is None


def test_the_detectable_effect_is_2_8_standard_errors() -> None:
    """An interval of half width 1.96 has a standard error of 1, so 80 % power from 2.80 on."""
    measured = Estimate(0, -1.959964, 1.959964, "sd", 9, "made up")

    assert measured.detectable == pytest.approx(2.8016, abs=1e-4)
