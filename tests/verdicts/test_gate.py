"""The bound is applied, known failures are named, and every verdict is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.prompts import PROMPTS
from rmaudit.verdicts.declare import Declaration
from rmaudit.verdicts.gate import (
    INFO,
    KNOWN,
    WAIVED,
    counts,
    explain,
    judge,
    settle,
    standing,
    unmeasured,
)
from rmaudit.verdicts.records import Estimate, Finding, Severity, Verdict, above

BEST = PROMPTS["best"]
DECLARATION = Declaration(
    "skew", "It is skewed.", "Somebody 2025", (BEST,), above(0, unit="skewness"), "9 of 10 models"
)
NODE = "audits/test_skew.py::test_skew[toy-best]"


def estimate(low: float, value: float, high: float, *caveats: str) -> Estimate:
    """An estimate of skewness."""
    return Estimate(value, low, high, "skewness", 1204, "made up", caveats=caveats)


def finding(verdict: Verdict, *, known: str = "") -> Finding:
    """A finding of which only the verdict matters."""
    blank = unmeasured(DECLARATION, verdict, "", model="toy", prompt="best", nodeid=NODE)
    return replace(blank, known=known)


FINDINGS = st.builds(finding, st.sampled_from(Verdict), known=st.sampled_from(["", "It is flat."]))


# Judging


@pytest.mark.parametrize(
    ("low", "value", "high", "expected"),
    [
        (0.1, 0.2, 0.3, Verdict.PASS),
        (-0.1, 0.2, 0.3, Verdict.INCONCLUSIVE),
        (-0.3, -0.2, -0.1, Verdict.FAIL),
    ],
)
def test_a_measured_audit_is_judged_by_its_bound(
    low: float, value: float, high: float, expected: Verdict
) -> None:
    """The finding carries the declaration's words, the estimate, and the bound's verdict."""
    measured = estimate(low, value, high)

    found = judge(
        DECLARATION,
        measured,
        model="toy",
        prompt="best",
        nodeid=NODE,
        sweeps=("a", "b"),
    )

    assert found == Finding(
        audit="skew",
        nodeid=NODE,
        claim="It is skewed.",
        source="Somebody 2025",
        base_rate="9 of 10 models",
        bound="above 0 skewness",
        model="toy",
        prompt="best",
        verdict=expected,
        estimate=measured,
        sweeps=("a", "b"),
        bound_low=0,
        detectable=measured.detectable,
        p=DECLARATION.bound.p_value(measured),
    )


def test_an_estimate_in_another_unit_is_not_judged() -> None:
    """Where the units differ there is an error that shows both, and no finding."""
    wrong = replace(estimate(0.1, 0.2, 0.3), unit="sd")

    with pytest.raises(ValueError, match="the bound is in") as caught:
        judge(DECLARATION, wrong, model="toy", prompt="best", nodeid=NODE)

    assert str(caught.value) == "the bound is in 'skewness', the estimate in 'sd'"


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.SKIPPED])
def test_an_unmeasured_audit_has_a_reason_and_no_number(verdict: Verdict) -> None:
    """An ERROR or SKIPPED finding says why, and no estimate can be read from it."""
    found = unmeasured(DECLARATION, verdict, "no data", model="toy", prompt="best", nodeid=NODE)

    assert (found.verdict, found.reason, found.estimate) == (verdict, "no data", None)
    assert (found.audit, found.model, found.prompt, found.nodeid) == ("skew", "toy", "best", NODE)


# Known and waived failures


@pytest.mark.parametrize("verdict", Verdict)
def test_only_a_failure_can_be_known(verdict: Verdict) -> None:
    """A reason in models.yaml excuses FAIL and INCONCLUSIVE; it hides no ERROR and no PASS."""
    failed = verdict in {Verdict.FAIL, Verdict.INCONCLUSIVE}

    expected = KNOWN if failed else str(verdict)
    assert standing(finding(verdict, known="It is flat.")) == expected
    assert str(verdict) == standing(finding(verdict))


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("state", ["waived", "expiring", "expired", "reopened", "unneeded"])
def test_only_a_failure_with_a_waiver_that_holds_is_waived(verdict: Verdict, state: str) -> None:
    """One that expired or was reopened leaves the verdict as it is, and so does one of an ERROR."""
    failed = verdict in {Verdict.FAIL, Verdict.INCONCLUSIVE}
    found = replace(finding(verdict), waiver={"state": state})

    expected = WAIVED if failed and state in {"waived", "expiring"} else str(verdict)
    assert standing(found) == expected


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE])
def test_what_gates_nothing_is_counted_apart(verdict: Verdict) -> None:
    """A measured finding of severity info is INFO; one that could not be measured still says so."""
    info = replace(DECLARATION, severity=Severity.INFO)
    measured = judge(info, estimate(0.1, 0.2, 0.3), model="toy", prompt="best", nodeid=NODE)
    lost = unmeasured(info, Verdict.ERROR, "no data", model="toy", prompt="best", nodeid=NODE)

    assert standing(replace(measured, verdict=verdict, known="It is flat.")) == INFO
    assert standing(lost) == "ERROR"


# Settling a run


def judged(z: float, *, severity: Severity = Severity.GATE) -> Finding:
    """A finding whose estimate lies z standard errors below its bound, which is at 0."""
    half = 1.959963984540054
    declaration = replace(DECLARATION, severity=severity)
    return judge(
        declaration, estimate(-z - half, -z, -z + half), model="toy", prompt="best", nodeid=NODE
    )


def test_a_failure_stands_alone_or_among_others_by_holm() -> None:
    """Of p = 0.003, 0.02, 0.03 and three passes only the first stays a FAIL: 6 x 0.003 < 0.05."""
    findings = [judged(2.9677), judged(2.3263), judged(2.1701), *[judged(-3.0)] * 3]
    assert [round(f.p or 0, 4) for f in findings] == [0.003, 0.02, 0.03, 1, 1, 1]
    assert [f.verdict for f in findings[:3]] == [Verdict.FAIL] * 3

    settled = settle(findings)

    assert [f.verdict for f in settled] == [
        Verdict.FAIL,
        Verdict.INCONCLUSIVE,
        Verdict.INCONCLUSIVE,
        *[Verdict.PASS] * 3,
    ]
    assert [round(f.p_holm or 0, 3) for f in settled] == [0.018, 0.1, 0.12, 1, 1, 1]
    assert settled[1].reason == (
        "outside the bound if taken alone (p = 0.02), but such may be chance among 6 gating "
        "findings (Holm's p = 0.1)"
    )
    assert settled[0].reason == ""


def test_what_gates_nothing_costs_the_gate_nothing() -> None:
    """Findings of severity info, and unmeasured ones, are not of the family, and stay."""
    info = judged(5.0, severity=Severity.INFO)
    lost = finding(Verdict.ERROR)

    settled = settle([judged(2.3263), *[info] * 9, lost])

    assert settled[0].verdict is Verdict.FAIL
    assert settled[1:] == [*[info] * 9, lost]


def test_an_interval_that_ends_at_the_bound_fails_alone() -> None:
    """Judged and settled alike: 0.05 is reached, not passed over by rounding."""
    (alone,) = settle([judged(1.959963984540054)])

    assert alone.verdict is Verdict.FAIL


def test_nothing_to_settle() -> None:
    """A run without gating findings is left as it is."""
    assert settle([]) == []


# Counting


def test_the_counts_come_in_the_order_of_the_verdicts() -> None:
    """Each standing that occurs is counted, in one order whatever the order of the findings."""
    findings = [
        finding(Verdict.SKIPPED),
        finding(Verdict.ERROR),
        finding(Verdict.INCONCLUSIVE),
        finding(Verdict.FAIL, known="It is flat."),
        replace(finding(Verdict.FAIL), waiver={"state": "waived"}),
        finding(Verdict.INCONCLUSIVE, known="It is flat."),
        finding(Verdict.FAIL),
        finding(Verdict.PASS),
        finding(Verdict.PASS, known="It is flat."),
    ]

    expected = [
        ("PASS", 2),
        ("FAIL", 1),
        ("WAIVED", 1),
        ("KNOWN", 2),
        ("INCONCLUSIVE", 1),
        ("ERROR", 1),
        ("SKIPPED", 1),
    ]
    assert list(counts(findings).items()) == expected


def test_no_findings_have_no_counts() -> None:
    """What does not occur is not counted as 0."""
    assert counts([]) == {}


@given(findings=st.lists(FINDINGS, max_size=20))
def test_every_finding_is_counted_once(findings: list[Finding]) -> None:
    """The counts sum to the number of findings, and their order changes nothing."""
    counted = counts(findings)

    assert sum(counted.values()) == len(findings)
    assert list(counted.items()) == list(counts(reversed(findings)).items())


# Explaining


def test_a_failure_explains_itself() -> None:
    """Claim, number, bound, base rate, every caveat, and the command that repeats it."""
    measured = estimate(-0.3, -0.2, -0.1, "Half of the words only.", "And no others.")

    text = explain(
        judge(DECLARATION, measured, model="toy", prompt="best", nodeid=NODE, repeat="pytest x")
    )

    assert text.splitlines() == [
        "skew[toy-best]: FAIL",
        "  claim      It is skewed.",
        "  measured   -0.2 skewness, 95 % interval -0.3 to -0.1, n = 1,204",
        "  bound      above 0 skewness",
        "  base rate  9 of 10 models",
        "  note       Half of the words only.",
        "  note       And no others.",
        "  repeat     pytest x",
    ]


def test_a_failure_tells_what_the_policy_says_of_it() -> None:
    """The declared bound, and where another is said; the waiver that does not hold."""
    found = judge(DECLARATION, estimate(-0.3, -0.2, -0.1), model="toy", prompt="best", nodeid=NODE)
    over = {"from": "models.yaml: bounds: skew", "declared": "above 0 skewness"}
    waiver = {"state": "expired", "says": "its waiver expired"}

    lines = explain(
        replace(found, bound="above 1 skewness", overridden={"bound": over}, waiver=waiver)
    ).splitlines()

    where = "(models.yaml: bounds: skew; declared: above 0 skewness)"
    assert lines[3] == f"  bound      above 1 skewness {where}"
    assert lines[-1] == "  waiver     its waiver expired"


def test_an_inconclusive_audit_says_that_the_interval_straddles() -> None:
    """The verdict that is neither is explained where it is shown."""
    found = judge(DECLARATION, estimate(-0.1, 0.1, 0.3), model="toy", prompt="best", nodeid=NODE)

    first = explain(found).splitlines()[0]

    assert first == "skew[toy-best]: INCONCLUSIVE (the interval straddles the bound)"
