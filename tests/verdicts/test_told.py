"""How findings are counted, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Severity, Verdict, above
from rmaudit.verdicts.told import OUTDATED, excuse, explain, reasons, tallied, tally
from tests.findings import but, found, gap, waived
from tests.verdicts.test_findings import judged


@given(st.lists(st.builds(judged, st.sampled_from(Verdict), blocks=st.booleans())))
def test_every_finding_is_tallied_once(findings: list[Finding]) -> None:
    """The counts sum to the number of findings, and their order changes nothing."""
    counted = tally(findings)

    assert sum(counted.values()) == len(findings)
    assert list(counted.items()) == list(tally(reversed(findings)).items())


def test_a_tally_in_words() -> None:
    """By result, and of each what follows from it."""
    made = [
        judged(Verdict.ERROR, blocks=True),
        judged(Verdict.SKIPPED),
        judged(Verdict.FAIL, blocks=True),
        judged(Verdict.PASS, severity=Severity.INFO),
        *[judged(Verdict.PASS)] * 2,
    ]

    said = "2 pass, 1 pass (info), 1 fail (blocks), 1 not run, 1 not run (blocks)"
    assert (tallied(made), tallied([])) == (said, "")


def test_a_failure_explains_itself() -> None:
    """Claim, number, bound and who set it, waiver, how to repeat it; the rest is in the report."""
    made = found(-0.3, -0.1, repeat="pytest x")
    assert made.estimate is not None
    measured = replace(made.estimate, n=1204, caveats=("Half of the words only.", "No others."))
    made = but(made, estimate=measured, bound=above(1, unit="sd"), waiver=waived("expired", "Old."))
    made = but(made, bound_by="models.yaml: bounds: skew")

    assert explain(made).splitlines() == [
        "skew[toy-best]: fail (blocks)",
        "  claim      It is skewed.",
        "  measured   -0.2 sd, 95 % interval -0.3 to -0.1, n = 1,204",
        "  bound      above 1 sd (models.yaml: bounds: skew; declared: above 1 sd)",
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
