"""A run summed up: what it comes to, what failed (the clearest first), who accepts it, its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest

from rmaudit.report.summary import Failure, Summary, summarize
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict, below
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import Control, Finding
from rmaudit.verdicts.run_verdict import of_run
from tests.findings import but, estimated, found, gap, waived

FAILS = but(found(-0.3, -0.1), blocks=True)
UNSURE = but(found(-0.1, 0.3), blocks=True)
PASSES = found(0.1, 0.3)
ACCEPTED = but(FAILS, blocks=False, waiver=waived())
HIGH = but(FAILS, estimate=estimated(0.7, 0.8), bound=below(0.67, unit="sd"))
REGRESSED = but(PASSES, blocks=True, regressed="regressed against the blessed release of May")
NULL = Control(Verdict.PASS, True, 0.1, 0.0, 0.2)


def box(*findings: Finding) -> Summary:
    """The summary of a run that found this."""
    return summarize(findings, of_run(findings))


def blocking(*findings: Finding) -> list[Failure]:
    """The failures that block."""
    return box(*findings).failures(Effect.BLOCKS)


def blocks(audit: str, low: float, high: float, **given: Any) -> Finding:
    """A finding of this audit, whose bound is above 0, that blocks."""
    return but(found(low, high), audit=audit, blocks=True, **given)


@pytest.mark.parametrize(
    ("findings", "words", "gates"),
    [
        ([PASSES], "Passes", "1 gate: 1 pass"),
        ([FAILS], "Does not pass", "1 gate: 1 fail"),
        ([UNSURE], "Not established", "1 gate: 1 unsure"),
        ([gap()], "Not established", "1 gate: 1 not run"),
        (
            [gap(), gap("it broke", Verdict.ERROR, audit="informs", severity=Severity.INFO)],
            "Not established",
            "1 gate: 1 not run",
        ),
        ([gap(verdict=Verdict.NA)], "Passes", "no gate; 1 not asked for"),
        ([REGRESSED], "Does not pass", "1 gate: 1 regressed"),
        (
            [blocks("a", -3, -2), blocks("a", -3, -2, prompt="worst"), PASSES],
            "Does not pass",
            "2 gates: 1 pass, 1 fail",
        ),
        (
            [PASSES, but(ACCEPTED, audit="a"), gap(verdict=Verdict.NA, audit="b")],
            "Passes, with 1 accepted exception",
            "2 gates: 1 pass, 1 accepted; 1 not asked for",
        ),
    ],
)
def test_the_verdict_counts_gates(findings: Sequence[Finding], words: str, gates: str) -> None:
    """By the result of their rows; what informs is no gate."""
    informs = but(FAILS, audit="informs", blocks=False, severity=Severity.INFO)

    told = box(*findings, informs)

    assert (told.words, told.gates) == (words, gates)


@pytest.mark.parametrize(
    ("finding", "says"),
    [
        (FAILS, "-0.20 [-0.30, -0.10] sd, must be above 0: 0.20 too low"),
        (HIGH, "0.75 [0.70, 0.80] sd, must be below 0.67: 0.08 too high"),
        (UNSURE, "0.10 [-0.10, 0.30] sd, must be above 0: the interval crosses the bound"),
        (
            but(HIGH, verdict=Verdict.INCONCLUSIVE, reason="may be chance among 9"),
            (
                "0.75 [0.70, 0.80] sd, must be below 0.67: outside, "
                "but with so many gates that may be chance (Holm)"
            ),
        ),
        (
            blocks("a", 0.1, 0.3, verdict=Verdict.INCONCLUSIVE, controls={"long words": NULL}),
            "0.20 [0.10, 0.30] sd, must be above 0: a null control passes, so a pass shows nothing",
        ),
        (REGRESSED, "0.20 sd, must be above 0; regressed against the blessed release of May"),
        (
            but(PASSES, blocks=True, known="It is flat."),
            (
                "0.20 sd, must be above 0: it passes, though models.yaml expects it to fail: "
                "remove it from `known`"
            ),
        ),
    ],
)
def test_what_blocks_is_told_with_how_much(finding: Finding, says: str) -> None:
    """Value, interval, bound and distance; prompts that fail are one line, others are not in it."""
    (line,) = blocking(finding, but(finding, prompt="worst"), but(PASSES, prompt="other"))

    assert line.says == [("best", says), ("worst", says)]


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

    ordered = [line.row.audit for line in blocking(*(but(f, blocks=True) for f in findings), also)]

    assert ordered == [finding.audit for finding in reversed(findings)]


@pytest.mark.parametrize(
    ("finding", "excuses"),
    [
        (
            but(FAILS, waiver=waived("expired", says="its waiver expired (ana): It is small.")),
            ["Not accepted: its waiver expired (ana): It is small."],
        ),
        (but(FAILS, waiver=waived("unneeded", says="It is beside the point.")), []),
        (
            but(
                FAILS,
                blocks=False,
                waiver=waived(owner="Dr. Ana B. Lee", reason="Small. And more."),
                regressed="regressed, which the waiver accepts too",
            ),
            ["Accepted by Dr. Ana B. Lee until 2030-06-30, up to -0.5 sd: Small. And more."],
        ),
        (
            but(FAILS, blocks=False, known="It is so, e.g. here. And more of it."),
            ["Known flaw of the bundled model: It is so, e.g. here."],
        ),
    ],
)
def test_who_accepts_a_failure_or_did(finding: Finding, excuses: list[str]) -> None:
    """A waiver in full, since its end may be a promise; a known flaw by its first sentence."""
    told = box(finding)

    both = [told.failures(effect) for effect in (Effect.BLOCKS, Effect.ACCEPTED)]
    (line,) = both[0] if finding.blocks else both[1]
    assert line.excuses == excuses
    assert "regressed" not in line.says[0][1]
    assert len(both[0]) + len(both[1]) == 1


@dataclass(frozen=True)
class Loved(Evidence):
    """Evidence of what a model loves."""

    kind: Literal["loved in a test"] = "loved in a test"
    word: str = ""

    def example(self) -> str:
        """Return the word, if there is one."""
        return self.word and f"“{self.word}” ranks first"


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["", "war"], "“war” ranks first"), ([""], ""), (["a" * 999], f"“{'a' * 299}…")],
)
def test_a_row_that_blocks_gives_an_example(words: Sequence[str], expected: str) -> None:
    """The first that evidence has, cut where it is long."""
    shown = [
        but(FAILS, estimate=estimated(-0.3, -0.1, evidence=Loved(word=word))) for word in words
    ]

    assert [line.example for line in blocking(*shown)] == [expected]


def test_what_does_not_block_is_named_where_it_matters() -> None:
    """A gate that is not decided, and an audit that fails and only informs: neither is a pass."""
    shown = found(-0.1, 0.3, bound=below(0.0, unit="sd", shown=True))
    informs = but(FAILS, audit="informs", blocks=False, severity=Severity.INFO)

    told = box(shown, informs, but(PASSES, audit="fine"))

    assert [(each.audit, each.result) for each in told.undecided] == [("skew", Result.NOT_DECIDED)]
    assert [(each.audit, each.result) for each in told.informs] == [("informs", Result.FAIL)]


def test_what_is_missing_is_told_with_its_name_and_how_to_get_it() -> None:
    """In the audit's title; the page never asks its reader whether the run passes."""
    free = gap("no model; name one with --rm-baseline NAME", Verdict.NA, audit="model_agreement")
    told = box(PASSES, free, gap("no data", audit="elo", title="People"))

    assert told.means == "Do not release yet: one required check has no data (People)"
    assert [(each.why, each.how, each.titles, each.asked) for each in told.required] == [
        ("no model", "name one with --rm-baseline NAME", ["Model agreement"], False),
        ("no data", "", ["People"], True),
    ]


def test_a_pass_of_random_scores_too_is_doubted() -> None:
    """Where no gate of competence passes; another pass is not."""
    random = {"random": replace(NULL, stops=False)}
    doubted = but(PASSES, audit="identity_erasure", controls=random)

    told = box(blocks("framing_inversion", -3, -2), doubted, PASSES)

    assert [row.audit for row in told.doubted] == ["identity_erasure"]


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
        ([PASSES, UNSURE], Result.UNSURE, Effect.BLOCKS),
        ([ACCEPTED, UNSURE], Result.UNSURE, Effect.BLOCKS),
        ([ACCEPTED, PASSES], Result.FAIL, Effect.ACCEPTED),
        ([but(FAILS, blocks=False, severity=Severity.INFO)], Result.FAIL, Effect.INFO),
        ([gap(), PASSES], Result.NOT_RUN, Effect.NONE),
    ],
)
def test_a_row_has_the_result_of_what_blocks(
    findings: Sequence[Finding], result: Result, effect: Effect
) -> None:
    """An accepted failure beside it decides nothing; where nothing blocks it is the worst."""
    (row,) = box(*findings).rows

    assert (row.result, row.effect) == (result, effect)


def test_prompts_that_gate_decide_a_row() -> None:
    """Not those that models.yaml makes informational, whatever they are."""
    informs = but(FAILS, prompt="worst", blocks=False, severity=Severity.INFO)

    told = box(informs, PASSES)

    (row,) = told.rows
    assert (row.result, row.gate, row.shown) == (Result.PASS, True, informs)
    assert told.gates == "1 gate: 1 pass"
