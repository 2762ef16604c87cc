"""Estimates are finite, bounds judge whole intervals, findings survive the trip through JSON."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rmaudit.verdicts.records import Bound, Estimate, Finding, Verdict, above, below, between

NUMBERS = st.floats(-1e9, 1e9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def estimate(low: float, value: float, high: float, *, unit: str = "sd") -> Estimate:
    """An estimate of which only the numbers matter."""
    return Estimate(value=value, low=low, high=high, unit=unit, n=100, interval="made up")


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    """Any estimate: its three numbers in order, all else free."""
    low, value, high = sorted(draw(st.tuples(NUMBERS, NUMBERS, NUMBERS)))
    return Estimate(
        value=value,
        low=low,
        high=high,
        unit=draw(st.text(max_size=5)),
        n=draw(st.integers(0, 10**6)),
        interval=draw(st.text(max_size=5)),
        secondary=draw(st.dictionaries(st.text(max_size=5), NUMBERS, max_size=3)),
        caveats=tuple(draw(st.lists(st.text(max_size=5), max_size=3))),
        evidence=draw(st.dictionaries(st.text(max_size=5), JSON, max_size=3)),
    )


FINDINGS = st.builds(
    Finding,
    audit=st.text(max_size=5),
    nodeid=st.text(max_size=5),
    claim=st.text(max_size=5),
    source=st.text(max_size=5),
    base_rate=st.text(max_size=5),
    bound=st.text(max_size=5),
    model=st.text(max_size=5),
    prompt=st.text(max_size=5),
    verdict=st.sampled_from(Verdict),
    estimate=st.none() | estimates(),
    reason=st.text(max_size=5),
    known=st.text(max_size=5),
    sweeps=st.lists(st.text(max_size=5), max_size=3).map(tuple),
)


# Estimates


@pytest.mark.parametrize(
    ("low", "value", "high", "shown"),
    [
        (0.0, math.nan, 1.0, "(nan, 0.0, 1.0)"),
        (math.nan, 0.5, 1.0, "(0.5, nan, 1.0)"),
        (0.0, 0.5, math.nan, "(0.5, 0.0, nan)"),
        (0.0, math.inf, math.inf, "(inf, 0.0, inf)"),
        (-math.inf, 0.5, 1.0, "(0.5, -inf, 1.0)"),
        (0.0, 0.5, math.inf, "(0.5, 0.0, inf)"),
    ],
)
def test_an_estimate_that_is_no_number_is_refused(
    low: float, value: float, high: float, shown: str
) -> None:
    """NaN and the infinities never become an estimate, wherever they stand."""
    with pytest.raises(ValueError, match="finite") as caught:
        estimate(low, value, high)

    assert str(caught.value) == f"an estimate needs finite numbers, got value, low, high = {shown}"


@pytest.mark.parametrize(("low", "value", "high"), [(0.0, 1.5, 1.0), (0.0, -0.5, 1.0), (1, 0.5, 0)])
def test_an_estimate_outside_its_interval_is_refused(low: float, value: float, high: float) -> None:
    """The value lies between the ends of its interval, and these are in order."""
    with pytest.raises(ValueError, match="inside its interval") as caught:
        estimate(low, value, high)

    expected = f"an estimate must lie inside its interval, got {(value, low, high)}"
    assert str(caught.value) == expected


def test_an_estimate_may_lie_on_either_end_of_its_interval() -> None:
    """The interval is closed, down to a single point."""
    assert estimate(1.0, 1.0, 2.0).low == estimate(0.0, 1.0, 1.0).high
    assert estimate(1.0, 1.0, 1.0).value == 1.0


def test_an_estimate_reads_as_one_line() -> None:
    """Three digits, the unit, the interval, and the count with its thousands marked."""
    measured = Estimate(
        value=0.77249, low=0.7351, high=0.81449, unit="Spearman's rho", n=1204, interval="x"
    )

    assert str(measured) == "0.772 Spearman's rho, 95 % interval 0.735 to 0.814, n = 1,204"


# Bounds


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
        (between(0, 1, unit="sd"), -0.1, 0.1, Verdict.INCONCLUSIVE),
        (between(0, 1, unit="sd"), 0.9, 1.1, Verdict.INCONCLUSIVE),
        (between(0, 1, unit="sd"), -0.1, 1.1, Verdict.INCONCLUSIVE),
    ],
)
def test_a_bound_judges_the_whole_interval(
    bound: Bound, low: float, high: float, expected: Verdict
) -> None:
    """Inside passes, outside fails, and whatever straddles an end is inconclusive."""
    verdict = bound.judge(estimate(low, (low + high) / 2, high))

    assert verdict is expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 0.5, Verdict.INCONCLUSIVE),  # touches the open end: not inside
        (0.5, 1.0, Verdict.INCONCLUSIVE),
        (0.0, 1.0, Verdict.INCONCLUSIVE),
        (-0.5, 0.0, Verdict.FAIL),  # touches it from outside: wholly outside
        (1.0, 1.5, Verdict.FAIL),
        (0.0, 0.0, Verdict.FAIL),  # a point on the end is outside the open range
        (1.0, 1.0, Verdict.FAIL),
        (math.nextafter(0, 1), math.nextafter(1, 0), Verdict.PASS),
    ],
)
def test_a_bound_is_open(low: float, high: float, expected: Verdict) -> None:
    """The end itself does not pass, the next number inside it does."""
    verdict = between(0, 1, unit="sd").judge(estimate(low, low, high))

    assert verdict is expected


@given(
    ends=st.tuples(NUMBERS, NUMBERS).map(sorted),
    interval=st.tuples(NUMBERS, NUMBERS).map(sorted),
    share=st.floats(0, 1),
)
def test_a_verdict_holds_for_every_point_of_the_interval(
    ends: list[float], interval: list[float], share: float
) -> None:
    """A pass has only points inside the bound, a failure has only points outside."""
    (least, most), (low, high) = ends, interval
    assume(least < most)
    point = min(max(low + share * (high - low), low), high)

    verdict = between(least, most, unit="sd").judge(estimate(low, low, high))

    allowed = Verdict.PASS if least < point < most else Verdict.FAIL
    assert verdict in {allowed, Verdict.INCONCLUSIVE}


@given(low=NUMBERS, high=NUMBERS, end=NUMBERS)
def test_above_and_below_are_mirror_images(low: float, high: float, end: float) -> None:
    """Turning all signs round turns `above` into `below` and changes no verdict."""
    low, high = sorted((low, high))

    verdict = above(end, unit="sd").judge(estimate(low, low, high))

    assert verdict is below(-end, unit="sd").judge(estimate(-high, -low, -low))


def test_a_bound_refuses_another_unit() -> None:
    """An estimate in another unit gets no verdict at all."""
    with pytest.raises(ValueError, match="the bound is in") as caught:
        above(0, unit="skewness").judge(estimate(1, 1, 1, unit="Kendall's tau-b"))

    expected = "the bound is in 'skewness', the estimate in \"Kendall's tau-b\""
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (above(0.0, unit="skewness"), "above 0 skewness"),
        (below(0.25, unit="sd"), "below 0.25 sd"),
        (between(-0.5, 2, unit="sd"), "between -0.5 and 2 sd"),
    ],
)
def test_a_bound_reads_as_it_is_said(bound: Bound, expected: str) -> None:
    """The text of a bound is how one would say it."""
    assert str(bound) == expected


# Findings


@given(finding=FINDINGS)
def test_a_finding_survives_json(finding: Finding) -> None:
    """What crosses processes as JSON text comes back equal."""
    text = json.dumps(finding.to_json(), allow_nan=False)

    assert Finding.from_json(json.loads(text)) == finding


@given(finding=FINDINGS)
def test_a_finding_comes_back_as_its_own_types(finding: Finding) -> None:
    """A verdict is a Verdict again, and what was a tuple is one again."""
    back = Finding.from_json(json.loads(json.dumps(finding.to_json())))

    assert isinstance(back.verdict, Verdict)
    assert isinstance(back.sweeps, tuple)
    assert back.estimate is None or isinstance(back.estimate.caveats, tuple)


def test_the_json_of_a_finding_names_every_field() -> None:
    """The keys are the fields, and the verdict is its plain text."""
    finding = Finding("a", "n", "c", "s", "b", "above 0 sd", "m", "best", Verdict.PASS)

    assert finding.to_json() == {
        "audit": "a",
        "nodeid": "n",
        "claim": "c",
        "source": "s",
        "base_rate": "b",
        "bound": "above 0 sd",
        "model": "m",
        "prompt": "best",
        "verdict": "PASS",
        "estimate": None,
        "reason": "",
        "known": "",
        "repeat": "",
        "sweeps": (),
        "bound_low": None,
        "bound_high": None,
        "severity": "gate",
        "detectable": None,
        "p": None,
        "p_holm": None,
        "controls": {},
        "band": {},
        "band_on": "",
        "overridden": {},
        "waiver": {},
        "blocks": False,
        "limits": (),
    }
    assert type(finding.to_json()["verdict"]) is str


def test_reading_a_finding_leaves_its_json_alone() -> None:
    """`from_json` builds from a copy."""
    finding = Finding(
        "a", "n", "c", "s", "b", "above 0 sd", "m", "best", Verdict.PASS, estimate(0, 1, 2)
    )
    data = json.loads(json.dumps(finding.to_json()))
    before = json.dumps(data)

    Finding.from_json(data)

    assert json.dumps(data) == before


def test_the_json_of_another_shape_is_refused() -> None:
    """A field that no finding has is an error, not a loss."""
    data = Finding("a", "n", "c", "s", "b", "", "m", "best", Verdict.PASS).to_json()

    with pytest.raises(TypeError, match="weight"):
        Finding.from_json(data | {"weight": "high"})


def test_an_unknown_verdict_is_refused() -> None:
    """A verdict outside the five is an error that shows it."""
    data = Finding("a", "n", "c", "s", "b", "", "m", "best", Verdict.PASS).to_json()

    with pytest.raises(ValueError, match="'MAYBE' is not a valid Verdict"):
        Finding.from_json(data | {"verdict": "MAYBE"})


def test_a_nan_beside_an_estimate_is_refused() -> None:
    """It would break the run's results.json."""
    with pytest.raises(ValueError, match="finite secondary numbers, 'rho' is not"):
        Estimate(0, 0, 0, "sd", 1, "x", secondary={"rho": math.nan})


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


def test_the_detectable_effect_is_2_8_standard_errors() -> None:
    """An interval of half width 1.96 has a standard error of 1, so 80 % power from 2.80 on."""
    measured = Estimate(0, -1.959964, 1.959964, "sd", 9, "made up")

    assert measured.detectable == pytest.approx(2.8016, abs=1e-4)
