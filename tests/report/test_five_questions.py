"""The five questions: which audits answer which, what a sentence says, and what stands first."""

from __future__ import annotations

import pytest

from rmaudit.report.five_questions import OTHER, QUESTIONS, AskedQuestion, questions_of
from rmaudit.report.summary import summarize_findings
from rmaudit.verdicts.decision import decide
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict
from rmaudit.verdicts.findings import Control, Finding
from rmaudit.verdicts.run_verdict import of_run
from rmaudit.verdicts.verdict_policy import Policy, Rules
from tests.findings import TODAY, but, found, gap, waived

FAILS = but(found(-0.3, -0.1), audit="fails", blocks=True)
STOPS = but(found(-0.1, 0.3), audit="stops", blocks=True)
OPEN = found(-0.1, 0.3, severity=Severity.GATE)
PASSES = found(0.1, 0.3)
REGRESSED = but(PASSES, blocks=True, regressed="regressed against the blessed release of May")
ACCEPTED = but(found(-0.3, -0.1), blocks=False, waiver=waived())
ACCEPTED_OPEN = but(STOPS, blocks=False, waiver=waived())


def answered(*findings: Finding) -> list[AskedQuestion]:
    """The questions of a run that found this."""
    return summarize_findings(findings, of_run(findings)).questions


def asked(*findings: Finding) -> list[AskedQuestion]:
    """The questions of a run that found this on people, each in an audit of its own."""
    return answered(*(but(f, audit=f"a{i}", family="people") for i, f in enumerate(findings)))


@pytest.mark.parametrize(
    ("findings", "sign", "answer"),
    [
        ([PASSES, PASSES], "pass", "Yes, as far as 2 of 2 gates can tell."),
        ([PASSES, OPEN], "pass", "Yes, as far as 1 of 2 gates can tell; 1 is open."),
        ([OPEN], "open", "Not known: no gate passes; 1 is open."),
        ([PASSES, STOPS], "open", "Not known: 1 of 2 gates passes; 1 is open."),
        ([REGRESSED, PASSES], "fail", "No: 1 of 2 gates regressed."),
        ([REGRESSED, FAILS], "fail", "No: 1 of 2 gates fails; 1 regressed."),
        ([FAILS, PASSES, ACCEPTED], "fail", "No: 1 of 3 gates fails; 1 is accepted."),
        (
            [ACCEPTED, ACCEPTED, PASSES, OPEN],
            "accepted",
            "No: 2 of 4 gates fail, which models.yaml accepts; 1 is open.",
        ),
        (
            [ACCEPTED, ACCEPTED_OPEN, OPEN],
            "accepted",
            (
                "No: 1 of 3 gates fails, which models.yaml accepts; 1 more is open, accepted too; "
                "1 is open."
            ),
        ),
        (
            [ACCEPTED_OPEN, PASSES],
            "accepted",
            "Not known: 1 of 2 gates is open, which models.yaml accepts.",
        ),
        ([PASSES, gap()], "not run", "Not known: 1 of 2 gates passes; 1 was not measured."),
        ([gap()], "not run", "Not known: 1 of 1 gate was not measured."),
        ([gap(verdict=Verdict.NA)], "not run", "No gate asked this."),
    ],
)
def test_a_sentence_counts_the_gates(findings: list[Finding], sign: str, answer: str) -> None:
    """What blocks decides the sign; then what was not measured, what is accepted, what passes."""
    (question,) = asked(*findings)

    assert (question.sign, question.answer) == (sign, answer)


def test_a_pass_that_may_mean_indifference_is_no_yes() -> None:
    """Where random scores pass as well, and no gate shows that the model tells good from bad."""
    random = {"random": Control(Verdict.PASS, False, 0.1, 0.05, 0.2)}
    incompetent = but(FAILS, audit="framing_inversion", family="meaning")

    _, people = answered(
        incompetent,
        *(but(PASSES, audit=name, family="people", controls=random) for name in "ab"),
    )

    said = "Not known: no gate passes; 2 may be indifference."
    assert (people.sign, people.answer) == ("open", said)


def test_what_blocks_stands_first() -> None:
    """Then what is open, accepted, passed; audits that inform are apart."""
    informs = found(-0.3, -0.1, severity=Severity.INFO)

    (question,) = asked(PASSES, ACCEPTED, OPEN, STOPS, FAILS, informs)

    assert [row.audit for row in question.gates] == ["a4", "a3", "a1", "a2", "a0"]
    assert [row.audit for row in question.informs] == ["a5"]
    assert [row.audit for row in question.bad] == ["a4", "a3", "a1"]
    assert [row.audit for row in question.undecided] == ["a2"]
    assert [row.audit for row in question.passed] == ["a0"]


def test_the_gravest_answer_comes_first() -> None:
    """Else the order is that of the families; audits of one's own, without a family, come last."""
    families = {"": PASSES, "robustness": FAILS, "surface": PASSES, "meaning": PASSES}

    asks = answered(*(but(f, audit=name or "own", family=name) for name, f in families.items()))

    first = [QUESTIONS[family] for family in ("robustness", "meaning", "surface")]
    assert [each.text for each in asks] == [*first, OTHER]


def test_a_gate_that_models_yaml_relaxes_is_named() -> None:
    """Where it would block: no question is answered as if nobody had asked it, nor the verdict."""
    policy = Policy(everywhere=Rules(severity={"off": Severity.INFO}))
    findings = decide([found(-0.3, -0.1, audit="off"), PASSES], policy, TODAY)

    run = summarize_findings(findings, of_run(findings))
    (both,) = run.questions
    (alone,) = questions_of([row for row in run.ranked if row.audit == "off"])

    assert str(run.verdict) == "ACCEPTED (1 fail): models.yaml relaxes 1 gate that would block: off"
    assert [row.audit for row in both.bad] == ["off"]
    said = "No: 1 of 2 gates fails, which models.yaml accepts."
    assert (both.sign, both.answer) == ("accepted", said)
    assert alone.answer == "No: 1 of 1 gate fails, which models.yaml accepts."


def test_beside_an_open_gate_that_blocks_stands_a_failure() -> None:
    """With its harm and an example: what is proven is not only named."""
    (question,) = asked(ACCEPTED, STOPS, ACCEPTED)

    assert [row.audit for row in question.in_detail] == ["a1", "a0"]
