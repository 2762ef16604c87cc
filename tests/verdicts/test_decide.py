"""Verdicts under a policy: overrides, waivers, what blocks a run; and that deciding is pure."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmaudit.prompts import PROMPTS
from rmaudit.verdicts.decide import alone, decide
from rmaudit.verdicts.declare import Declaration
from rmaudit.verdicts.gate import WAIVED, judge, standing, unmeasured
from rmaudit.verdicts.policy import Ends, Policy, Rules, Waiver
from rmaudit.verdicts.records import (
    Bound,
    Estimate,
    Finding,
    Severity,
    Verdict,
    above,
    below,
    between,
)

TODAY = date(2030, 1, 15)
LAST = date(2030, 6, 30)  # 166 days later
GATE, INFO = Severity.GATE, Severity.INFO
PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def declaration(bound: Bound, severity: Severity = GATE) -> Declaration:
    """An audit of skewness with this bound."""
    return Declaration(
        "skew", "It is skewed.", "Somebody", (PROMPTS["best"],), bound, "9 of 10", severity=severity
    )


def measured(
    low: float,
    high: float,
    *,
    bound: Bound | None = None,
    severity: Severity = GATE,
    model: str = "toy",
) -> Finding:
    """A finding of an interval, as its audit declares itself: above 0, unless said otherwise."""
    estimate = Estimate((low + high) / 2, low, high, "sd", 9, "made up")
    declared = declaration(bound or above(0, unit="sd"), severity)
    return judge(declared, estimate, model=model, prompt="best", nodeid="n")


def lost(verdict: Verdict, severity: Severity = GATE) -> Finding:
    """A finding that was not measured."""
    declared = declaration(above(0, unit="sd"), severity)
    return unmeasured(declared, verdict, "no data", model="toy", prompt="best", nodeid="n")


def own(**said: Any) -> Policy:
    """A policy that speaks of `toy` only."""
    return Policy(models={"toy": Rules(**said)})


def accepts(accepted: float, expires: date = LAST) -> Policy:
    """A policy with one waiver."""
    return own(waivers={"skew": Waiver("me", "It is small.", expires, accepted)})


# Bounds and severities


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

    found = alone(measured(0.5, 2.5), policy, TODAY)

    assert (found.bound, found.bound_low, found.bound_high) == (
        f"above {expected} sd",
        expected,
        None,
    )
    verdicts = {0: PASS, 1: INCONCLUSIVE, 2: INCONCLUSIVE, 3: FAIL, 4: FAIL}
    assert found.verdict is verdicts[int(expected)]
    if source:
        (over,) = found.overridden.values()
        assert over["from"].endswith(source)
        assert over["from"].startswith("models.yaml: ")
        declared = {"declared": "above 0 sd", "declared_low": 0, "declared_high": None}
        assert over == {"from": over["from"], **declared}
    else:
        assert found.overridden == {}


@pytest.mark.parametrize(
    ("bounds", "text", "ends"),
    [
        ((-math.inf, 1.5), "below 1.5 sd", (None, 1.5)),
        ((-1, 2), "between -1 and 2 sd", (-1, 2)),
    ],
)
def test_an_override_may_be_of_another_side(
    bounds: Ends, text: str, ends: tuple[float | None, float | None]
) -> None:
    """It replaces the bound whole, p included."""
    found = alone(measured(2.5, 3.5), own(bounds={"skew": bounds}), TODAY)

    assert (found.bound, (found.bound_low, found.bound_high)) == (text, ends)
    assert found.verdict is FAIL
    assert found.p == Bound(*bounds, "sd").p_value(Estimate(3, 2.5, 3.5, "sd", 9, "made up"))


def test_the_models_severity_goes_before_that_of_all() -> None:
    """A finding that gates nothing blocks nothing, and says who made it so."""
    policy = Policy(
        everywhere=Rules(severity={"skew[best]": GATE}),
        models={"toy": Rules(severity={"skew": INFO})},
    )

    found = alone(measured(-2, -1), policy, TODAY)
    elsewhere = alone(measured(-2, -1, severity=INFO, model="another"), policy, TODAY)

    assert (found.severity, found.blocks) == (INFO, False)
    said = {"from": "models.yaml: toy: severity: skew", "declared": "gate"}
    assert found.overridden == {"severity": said}
    assert (elsewhere.severity, elsewhere.blocks) == (GATE, True)


# Waivers: bound above 0, accepted -0.5


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (-0.6, -0.4, "waived"),
        (-0.7, -0.5, "waived"),  # the interval reaches what was accepted
        (-0.7, -0.51, "reopened"),  # all of it is worse
        (-0.2, -0.1, "waived"),  # better than accepted
        (-0.2, 0.1, "waived"),  # inconclusive
        (0.1, 0.2, "unneeded"),
    ],
)
def test_a_waiver_holds_up_to_what_was_accepted(low: float, high: float, state: str) -> None:
    """It is reopened only where the whole interval is worse, so by no chance of 5 %."""
    found = alone(measured(low, high), accepts(-0.5), TODAY)

    assert found.waiver["state"] == state
    assert (standing(found) == WAIVED) == (state == "waived")
    assert found.blocks == (state == "reopened")


@pytest.mark.parametrize(
    ("bound", "low", "high", "accepted", "state"),
    [
        (below(0, unit="sd"), 0.4, 0.6, 0.5, "waived"),
        (below(0, unit="sd"), 0.51, 0.6, 0.5, "reopened"),
        (between(-1, 1, unit="sd"), 1.1, 1.3, 1.2, "waived"),
        (between(-1, 1, unit="sd"), 1.3, 1.4, 1.2, "reopened"),
        (between(-1, 1, unit="sd"), -1.3, -1.2, 1.2, "reopened"),  # the other side was not accepted
        (between(-1, 1, unit="sd"), -1.3, -0.9, 1.2, "reopened"),
        (between(-1, 1, unit="sd"), -1.3, -1.1, -1.2, "waived"),
        (between(-1, 1, unit="sd"), 1.1, 1.3, -1.2, "reopened"),
        (between(-1, 1, unit="sd"), -1.1, 1.1, -1.2, "reopened"),  # too wide to tell the side
        (between(-1, 1, unit="sd"), 0.9, 1.3, 0.95, "waived"),
        (between(-1, 1, unit="sd"), 0.96, 1.3, 0.95, "reopened"),
    ],
)
def test_worse_is_on_the_side_that_fails(
    bound: Bound, low: float, high: float, accepted: float, state: str
) -> None:
    """Above an upper end; of two ends, the one that the accepted effect is beyond or nearer to."""
    found = alone(measured(low, high, bound=bound), accepts(accepted), TODAY)

    assert found.waiver["state"] == state


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

    found = alone(measured(-0.6, -0.4), accepts(-0.5, until), TODAY)

    assert (found.waiver["state"], found.waiver["days_left"]) == (state, left)
    if days is None:
        says = "its waiver expired at the end of 2030-01-14 (me): It is small."
        assert (standing(found), found.blocks) == ("FAIL", True)
    else:
        says = f"-0.5 sd accepted until {until} (me): It is small.{days}"
        assert (standing(found), found.blocks) == (WAIVED, False)
    assert found.waiver["says"] == says


def test_the_finding_holds_the_waiver() -> None:
    """All that it said, as JSON values, so that a reader sees who answers for what."""
    found = alone(measured(-0.9, -0.6), accepts(-0.5), TODAY)

    assert json.loads(json.dumps(found.waiver)) == {
        "for": "skew",
        "owner": "me",
        "reason": "It is small.",
        "expires": "2030-06-30",
        "accepted": -0.5,
        "days_left": 166,
        "state": "reopened",
        "says": (
            "its waiver accepts -0.5 sd (me), and the whole interval -0.9 to -0.6 is worse, or "
            "fails on another side"
        ),
    }


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (measured(0.1, 0.2), "passes: remove skew from `waivers` (me)"),
        (measured(-2, -1, severity=INFO), "does not gate: remove skew from `waivers` (me)"),
    ],
)
def test_a_waiver_of_what_needs_none_says_so(found: Finding, says: str) -> None:
    """Also an expired one: what passes is not failed by its waiver."""
    for expires in (LAST, TODAY - timedelta(days=1)):
        decided = alone(found, accepts(-9, expires), TODAY)
        assert (decided.waiver["says"], decided.blocks) == (says, False)


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.SKIPPED])
def test_a_waiver_excuses_no_gap(verdict: Verdict) -> None:
    """What was not measured had no effect that somebody could have accepted."""
    found = alone(lost(verdict), replace(accepts(-9), missing="fail"), TODAY)

    assert (found.waiver, standing(found), found.blocks) == ({}, str(verdict), True)


# What blocks a run


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (measured(0.1, 0.2), (False, False, False)),
        (measured(-0.2, -0.1), (True, True, True)),
        (measured(-0.1, 0.1), (True, False, True)),
        (measured(-0.2, -0.1, severity=INFO), (False, False, False)),
        (lost(Verdict.ERROR), (True, True, True)),
        (lost(Verdict.ERROR, INFO), (True, True, True)),
        (lost(Verdict.SKIPPED), (False, False, True)),
        (lost(Verdict.SKIPPED, INFO), (False, False, False)),
    ],
)
def test_what_blocks_under_which_policy(found: Finding, expected: tuple[bool, ...]) -> None:
    """By default; with inconclusive pass; with missing fail."""
    policies = (Policy(), Policy(inconclusive="pass"), Policy(missing="fail"))

    assert tuple(alone(found, policy, TODAY).blocks for policy in policies) == expected


def test_a_known_failure_that_passes_blocks() -> None:
    """A demonstration that no longer shows what it is for is not green."""
    policy = own(known={"skew": "It is flat."})

    assert [alone(f, policy, TODAY).blocks for f in (measured(-2, -1), measured(1, 2))] == [
        False,
        True,
    ]


def test_what_chance_may_explain_blocks_all_the_same() -> None:
    """Of ten findings one fails if taken alone: its name changes with the family, not the run."""
    findings = [measured(-1, -0.001), *[measured(1, 2)] * 9]

    first = decide(findings, Policy(inconclusive="pass"), TODAY)[0]

    assert (first.verdict, first.blocks) == (INCONCLUSIVE, True)
    assert first.reason.startswith("outside the bound if taken alone")


# Properties

quick = settings(max_examples=60, deadline=None)
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
    inconclusive=st.sampled_from(["fail", "pass"]),
    missing=st.sampled_from(["skip", "fail"]),
)
findings = st.one_of(
    st.builds(
        lambda low, width, bound, severity: measured(
            low, low + width, bound=Bound(*bound, "sd"), severity=severity
        ),
        numbers,
        widths,
        bounds,
        st.sampled_from(Severity),
    ),
    st.builds(lost, st.sampled_from([Verdict.ERROR, Verdict.SKIPPED]), st.sampled_from(Severity)),
)


@quick
@given(found=st.lists(findings, max_size=3), policy=policies)
def test_deciding_again_changes_nothing(found: list[Finding], policy: Policy) -> None:
    """A replay of stored findings under the same policy on the same day is the identity."""
    decided = decide(found, policy, TODAY)
    stored = [Finding.from_json(json.loads(json.dumps(f.to_json()))) for f in decided]

    assert stored == decided
    assert decide(stored, policy, TODAY) == decided


@quick
@given(found=st.lists(findings, max_size=3), policy=policies, another=policies)
def test_an_earlier_policy_leaves_no_trace(
    found: list[Finding], policy: Policy, another: Policy
) -> None:
    """What is decided last is what the findings would be had nothing been decided before."""
    through = decide(decide(found, another, TODAY), policy, TODAY)

    assert through == decide(found, policy, TODAY)


@quick
@given(low=numbers, width=widths, worse=widths, bound=bounds, policy=policies)
def test_a_worse_effect_is_never_greener(
    low: float, width: float, worse: float, bound: Ends, policy: Policy
) -> None:
    """Moved away from a one-sided bound, a finding that blocked goes on to block, waiver or not."""
    own_rules = policy.of("toy")
    said = [*policy.everywhere.bounds.values(), *own_rules.bounds.values(), bound]
    sides = {side for ends in said for side in (0, 1) if math.isfinite(ends[side])}
    policy = replace(policy, models={"toy": replace(own_rules, known={})})
    if len(sides) > 1:
        policy = Policy(models={"toy": Rules(waivers=own_rules.waivers)})
        bound = (bound[0], math.inf) if math.isfinite(bound[0]) else bound
    step = -worse if math.isfinite(bound[0]) else worse
    before, after = (
        alone(measured(at, at + width, bound=Bound(*bound, "sd")), policy, TODAY)
        for at in (low, low + step)
    )

    assert after.blocks or not before.blocks


@quick
@given(found=findings, policy=policies, waiver=waivers)
def test_a_waiver_that_does_not_hold_does_nothing(
    found: Finding, policy: Policy, waiver: Waiver
) -> None:
    """It never fails what would not have failed without it, and never hides an ERROR."""
    bare = replace(policy, models={})
    waived = replace(policy, models={"toy": Rules(waivers={"skew": waiver})})

    without, having = alone(found, bare, TODAY), alone(found, waived, TODAY)

    if having.waiver.get("state") in {"waived", "expiring"}:
        assert without.verdict in {FAIL, INCONCLUSIVE}
        assert not having.blocks
        assert waiver.expires >= TODAY
    else:
        assert having.blocks == without.blocks
    assert having.verdict == without.verdict
