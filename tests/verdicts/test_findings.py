"""Where findings stand, how they are counted, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.verdicts.findings import OUTDATED, Finding, counts, excuse, explain, reasons
from rmaudit.verdicts.records import Severity, Standing, Verdict, above
from tests.findings import but, found, gap, waived

FAILED = {Verdict.FAIL, Verdict.INCONCLUSIVE}


def stood(verdict: Verdict, known: str = "") -> Finding:
    """A finding of which only the verdict matters."""
    lost = verdict in (Verdict.ERROR, Verdict.SKIPPED, Verdict.NA)
    made = gap(verdict=verdict) if lost else found(0.1, 0.3)
    return but(made, verdict=verdict, known=known)


@pytest.mark.parametrize("verdict", Verdict)
def test_only_a_failure_can_be_known(verdict: Verdict) -> None:
    """A reason in models.yaml excuses FAIL and INCONCLUSIVE; it hides no ERROR and no PASS."""
    expected = Standing.KNOWN if verdict in FAILED else Standing(verdict)

    assert stood(verdict, "It is flat.").standing is expected
    assert stood(verdict).standing is Standing(verdict)


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("state", ["waived", "expiring", "expired", "reopened", "unneeded"])
def test_only_a_failure_with_a_waiver_that_holds_is_waived(verdict: Verdict, state: str) -> None:
    """One that expired or was reopened leaves the verdict as it is, and so does one of an ERROR."""
    holds = verdict in FAILED and state in {"waived", "expiring"}

    made = but(stood(verdict), waiver=waived(state))

    assert made.standing is (Standing.WAIVED if holds else Standing(verdict))


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE])
def test_what_gates_nothing_is_counted_apart(verdict: Verdict) -> None:
    """A measured finding of severity info is INFO; one that could not be measured still says so."""
    assert but(stood(verdict, "So."), severity=Severity.INFO).standing is Standing.INFO
    lost = but(stood(Verdict.ERROR), severity=Severity.INFO)
    assert lost.standing is Standing.ERROR


def test_the_counts_come_in_the_order_of_the_standings() -> None:
    """Each standing that occurs is counted, in one order whatever the order of the findings."""
    findings = [
        *(stood(verdict) for verdict in reversed(Verdict)),
        but(stood(Verdict.FAIL), waiver=waived()),
        *(stood(verdict, "It is flat.") for verdict in FAILED),
        stood(Verdict.PASS, "It is flat."),
    ]

    assert list(counts(findings).items()) == [
        *(("PASS", 2), ("FAIL", 1), ("WAIVED", 1), ("KNOWN", 2), ("INCONCLUSIVE", 1)),
        *(("ERROR", 1), ("SKIPPED", 1), ("N/A", 1)),
    ]
    assert counts([]) == {}


@given(
    findings=st.lists(
        st.builds(stood, st.sampled_from(Verdict), st.sampled_from(["", "It is flat."]))
    )
)
def test_every_finding_is_counted_once(findings: list[Finding]) -> None:
    """The counts sum to the number of findings, and their order changes nothing."""
    counted = counts(findings)

    assert sum(counted.values()) == len(findings)
    assert list(counted.items()) == list(counts(reversed(findings)).items())


def test_a_failure_explains_itself() -> None:
    """Claim, number, bound and who set it, base rate, caveats, waiver, how to repeat it."""
    made = found(-0.3, -0.1, repeat="pytest x")
    assert made.estimate is not None
    measured = replace(made.estimate, n=1204, caveats=("Half of the words only.", "No others."))
    made = but(made, estimate=measured, bound=above(1, unit="sd"), waiver=waived("expired", "Old."))
    made = but(made, bound_by="models.yaml: bounds: skew")

    assert explain(made).splitlines() == [
        "skew[toy-best]: FAIL",
        "  claim      It is skewed.",
        "  measured   -0.2 sd, 95 % interval -0.3 to -0.1, n = 1,204",
        "  bound      above 1 sd (models.yaml: bounds: skew; declared: above 1 sd)",
        "  base rate  9 of 10 models",
        "  note       Half of the words only.",
        "  note       No others.",
        "  waiver     Old.",
        "  repeat     pytest x",
    ]
    assert "straddles the bound" in explain(found(-0.1, 0.3)).splitlines()[0]


def test_reasons_tell_what_the_verdict_does_not() -> None:
    """Why nothing was measured or chance is possible, what is outdated, accepted or overridden."""
    failing = found(-0.3, -0.1)
    chance = replace(failing.judgement, verdict=Verdict.INCONCLUSIVE, reason="By chance.")

    assert reasons(failing) == []
    assert reasons(gap("no data")) == ["no data"]
    assert reasons(replace(failing, judgement=chance)) == ["By chance."]
    assert reasons(but(failing, known="It is flat.")) == ["It is flat."]
    assert reasons(but(found(0.1, 0.3), known="It is flat.")) == [OUTDATED]
    over = but(failing, severity_by="a", bound_by="b", waiver=waived("waived", "Accepted."))
    assert reasons(over) == [
        "Accepted.",
        "severity as in a; declared: gate",
        "bound as in b; declared: above 0 sd",
    ]
    assert (excuse(over), excuse(but(failing, known="So."))) == ("Accepted.", "So.")
    for verdict, word in ((Verdict.FAIL, "outside"), (Verdict.INCONCLUSIVE, "straddles")):
        (told,) = reasons(but(failing, verdict=verdict, severity=Severity.INFO))
        assert word in told
    assert reasons(but(found(0.1, 0.3), severity=Severity.INFO)) == []
