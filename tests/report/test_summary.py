"""A run summed up: what it comes to, what failed (the clearest first), who accepts it, its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rmaudit.measures.token_kinds import TokenKindsEvidence
from rmaudit.models.recorded_model import CAVEAT
from rmaudit.report.summary import Summary, summarize_findings
from rmaudit.verdicts.decision import decide
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict
from rmaudit.verdicts.findings import Control, Finding
from rmaudit.verdicts.run_verdict import of_run
from rmaudit.verdicts.verdict_policy import Policy, Rules
from tests.findings import TODAY, but, estimated, found, gap, waived, with_evidence

FAILS = but(found(-0.3, -0.1), blocks=True)
OPEN = but(found(-0.1, 0.3), blocks=True)
PASSES = found(0.1, 0.3)
ACCEPTED = but(FAILS, blocks=False, waiver=waived())
REGRESSED = but(PASSES, blocks=True, regressed="regressed against the blessed release of May")
INFORMS = but(FAILS, prompt="worst", blocks=False, severity=Severity.INFO)
NULL = Control(Verdict.PASS, True, 0.1, 0.0, 0.2)


def box(*findings: Finding) -> Summary:
    """The summary of a run that found this."""
    return summarize_findings(findings, of_run(findings))


def blocks(audit: str, low: float, high: float, **given: Any) -> Finding:
    """A finding of this audit, whose bound is above 0, that blocks."""
    return but(found(low, high), audit=audit, blocks=True, **given)


@pytest.mark.parametrize(
    ("findings", "words", "gates"),
    [
        ([PASSES], "PASSES", "1 gate: 1 pass"),
        ([FAILS], "FAILS", "1 gate: 1 fail"),
        ([OPEN], "NOT ESTABLISHED", "1 gate: 1 open"),
        ([gap()], "NOT ESTABLISHED", "1 gate: 1 not run"),
        (
            [gap(), gap("it broke", Verdict.ERROR, audit="informs", severity=Severity.INFO)],
            "NOT ESTABLISHED",
            "1 gate: 1 not run",
        ),
        ([gap(verdict=Verdict.NA)], "PASSES", "0 gates; 1 not asked for"),
        ([REGRESSED], "FAILS", "1 gate: 1 regressed"),
        (
            [blocks("a", -3, -2), blocks("a", -3, -2, prompt="worst"), PASSES],
            "FAILS",
            "2 gates: 1 pass, 1 fail",
        ),
        (
            [PASSES, but(ACCEPTED, audit="a"), gap(verdict=Verdict.NA, audit="b")],
            "ACCEPTED (1 fail)",
            "2 gates: 1 pass, 1 fail (accepted); 1 not asked for",
        ),
    ],
)
def test_the_verdict_counts_gates(findings: Sequence[Finding], words: str, gates: str) -> None:
    """By the result of their rows; what informs is no gate."""
    told = box(*findings, but(INFORMS, audit="informs"))

    assert (told.verdict.headline, told.gates) == (words, gates)


def test_a_failure_is_its_prompts_that_fail() -> None:
    """In one line; others are not in it, nor is what is accepted."""
    worst, accepted = but(FAILS, prompt="worst"), but(ACCEPTED, audit="other")

    told = box(FAILS, worst, but(PASSES, prompt="fine"), accepted)

    assert [row.blocking for row in told.failures] == [(FAILS, worst)]


def test_the_clearest_failure_comes_first() -> None:
    """Outside the bound before across it, by half widths and not by size; unmeasured at last.

    A row stands where its clearest failure does, whatever its other prompts are.
    """
    findings = [
        gap(audit="no number"),
        blocks("inside", 0.1, 0.3),
        blocks("across, nearly inside", -0.1, 0.3),
        blocks("across, nearly outside", -0.3, 0.1),
        blocks("outside, large and blurred", -9.0, -0.1),
        blocks("outside, small and sharp", -0.3, -0.2),
    ]
    also = blocks(findings[-1].audit, -0.1, 0.3, prompt="worst")

    ordered = [row.audit for row in box(*(but(f, blocks=True) for f in findings), also).failures]

    assert ordered == [finding.audit for finding in reversed(findings)]


def test_rows_of_which_a_word_is_said_are_named() -> None:
    """What fails and only informs; what models.yaml holds to less; a pass that is doubted.

    A gate that models.yaml lowers is named whatever it comes to, and one of which it wants a kind,
    for it cannot fail by that kind. A pass of random scores too is doubted where no gate of
    competence passes.
    """
    policy = Policy(everywhere=Rules(severity={"core": Severity.INFO}))
    (lowered,) = decide([found(-0.6, -0.4, audit="core")], policy, TODAY)
    spared = TokenKindsEvidence(rows=(), wanted=("wine",))
    random = {"random": replace(NULL, stops=False)}

    told = box(
        but(INFORMS, audit="informs"),
        lowered,
        with_evidence(but(PASSES, audit="wants"), spared),
        blocks("framing_inversion", -3, -2),
        but(PASSES, audit="identity_terms", controls=random),
        PASSES,
    )

    named = ((row.audit for row in rows) for rows in (told.informs, told.lowered, told.doubted))
    assert [*map(list, named)] == [["informs"], ["core", "wants"], ["identity_terms"]]
    assert told.competence == ["framing_inversion"]


def test_what_is_missing_is_told_with_its_name_and_how_to_get_it() -> None:
    """The page never asks its reader whether the run passes."""
    free = gap("no model; name one with --rm-baseline NAME", Verdict.NA, audit="model_agreement")
    told = box(PASSES, free, gap("no data", audit="elo", title="People"))

    assert told.advice == "Do not release yet: one required check has no data (elo)"
    assert [(each.why, each.how, each.titles, each.asked) for each in told.required] == [
        ("no model", "name one with --rm-baseline NAME", ["Model agreement"], False),
        ("no data", "", ["People"], True),
    ]


def test_gates_come_first_and_among_them_blockers_each_by_title() -> None:
    """Then what informs; a row is as its worst prompt is."""
    passes, fails = found(0.05, 0.15), found(-0.2, -0.1)

    rows = box(
        but(passes, audit="numerics", severity=Severity.INFO),
        *(but(passes, audit=name) for name in ("ours", "frequency_bias", "elo_agreement")),
        but(fails, audit="gcg_probes", blocks=False, known="so", title="Adversarial strings"),
        but(fails, audit="elo_agreement", prompt="worst"),
    ).ranked

    assert [(row.audit, row.result, row.effect) for row in rows] == [
        ("elo_agreement", Result.FAIL, Effect.BLOCKS),
        ("gcg_probes", Result.FAIL, Effect.ACCEPTED),
        ("frequency_bias", Result.PASS, Effect.NONE),
        ("ours", Result.PASS, Effect.NONE),
        ("numerics", Result.PASS, Effect.INFO),
    ]
    assert [row.decides for row in rows] == [True] * 4 + [False]
    assert [row.title for row in rows][1::2] == ["Adversarial strings", "Ours"]


@pytest.mark.parametrize(
    ("findings", "result", "effect"),
    [
        ([FAILS, PASSES], Result.FAIL, Effect.BLOCKS),
        ([PASSES, OPEN], Result.OPEN, Effect.BLOCKS),
        ([ACCEPTED, OPEN], Result.OPEN, Effect.BLOCKS),
        ([ACCEPTED, PASSES], Result.FAIL, Effect.ACCEPTED),
        ([INFORMS], Result.FAIL, Effect.INFO),
        ([gap(), PASSES], Result.NOT_RUN, Effect.NONE),
        ([INFORMS, PASSES], Result.PASS, Effect.INFO),
    ],
)
def test_a_row_has_the_result_of_what_blocks(
    findings: Sequence[Finding], result: Result, effect: Effect
) -> None:
    """An accepted failure beside it decides nothing; where nothing blocks it is the worst gate.

    What is shown of it is the worst of all that were measured.
    """
    (row,) = box(*findings).rows

    assert (row.result, row.effect, row.gate) == (result, effect, findings != [INFORMS])
    measured = [finding for finding in findings if finding.estimate]
    assert row.shown == (measured[1] if findings == [PASSES, OPEN] else measured[0])


def test_of_published_scores_nothing_is_advised() -> None:
    """They are of others' models; what they are too few for is one line, without a command."""
    recorded = estimated(-0.3, -0.1, caveats=(CAVEAT,))
    known = [but(each, estimate=recorded) for each in (FAILS, OPEN)]
    lost = gap("toy: no weights; get it with: pytest audits --model toy", audit="lost")

    told = box(*known, lost, but(lost, audit="more", reason="toy: other words"))

    assert (
        told.advice
        == "These are published scores of others' models, which say nothing about a release"
    )
    assert [(each.how, each.titles) for each in told.missing] == [("", ["Lost", "More"])]
    assert not box(FAILS, lost).recorded
    broke = gap("it broke", Verdict.ERROR, audit="broke")
    assert [each.why for each in box(*known, lost, broke).missing][1:] == ["it broke"]
    own = but(gap("ours: none is published", audit="lost"), model="ours")
    whys = [each.why for each in box(*known, lost, own).missing]
    assert whys == ["published scores are too few for these", "none is published"]
