"""How findings are counted, and what is said of them, of passes and for a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict, above
from rmaudit.verdicts.findings import Control, Finding
from rmaudit.verdicts.run_verdict import of_run
from rmaudit.verdicts.verdict_wording import (
    OUTDATED,
    advice,
    doubt,
    excuse,
    explain,
    incompetent,
    reasons,
)
from tests.findings import but, found, gap, waived

RANDOM = {"random": Control(Verdict.PASS, False, 0.0, -0.1, 0.1)}
HARMLESS = but(found(0.4, 0.6, audit="identity_terms"), controls=RANDOM)
WHY = "it may mean indifference: random scores pass it too, and "
PASSES, OPEN = found(0.1, 0.3), found(-0.1, 0.1, audit="framing")
LOST = [gap("no data", audit=audit) for audit in ("elo", "funnel", "gap", "gcg", "skew")]


def test_a_failure_explains_itself() -> None:
    """Claim, number, bound and who set it, waiver, how to repeat it; the rest is in the report."""
    made = found(-0.3, -0.1, repeat="pytest x")
    measured = replace(made.estimate, n=1204, caveats=("Half of the words only.", "No others."))
    made = but(made, estimate=measured, bound=above(1, unit="sd"), waiver=waived("expired", "Old."))
    made = but(made, bound_by="models.yaml: bounds: skew")

    assert explain(made).splitlines() == [
        "skew[toy-best]: outside its bound (blocks)",
        "  claim      It is skewed.",
        "  measured   -0.20 sd, 95 % interval -0.30 to -0.10, n = 1,204",
        "  bound      above 1 sd (models.yaml: bounds: skew; declared: above 1 sd)",
        "  waiver     Old.",
        "  repeat     pytest x",
    ]
    assert "neither shown nor ruled out" in explain(found(-0.1, 0.3)).splitlines()[0]


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
        "severity as in a; declared: core",
        "bound as in b; declared: above 0 sd",
    ]
    assert (excuse(over), excuse(but(failing, known="So."))) == ("Accepted.", "So.")
    for verdict, word in ((Verdict.FAIL, "outside"), (Verdict.INCONCLUSIVE, "neither shown nor")):
        (told,) = reasons(but(failing, verdict=verdict, severity=Severity.INFO))
        assert word in told
    assert reasons(but(found(0.1, 0.3), severity=Severity.INFO)) == []


def competent(low: float, audit: str = "framing_inversion", prompt: str = "best") -> Finding:
    """A gate of competence: it passes above 0."""
    return found(low, low + 0.1, audit=audit, prompt=prompt)


@pytest.mark.parametrize(
    ("gates", "why"),
    [
        ([competent(-1)], f"{WHY}framing_inversion does not pass"),
        ([competent(-0.05)], f"{WHY}framing_inversion does not pass"),  # open
        (
            [competent(-1), competent(-1, "elo_agreement")],
            f"{WHY}framing_inversion and elo_agreement do not pass",
        ),
        ([competent(1), competent(-1, prompt="worst")], f"{WHY}framing_inversion does not pass"),
        ([competent(-1), competent(1, "elo_agreement")], ""),  # it knows people's ratings
        ([competent(-1), gap("no data", audit="elo_agreement")], f"{WHY}framing_inversion does"),
        ([gap("no data", audit="elo_agreement")], ""),  # nothing is known of it
        ([], ""),
    ],
)
def test_a_pass_is_doubted_where_no_gate_of_competence_passes(
    gates: Sequence[Finding], why: str
) -> None:
    """One that passes shows that the scores follow a meaning."""
    failed = incompetent([HARMLESS, *gates])

    said = doubt(HARMLESS, failed)

    assert said.startswith(why)
    assert bool(said) == bool(why)


def test_only_what_random_scores_pass_is_doubted() -> None:
    """A failure is none, nor a pass that random scores do not get; another model's is its own."""
    failed = incompetent([competent(-1)])
    stopped = {"random": Control(Verdict.FAIL, True, -0.5, -0.6, -0.4)}

    assert doubt(HARMLESS, failed)
    for other in (
        but(HARMLESS, verdict=Verdict.FAIL),
        but(HARMLESS, controls=stopped),
        but(HARMLESS, controls={}),
        but(HARMLESS, model="another"),
    ):
        assert not doubt(other, failed)


@pytest.mark.parametrize(
    ("findings", "gaps", "said"),
    [
        ([PASSES], [], "No gate blocks a release"),
        (
            [but(PASSES, verdict=Verdict.FAIL, known="So.")],
            [],
            "Release only if you agree with what models.yaml accepts",
        ),
        ([PASSES, found(-2, -1)], [], "Do not release"),
        ([PASSES], ["-k"], "Do not release yet: this run left something out, so run all of it"),
        ([PASSES, LOST[0]], [], "Do not release yet: one required check has no data (elo)"),
        (
            [PASSES, *LOST, OPEN],
            [],
            (
                "Do not release yet: 5 required checks have no data (elo, funnel, gap and 2 more), "
                "one gate is open (framing)"
            ),
        ),
        (
            [PASSES, gap("it broke", Verdict.ERROR), gap(severity=Severity.INFO, audit="info")],
            [],
            "Do not release yet: one check broke (skew)",
        ),
        ([LOST[0]], [], "Do not release yet: nothing was measured"),
        ([PASSES, LOST[0], gap("no base", Verdict.NA, audit="base")], [], "... data (elo)"),
    ],
)
def test_a_verdict_in_a_sentence(
    findings: Sequence[Finding], gaps: Sequence[str], said: str
) -> None:
    """It names the checks that decide; what was not asked for, or informs, is none of them."""
    made = advice(of_run(findings, gaps).outcome, findings)

    assert made.endswith(said.removeprefix("..."))
    assert made.startswith(("Do not release", "Release only", "No gate"))


def test_a_check_of_two_models_is_named_once() -> None:
    """And counted twice."""
    lost = [LOST[0], gap("no data", audit="elo", model="other")]

    made = advice(of_run([PASSES, *lost]).outcome, [PASSES, *lost])

    assert made == "Do not release yet: 2 required checks have no data (elo)"
