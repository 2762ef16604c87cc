"""What a verdict means for a release, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rmaudit.verdicts.advice import advice
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.outcome import of_run
from rmaudit.verdicts.records import Severity, Verdict
from tests.findings import found, gap

PASSES, UNSURE = found(0.1, 0.3), found(-0.1, 0.1, audit="framing")
LOST = [gap("no data", audit=audit) for audit in ("elo", "funnel", "gap", "gcg", "skew")]


@pytest.mark.parametrize(
    ("findings", "gaps", "said"),
    [
        ([PASSES], [], "No gate blocks a release"),
        ([PASSES, found(-2, -1)], [], "Do not release"),
        ([PASSES], ["-k"], "Do not release yet: this run left something out, so run all of it"),
        ([PASSES, LOST[0]], [], "Do not release yet: one required check has no data (elo)"),
        (
            [PASSES, *LOST, UNSURE],
            [],
            (
                "Do not release yet: 5 required checks have no data (elo, funnel, gap and 2 more), "
                "one gate is unsure (framing)"
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
    assert made.startswith(("Do not release", "No gate"))


def test_checks_are_called_as_their_reader_knows_them() -> None:
    """By their titles on the page; one of two models is counted twice and named once."""
    lost = [LOST[0], gap("no data", audit="elo", model="other")]

    made = advice(of_run([PASSES, *lost]).outcome, [PASSES, *lost], lambda each: each.title)

    assert made == "Do not release yet: 2 required checks have no data (Elo)"
