"""The bound is applied, known failures are named, and every verdict is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.declare import Declaration
from rmaudit.gate import KNOWN, counts, explain, judge, known_reason, standing, unmeasured
from rmaudit.prompts import PROMPTS
from rmaudit.records import Estimate, Finding, Verdict, above

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
    blank = unmeasured(DECLARATION, verdict, "", model="toy", prompt=BEST, nodeid=NODE)
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
        prompt=BEST,
        nodeid=NODE,
        known="It is flat.",
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
        known="It is flat.",
        sweeps=("a", "b"),
    )


def test_an_estimate_in_another_unit_is_not_judged() -> None:
    """Where the units differ there is an error that shows both, and no finding."""
    wrong = replace(estimate(0.1, 0.2, 0.3), unit="sd")

    with pytest.raises(ValueError, match="the bound is in") as caught:
        judge(DECLARATION, wrong, model="toy", prompt=BEST, nodeid=NODE)

    assert str(caught.value) == "the bound is in 'skewness', the estimate in 'sd'"


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.SKIPPED])
def test_an_unmeasured_audit_has_a_reason_and_no_number(verdict: Verdict) -> None:
    """An ERROR or SKIPPED finding says why, and no estimate can be read from it."""
    found = unmeasured(DECLARATION, verdict, "no data", model="toy", prompt=BEST, nodeid=NODE)

    assert (found.verdict, found.reason, found.estimate) == (verdict, "no data", None)
    assert (found.audit, found.model, found.prompt, found.nodeid) == ("skew", "toy", "best", NODE)


# Known failures


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, ""),
        ({"other": "x"}, ""),
        ({"skew": "all"}, "all"),
        ({"skew[best]": "one"}, "one"),
        ({"skew[worst]": "another"}, ""),
        ({"skew": "all", "skew[best]": "one"}, "one"),
        ({"skew[best]": "one", "skew": "all"}, "one"),
        ({"ske": "x", "skew[": "x", "skew[bes": "x"}, ""),
    ],
)
def test_a_known_failure_is_found_by_audit_or_audit_and_prompt(
    known: dict[str, str], expected: str
) -> None:
    """The entry of the audit under this prompt goes before that of the audit."""
    assert known_reason(known, "skew", "best") == expected


@pytest.mark.parametrize("verdict", Verdict)
def test_only_a_failure_can_be_known(verdict: Verdict) -> None:
    """A reason in models.yaml excuses FAIL and INCONCLUSIVE; it hides no ERROR and no PASS."""
    failed = verdict in {Verdict.FAIL, Verdict.INCONCLUSIVE}

    expected = KNOWN if failed else str(verdict)
    assert standing(finding(verdict, known="It is flat.")) == expected
    assert str(verdict) == standing(finding(verdict))


# Counting


def test_the_counts_come_in_the_order_of_the_verdicts() -> None:
    """Each standing that occurs is counted, in one order whatever the order of the findings."""
    findings = [
        finding(Verdict.SKIPPED),
        finding(Verdict.ERROR),
        finding(Verdict.INCONCLUSIVE),
        finding(Verdict.FAIL, known="It is flat."),
        finding(Verdict.INCONCLUSIVE, known="It is flat."),
        finding(Verdict.FAIL),
        finding(Verdict.PASS),
        finding(Verdict.PASS, known="It is flat."),
    ]

    expected = [
        ("PASS", 2),
        ("FAIL", 1),
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
        judge(DECLARATION, measured, model="toy", prompt=BEST, nodeid=NODE, repeat="pytest x")
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


def test_an_inconclusive_audit_says_that_the_interval_straddles() -> None:
    """The verdict that is neither is explained where it is shown."""
    found = judge(DECLARATION, estimate(-0.1, 0.1, 0.3), model="toy", prompt=BEST, nodeid=NODE)

    first = explain(found).splitlines()[0]

    assert first == "skew[toy-best]: INCONCLUSIVE (the interval straddles the bound)"
