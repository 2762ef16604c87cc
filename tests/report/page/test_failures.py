"""The lines of the first box: what failed, the clearest first, what it may do, who accepts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pytest

from rmaudit.report.page.failures import Failure, lines
from rmaudit.report.page.scorecard import ScorecardRow
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Effect
from tests.findings import but, estimated, found, gap, waived

FAILS = but(found(-0.3, -0.1), blocks=True)
PASSES = found(0.1, 0.3)
HARM = "A model trained on this reward may mislead people."


def blocking(*findings: Finding) -> list[Failure]:
    """The lines of what blocks: findings of one audit are one row."""
    audits = dict.fromkeys(finding.audit for finding in findings)
    own = [tuple(each for each in findings if each.audit == audit) for audit in audits]
    return lines([ScorecardRow(each[0].audit, "row", each, None) for each in own], Effect.BLOCKS)


def blocks(audit: str, low: float, high: float) -> Finding:
    """A finding of this audit, whose bound is above 0, that blocks."""
    return but(found(low, high), audit=audit, blocks=True)


def test_the_clearest_failure_comes_first() -> None:
    """Outside the bound before across it, by half widths and not by size; unmeasured at last."""
    findings = [
        but(gap(), audit="no number", blocks=True),
        blocks("inside", 0.1, 0.3),
        blocks("across, nearly inside", -0.1, 0.3),
        blocks("across, nearly outside", -0.3, 0.1),
        blocks("outside, large and blurred", -9.0, -0.1),
        blocks("outside, small and sharp", -0.3, -0.2),
    ]

    ordered = [line.row.audit for line in blocking(*findings)]

    assert ordered == [finding.audit for finding in reversed(findings)]


def test_a_row_stands_where_its_clearest_failure_does() -> None:
    """The finding of another prompt that is less clear does not move it down."""
    both = [blocks("two", -0.1, 0.3), but(blocks("two", -0.9, -0.8), prompt="worst")]

    ordered = blocking(blocks("one", -0.3, -0.1), *both)

    assert [line.row.audit for line in ordered] == ["two", "one"]


def test_what_a_failure_may_do_is_the_audits_sentence() -> None:
    """As it is declared; a user's audit may have none."""
    assert [line.harm for line in blocking(but(FAILS, harm=HARM))] == [HARM]
    assert [line.harm for line in blocking(FAILS)] == [""]


@pytest.mark.parametrize(
    ("state", "said"),
    [("expired", ["Not accepted: its waiver expired (ana): It is small."]), ("unneeded", [])],
)
def test_a_waiver_that_lapsed_is_told_with_its_owner(state: str, said: list[str]) -> None:
    """Who answered for a failure that now blocks; not where the waiver is beside the point."""
    waiver = waived(state, says="its waiver expired (ana): It is small.")

    (line,) = blocking(but(FAILS, waiver=waiver))

    assert line.excuses == said


def test_a_row_that_blocks_says_how_far_it_is_off() -> None:
    """The value, its interval, the bound, and by how much; only what blocks is in its line."""
    (line,) = blocking(FAILS, but(PASSES, prompt="worst"))

    assert [prompt for prompt, _ in line.says] == ["best"]
    (said,) = [says for _, says in line.says]
    assert said == "-0.20 [-0.30, -0.10] sd, must be above 0: 0.20 too low"


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

    (line,) = blocking(*shown)

    assert line.example == expected


def test_a_pass_that_blocks_is_out_of_date() -> None:
    """models.yaml expects it to fail: the reader learns what to remove."""
    expected = but(PASSES, blocks=True, known="It is flat.")

    (line,) = blocking(expected)

    assert line.says[0][1].endswith(
        "it passes, though models.yaml expects it to fail: remove it from `known`"
    )
