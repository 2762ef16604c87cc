"""Judgements: the bound, what a policy overrides and waives, what blocks a run, and Holm."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rmaudit.report.json_codec import decode, encode
from rmaudit.verdicts.decision import alone, decide, holm, measured, unmeasured
from rmaudit.verdicts.estimates_and_bounds import (
    Bound,
    Effect,
    Result,
    Severity,
    Verdict,
    above,
    below,
    between,
)
from rmaudit.verdicts.findings import AppliedWaiver, Control, Finding
from rmaudit.verdicts.verdict_policy import Ends, Policy, Rules, Waiver
from rmaudit.verdicts.verdict_wording import reasons
from tests.findings import TODAY, claim, estimated, found

LAST = date(2030, 6, 30)  # 166 days later
CORE, GATE, INFO = Severity.CORE, Severity.GATE, Severity.INFO
PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def lost(verdict: Verdict, severity: Severity = GATE) -> Finding:
    """A finding that was not measured."""
    return unmeasured(claim(severity=severity), "no data", Policy(), verdict)


def own(**said: Any) -> Policy:
    """A policy that speaks of `toy` only."""
    return Policy(models={"toy": Rules(**said)}, sources={"toy": "owner/name"})


def accepts(accepted: float, expires: date = LAST) -> Policy:
    """A policy with one waiver."""
    return own(waivers={"skew": Waiver("me", "It is small.", expires, accepted)})


@pytest.mark.parametrize(
    ("low", "high", "result", "blocked"),
    [
        (0.2, 0.4, Result.FAIL, True),
        (0.0, 0.4, Result.OPEN, False),
        (-0.2, 0.05, Result.PASS, False),
    ],
)
def test_a_gate_blocks_where_it_shows_harm_and_one_of_the_core_where_it_is_open_too(
    low: float, high: float, result: Result, *, blocked: bool
) -> None:
    """The result is the same, in results.json too, and under a looser bound; so is what informs."""
    bound = below(0.1, unit="sd")
    gate, core, info = (found(low, high, bound=bound, severity=s) for s in (GATE, CORE, INFO))
    looser = own(bounds={"skew": (-math.inf, 0.15)})

    assert {made.result for made in (gate, core, info)} == {result}
    assert (gate.blocks, core.blocks, info.blocks) == (blocked, result is not Result.PASS, False)
    assert decode(Finding, encode(gate)).result is result
    assert alone(gate, looser, TODAY).result is result
    assert gate.judgement.left_open is (result is Result.OPEN)
    assert not core.judgement.left_open


@pytest.mark.parametrize("severity", [GATE, CORE])
def test_what_is_open_is_excused_only_where_it_would_block(severity: Severity) -> None:
    """A waiver of a gate that may be open is one that nobody needs."""
    made = found(0.0, 0.4, accepts(0.3), bound=below(0.1, unit="sd"), severity=severity)

    assert made.judgement.waiver is not None
    assert made.judgement.waiver.state == ("waived" if severity is CORE else "unneeded")
    assert made.effect is (Effect.ACCEPTED if severity is CORE else Effect.NONE)


def test_models_yaml_makes_a_gate_one_of_the_core_and_back() -> None:
    """So a team says what its own releases must show."""
    gate, core = (found(0.0, 0.4, bound=below(0.1, unit="sd"), severity=s) for s in (GATE, CORE))

    assert alone(gate, own(severity={"skew": CORE}), TODAY).blocks
    assert not alone(core, own(severity={"skew": GATE}), TODAY).blocks


def test_a_failure_that_may_be_chance_blocks_whatever_the_gate() -> None:
    """What Holm's method makes of it may not stay open: it blocks, as it did alone."""
    bound = below(0.1, unit="sd")
    said = {"bound": bound, "severity": GATE}
    family = [found(0.101, 0.4, **said, audit=f"a{i}", prompt=f"p{i}") for i in range(9)]

    settled = decide(family, Policy(), TODAY)

    assert {(f.verdict, f.result, f.blocks) for f in settled} == {(INCONCLUSIVE, Result.OPEN, True)}


def test_without_parts_the_model_must_lie_beyond_the_whole_interval_of_a_passing_null() -> None:
    """For a bound from above the better side is below."""
    null = Control(PASS, True, value=0.2, low=0.1, high=0.3)

    def judged(low: float, high: float) -> Verdict:
        stated = claim(bound=below(0.5, unit="sd"))
        return measured(
            stated, estimated(low, high), Policy(), TODAY, controls={"random": null}
        ).verdict

    assert (judged(-0.4, 0.05), judged(-0.4, 0.15)) == (PASS, INCONCLUSIVE)


def test_a_measured_audit_is_judged_by_its_bound() -> None:
    """Claim, estimate and what it rests on are kept; p and power are those of the two."""
    stated, estimate = claim(), estimated(-0.3, -0.1)
    controls = {"random": Control(PASS, stops=False, value=0.1, low=0.05, high=0.2)}

    made = measured(stated, estimate, Policy(), TODAY, sweeps=("a",), controls=controls)

    assert (made.claim, made.estimate, made.sweeps) == (stated, estimate, ("a",))
    assert (made.verdict, made.controls) == (FAIL, controls)
    assert made.judgement.p == stated.bound.p_value(estimate)
    assert made.judgement.detectable == estimate.detectable


@pytest.mark.parametrize(
    ("low", "verdict", "stops", "expected", "blocked"),
    [
        (0.1, PASS, True, INCONCLUSIVE, True),
        (0.1, PASS, False, PASS, False),
        (0.1, FAIL, True, PASS, False),
        (0.1, Verdict.ERROR, True, PASS, False),
        (0.1, Verdict.SKIPPED, True, PASS, False),
        (-0.3, PASS, True, FAIL, True),
    ],
)
def test_a_pass_that_a_null_control_has_too_shows_nothing(
    low: float, verdict: Verdict, *, stops: bool, expected: Verdict, blocked: bool
) -> None:
    """It is INCONCLUSIVE and says why; a failure stays one, and says so too."""
    numbers = {PASS: (0.4, 0.3, 0.5), FAIL: (-0.4, -0.5, -0.3)}.get(verdict, ())
    value, low_end, high_end = numbers or (None, None, None)
    reason = "" if numbers else "no data"
    control = Control(verdict, stops, value, low_end, high_end, reason)

    made = measured(claim(), estimated(low, low + 0.2), Policy(), TODAY, controls={"long": control})

    assert (made.verdict, made.blocks) == (expected, blocked)
    slips = verdict is PASS and stops
    assert any("'long' (+0.40) passes it" in reason for reason in reasons(made)) is slips
    assert bool(made.judgement.reason) is (expected is INCONCLUSIVE)


def test_a_better_value_never_blocks_where_a_worse_one_is_left_open() -> None:
    """A null control makes a pass of a gate open, which may stay so; one of the core must pass."""
    control = {"long": Control(PASS, True, 0.4, 0.3, 0.5)}

    def judged(low: float, severity: Severity) -> tuple[Result, bool]:
        stated = claim(severity=severity)
        made = measured(stated, estimated(low, low + 0.2), Policy(), TODAY, controls=control)
        return made.result, made.blocks

    assert judged(0.1, GATE) == judged(-0.1, GATE) == (Result.OPEN, False)
    assert judged(0.1, CORE) == judged(-0.1, CORE) == (Result.OPEN, True)


def test_a_null_control_is_held_against_the_bound_in_force() -> None:
    """A bound that models.yaml loosens lets it through, and back where it is as declared."""
    controls = {"long": Control(PASS, True, -0.1, -0.2, 0.15)}
    made = measured(claim(), estimated(0.1, 0.3), Policy(), TODAY, controls=controls)
    loose = alone(made, own(bounds={"skew": (-1.0, math.inf)}), TODAY)
    back = alone(loose, Policy(), TODAY)

    assert (made.controls["long"].verdict, made.verdict) == (INCONCLUSIVE, PASS)
    assert (loose.controls["long"].verdict, loose.verdict) == (PASS, INCONCLUSIVE)
    assert back == made


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.SKIPPED])
def test_an_unmeasured_audit_has_a_reason_and_no_number(verdict: Verdict) -> None:
    """Nothing can be read from it, and it stays what it is under any policy; what breaks blocks."""
    gap = lost(verdict)

    assert {lost(verdict, each).blocks for each in Severity} == {verdict is Verdict.ERROR}

    assert (gap.verdict, gap.reason, gap.estimate) == (verdict, "no data", None)
    assert gap.judgement.p is gap.judgement.detectable is None
    assert alone(gap, accepts(-9), TODAY) == gap  # no waiver is of a gap
    assert alone(gap, own(severity={"skew": INFO}), TODAY).severity is INFO


@pytest.mark.parametrize(
    ("everywhere", "of_model", "expected", "source"),
    [
        ({}, {}, 0, ""),
        ({"skew": 1}, {}, 1, "skew"),
        ({"skew": 1, "skew[best]": 2}, {}, 2, "skew[best]"),
        ({"skew[best]": 2}, {"skew": 3}, 3, "toy: bounds: skew"),
        ({"skew": 1}, {"skew": 3, "skew[best]": 4}, 4, "toy: bounds: skew[best]"),
        ({"skew[worst]": 1}, {"other": 2}, 0, ""),
        ({"skew": 1}, {"skew": 0}, 0, ""),  # what the audit declares anyway
    ],
)
def test_the_models_bound_goes_before_that_of_all(
    everywhere: dict[str, float], of_model: dict[str, float], expected: float, source: str
) -> None:
    """Within each, that of the prompt; the finding says where its bound is from."""
    policy = Policy(
        everywhere=Rules(bounds={key: (low, math.inf) for key, low in everywhere.items()}),
        models={"toy": Rules(bounds={key: (low, math.inf) for key, low in of_model.items()})},
    )

    judged = found(0.5, 2.5, policy).judgement

    verdicts = {0: PASS, 1: INCONCLUSIVE, 2: INCONCLUSIVE, 3: FAIL, 4: FAIL}
    assert (judged.bound, judged.verdict) == (above(expected, unit="sd"), verdicts[int(expected)])
    assert judged.bound_by.endswith(source)
    assert judged.bound_by.startswith("models.yaml: ") == bool(source)


@pytest.mark.parametrize("bounds", [(-math.inf, 1.5), (-1, 2)])
def test_an_override_may_be_of_another_side(bounds: Ends) -> None:
    """It replaces the bound whole, p included; the declared one stays in the claim."""
    made = found(2.5, 3.5, own(bounds={"skew": bounds}))

    assert (made.bound, made.claim.bound) == (Bound(*bounds, "sd"), above(0, unit="sd"))
    assert made.verdict is FAIL
    assert made.judgement.p == Bound(*bounds, "sd").p_value(estimated(2.5, 3.5))


def test_the_models_severity_goes_before_that_of_all() -> None:
    """A finding that gates nothing blocks nothing, and says who made it so."""
    policy = replace(own(severity={"skew": INFO}), everywhere=Rules(severity={"skew[best]": GATE}))

    judged = found(-2, -1, policy).judgement
    elsewhere = found(-2, -1, policy, severity=INFO, model="another").judgement

    assert (judged.severity, judged.blocks) == (INFO, False)
    assert judged.severity_by == "models.yaml: toy: severity: skew"
    assert found(-2, -1, policy, severity=INFO).judgement.severity_by == ""  # as declared
    assert (elsewhere.severity, elsewhere.blocks) == (GATE, True)


@pytest.mark.parametrize("excuse", ["known", "waivers"])
def test_an_excuse_holds_for_the_weights_that_it_was_written_for(excuse: str) -> None:
    """Other weights under the same name and source have none, and the finding says why."""
    said: dict[str, Any] = {
        "known": {"skew": "It is flat."},
        "waivers": {"skew": Waiver("me", "so", LAST, -9)},
    }
    policy = own(**{excuse: said[excuse]}, weights="a" * 64, severity={"other": INFO})

    same, others, nobodys = (found(-2, -1, policy, weights=x) for x in ("a" * 64, "b" * 64, ""))

    assert (same.effect, same.judgement.unexcused) == (Effect.ACCEPTED, "")
    assert others.effect is nobodys.effect is Effect.BLOCKS
    written = (
        "models.yaml excuses skew of toy only for the weights with the hash aaaaaaaaaaaa, and "
    )
    assert reasons(others) == [f"{written}these have bbbbbbbbbbbb"]
    assert reasons(nobodys) == [f"{written}which these have is not recorded"]
    assert reasons(found(1, 2, policy, weights="b" * 64)) == []  # what passes needs no excuse


def test_what_is_said_of_a_model_is_said_of_its_source() -> None:
    """A folder that bears its name has none of its rules, and those of all the same."""
    said = Rules(bounds={"skew": (-9, 9)}, known={"skew": "It is flat."})
    policy = replace(own(), models={"toy": said}, everywhere=Rules(severity={"skew": GATE}))

    theirs, other = (
        found(-2, -1, policy, model_source=source, severity=INFO) for source in ("owner/name", "x")
    )

    assert (theirs.verdict, other.verdict) == (PASS, FAIL)
    assert (theirs.severity, other.effect) == (GATE, Effect.BLOCKS)
    (_, why) = reasons(other)[::-1]
    assert why == (
        "models.yaml excuses skew of toy only as it is loaded from owner/name, and this one is "
        "from x"
    )


# Waivers: bound above 0, accepted -0.5


OVER, UNDER, INSIDE = above(0, unit="sd"), below(0, unit="sd"), between(-1, 1, unit="sd")


@pytest.mark.parametrize(
    ("bound", "low", "high", "accepted", "state"),
    [
        (OVER, -0.6, -0.4, -0.5, "waived"),  # the estimate is what was accepted
        (OVER, -0.61, -0.4, -0.5, "reopened"),  # it is worse
        (OVER, -0.7, -0.51, -0.5, "reopened"),
        (OVER, -0.2, -0.1, -0.5, "waived"),  # better than accepted
        (OVER, -0.2, 0.1, -0.5, "waived"),  # inconclusive
        (OVER, -1.0, 0.2, -0.5, "waived"),  # twice as far beyond the bound as what was accepted
        (OVER, -1.01, 0.2, -0.5, "reopened"),  # and further
        (OVER, -10, 0.0, -0.5, "reopened"),
        (OVER, -10, 10, -0.5, "reopened"),  # nothing was established
        (OVER, 0.1, 0.2, -0.5, "unneeded"),
        (UNDER, 0.4, 0.6, 0.5, "waived"),
        (UNDER, 0.4, 0.61, 0.5, "reopened"),
        (UNDER, 0.0, 10.0, 0.1, "reopened"),
        (INSIDE, 1.1, 1.3, 1.2, "waived"),
        (INSIDE, 1.3, 1.4, 1.2, "reopened"),
        (INSIDE, -1.3, -1.2, 1.2, "reopened"),  # the other side was not accepted
        (INSIDE, -1.3, -0.9, 1.2, "reopened"),
        (INSIDE, -1.3, -1.1, -1.2, "waived"),
        (INSIDE, 1.1, 1.3, -1.2, "reopened"),
        (INSIDE, -1.1, 1.1, -1.2, "reopened"),  # too wide to tell the side
        (INSIDE, 0.9, 1.3, 1.15, "waived"),
        (INSIDE, 0.9, 1.3, 1.14, "reopened"),
        (INSIDE, 0.9, 1.1, 0.95, "reopened"),  # that is no failure
    ],
)
def test_a_waiver_holds_up_to_what_was_accepted(
    bound: Bound, low: float, high: float, accepted: float, state: str
) -> None:
    """The estimate may be no worse, and its interval no more than twice as far beyond the bound.

    Of two ends it is the one that the accepted effect is beyond or nearer to.
    """
    made = found(low, high, accepts(accepted), bound=bound)

    assert made.judgement.waiver.state == state
    assert (made.effect is Effect.ACCEPTED) == (state == "waived")
    assert made.blocks == (state == "reopened")


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (-0.9, -0.6, "and the estimate -0.75 is worse"),
        (
            *(-1.5, 0.9),
            (
                "and the interval reaches -1.5, more than twice as far beyond the bound: too wide "
                "to know what it is"
            ),
        ),
    ],
)
def test_a_reopened_waiver_says_why(low: float, high: float, says: str) -> None:
    """What was accepted, by whom, and what was found; the finding holds all that it said."""
    terms = Waiver("me", "It is small.", LAST, -0.5)
    says = f"its waiver accepts -0.5 sd (me), {says}"

    expected = AppliedWaiver("skew", terms, 166, "reopened", says)
    assert found(low, high, accepts(-0.5)).judgement.waiver == expected


@pytest.mark.parametrize(
    ("left", "state", "days"),
    [
        (15, "waived", ""),
        (14, "expiring", "; 14 days left"),
        (1, "expiring", "; 1 day left"),
        (0, "expiring", "; 0 days left"),
        (-1, "expired", None),
    ],
)
def test_a_waiver_ends_with_its_day(left: int, state: str, days: str | None) -> None:
    """It holds through the day that it names, warns for 14 days before, and then is none."""
    until = TODAY + timedelta(days=left)

    made = found(-0.6, -0.4, accepts(-0.5, until))

    waiver = made.judgement.waiver
    assert (waiver.state, waiver.days_left) == (state, left)
    if days is None:
        says = "its waiver expired at the end of 2030-01-14 (me): It is small."
        assert (made.result, made.effect) == (Result.FAIL, Effect.BLOCKS)
    else:
        says = f"accepted by me until {until}, at worst -0.5 sd: It is small.{days}"
        assert (made.result, made.effect) == (Result.FAIL, Effect.ACCEPTED)
    assert waiver.says == says


@pytest.mark.parametrize(
    ("low", "high", "severity", "passes"),
    [(0.1, 0.2, GATE, "passes"), (-2, -1, INFO, "does not gate")],
)
def test_a_waiver_of_what_needs_none_says_so(
    low: float, high: float, severity: Severity, passes: str
) -> None:
    """Also an expired one: what passes is not failed by its waiver."""
    for expires in (LAST, TODAY - timedelta(days=1)):
        judged = found(low, high, accepts(-9, expires), severity=severity).judgement
        assert judged.waiver.says == f"{passes}: remove skew from `waivers` (me)"
        assert not judged.blocks


def test_a_known_failure_that_passes_blocks() -> None:
    """A demonstration that no longer shows what it is for is not green."""
    policy = own(known={"skew": "It is flat."})

    assert [alone(f, policy, TODAY).blocks for f in (found(-2, -1), found(1, 2))] == [
        False,
        True,
    ]
    on_a_sample = alone(found(1, 2), replace(policy, sampled=True), TODAY)
    assert not on_a_sample.blocks  # nor is it told to be outdated
    assert not on_a_sample.judgement.known


def out(z: float, **claimed: Any) -> Finding:
    """A finding whose estimate lies z standard errors below its bound, which is at 0."""
    half = 1.959963984540054
    return found(-z - half, -z + half, **claimed)


def test_a_failure_stands_alone_or_among_others_by_holm() -> None:
    """Of p = 0.003, 0.02, 0.03 and three passes only the first stays a FAIL: 6 x 0.003 < 0.05."""
    findings = [out(2.9677), out(2.3263), out(2.1701), *[out(-3.0)] * 3]
    assert [round(f.judgement.p or 0, 4) for f in findings] == [0.003, 0.02, 0.03, 1, 1, 1]
    assert [f.verdict for f in findings[:3]] == [FAIL] * 3

    settled = [finding.judgement for finding in decide(findings, Policy(), TODAY)]

    assert [f.verdict for f in settled] == [FAIL, INCONCLUSIVE, INCONCLUSIVE, *[PASS] * 3]
    assert [round(f.p_holm or 0, 3) for f in settled] == [0.018, 0.1, 0.12, 1, 1, 1]
    assert settled[1].reason == (
        "the interval lies beyond the bound (p = 0.02), but among 6 tests one may get there by "
        "chance alone (Holm's p = 0.1)"
    )
    assert settled[0].reason == ""
    (at_the_bound,) = decide([out(1.959963984540054)], Policy(), TODAY)
    assert at_the_bound.verdict is FAIL  # 0.05 is reached, not passed over by rounding


def test_what_else_was_audited_changes_no_verdict() -> None:
    """Holm's family is one model: twenty others do not turn its FAIL into chance."""
    alone = decide([out(2.3)], Policy(), TODAY)
    others = [out(-3.0, model=f"other{i}") for i in range(20)]

    together = decide([*others[:10], out(2.3), *others[10:]], Policy(), TODAY)

    assert [together[10]] == alone
    assert alone[0].verdict is FAIL


def test_what_gates_nothing_costs_the_gate_nothing() -> None:
    """Findings of severity info, and unmeasured ones, are not of the family, and stay."""
    others = [*[out(5.0, severity=INFO)] * 9, lost(Verdict.ERROR)]

    settled = decide([out(2.3263), *others], Policy(), TODAY)

    assert settled[0].verdict is FAIL
    assert settled[1:] == others


# Properties

numbers = st.floats(-3, 3).map(lambda x: round(x, 3))
widths = st.floats(0, 2).map(lambda x: round(x, 3))
bounds = st.one_of(
    numbers.map(lambda x: (x, math.inf)),
    numbers.map(lambda x: (-math.inf, x)),
    st.tuples(numbers, st.floats(0.1, 3)).map(lambda x: (x[0], x[0] + x[1])),
)
keys = st.sampled_from(["skew", "skew[best]", "skew[worst]", "other"])
waivers = st.builds(
    Waiver,
    st.just("me"),
    st.just("so"),
    st.integers(-20, 40).map(lambda days: TODAY + timedelta(days=days)),
    numbers,
)
rules = st.builds(
    Rules,
    bounds=st.dictionaries(keys, bounds),
    severity=st.dictionaries(keys, st.sampled_from(Severity)),
    known=st.dictionaries(keys, st.just("so")),
    waivers=st.dictionaries(keys, waivers),
)
policies = st.builds(
    Policy,
    everywhere=st.builds(
        Rules,
        bounds=st.dictionaries(keys, bounds),
        severity=st.dictionaries(keys, st.sampled_from(Severity)),
    ),
    models=st.dictionaries(st.sampled_from(["toy", "another"]), rules),
)
findings = st.one_of(
    st.builds(
        lambda low, width, bound, severity: found(
            low, low + width, bound=Bound(bound[0], bound[1], "sd"), severity=severity
        ),
        numbers,
        widths,
        bounds,
        st.sampled_from(Severity),
    ),
    st.builds(lost, st.sampled_from([Verdict.ERROR, Verdict.SKIPPED]), st.sampled_from(Severity)),
)


@pytest.mark.slow
@given(made=st.lists(findings, max_size=3), policy=policies, another=policies)
def test_an_earlier_policy_leaves_no_trace(
    made: list[Finding], policy: Policy, another: Policy
) -> None:
    """A replay of stored findings gives what it would have given had nothing been decided before.

    Under the same policy it is the identity.
    """
    before, decided = decide(made, another, TODAY), decide(made, policy, TODAY)
    stored = [decode(Finding, encode(finding)) for finding in before]

    assert stored == before
    assert decide(stored, policy, TODAY) == decided
    assert decide(decided, policy, TODAY) == decided


@given(
    at=st.tuples(numbers, widths, widths),
    worse=st.tuples(widths, widths, widths),
    bound=bounds,
    accepted=numbers,
)
@example(at=(0.05, 0.05, 0.05), worse=(4.6, 4.6, 5.3), bound=(-math.inf, 0.0), accepted=0.1)
def test_a_worse_measurement_never_has_a_weaker_limit(
    at: tuple[float, float, float],
    worse: tuple[float, float, float],
    bound: Ends,
    accepted: float,
) -> None:
    """Moved away from what passes, or with a wider interval, what was not accepted is not."""
    value, below_it, above_it = at
    step, *wider = worse
    end = 0 if math.isfinite(bound[0]) and accepted < sum(bound) / 2 else 1
    side = -1 if end == 0 else 1
    first = estimated(value - below_it, value + above_it, value)
    low, high = first.low + side * step - wider[0], first.high + side * step + wider[1]
    if (first.value - bound[end]) * side < 0:  # what passes is not excused, and need not be
        return
    second = estimated(low, high, value + side * step)
    reaches = [
        each.high >= bound[1] if end == 0 else each.low <= bound[0] for each in (first, second)
    ]
    if reaches == [True, False]:  # it no longer reaches the other end, which alone reopened it
        return

    states = [
        waiver.state
        for each in (first, second)
        if (
            waiver := measured(
                claim(Bound(*bound, "sd")), each, accepts(accepted), TODAY
            ).judgement.waiver
        )
    ]

    assert states != ["reopened", "waived"]


@given(made=findings, policy=policies, waiver=waivers)
def test_a_waiver_that_does_not_hold_does_nothing(
    made: Finding, policy: Policy, waiver: Waiver
) -> None:
    """It never fails what would not have failed without it, and never hides an ERROR."""
    bare = replace(policy, models={})
    excused = replace(policy, models={"toy": Rules(waivers={"skew": waiver})})

    without, having = alone(made, bare, TODAY), alone(made, excused, TODAY)

    if having.judgement.waiver and having.judgement.waiver.holds:
        assert without.verdict in {FAIL, INCONCLUSIVE}
        assert not having.blocks
        assert waiver.expires >= TODAY
    else:
        assert having.blocks == without.blocks
    assert having.verdict == without.verdict


@settings(deadline=None)  # the first example imports statsmodels
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(ps: list[float]) -> None:
    """To the last bit, in any order, with ties."""
    from statsmodels.stats.multitest import multipletests

    ps += ps[:1]

    with patch("gc.collect"):  # which statsmodels calls each time, for half a second
        assert holm(ps) == multipletests(ps, method="holm")[1].tolist()
