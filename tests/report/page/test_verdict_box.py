"""The verdict of the page: which result a row has, and what is said of a row that blocks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rmaudit.report.page.scorecard import ScorecardRow
from rmaudit.report.page.verdict_box import Box, gates_in_words, verdict
from rmaudit.report.results_of_run import collect
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.outcome import Outcome
from rmaudit.verdicts.records import Effect, Result, Severity, Verdict, below
from tests.findings import but, found, gap, waived
from tests.report.test_document import RUN, SPEC

FAILS = but(found(-0.3, -0.1), blocks=True)
UNSURE = but(found(-0.1, 0.3), blocks=True)
PASSES = found(0.1, 0.3)


def row(*findings: Finding) -> ScorecardRow:
    """A row of these, of one audit."""
    return ScorecardRow(findings[0].audit, "row", findings, None)


def box(*findings: Finding) -> Box:
    """The verdict of a run of one audit, which found this."""
    return verdict(collect(RUN, [SPEC], [], findings), [row(*findings)])


@pytest.mark.parametrize(
    ("findings", "result", "effect"),
    [
        ([FAILS, PASSES], Result.FAIL, Effect.BLOCKS),
        ([PASSES, UNSURE], Result.UNSURE, Effect.BLOCKS),
        ([but(FAILS, blocks=False, waiver=waived()), UNSURE], Result.UNSURE, Effect.BLOCKS),
        ([but(FAILS, blocks=False, waiver=waived()), PASSES], Result.FAIL, Effect.ACCEPTED),
        ([but(FAILS, blocks=False, severity=Severity.INFO)], Result.FAIL, Effect.INFO),
        ([gap(), PASSES], Result.NOT_RUN, Effect.NONE),
    ],
)
def test_a_row_has_the_result_of_what_blocks(
    findings: Sequence[Finding], result: Result, effect: Effect
) -> None:
    """An accepted failure beside it decides nothing; where nothing blocks it is the worst."""
    assert (row(*findings).result, row(*findings).effect) == (result, effect)


def test_what_does_not_block_is_named_where_it_matters() -> None:
    """A gate that is not decided, and an audit that fails and only informs: neither is a pass."""
    shown = found(-0.1, 0.3, bound=below(0.0, unit="sd", shown=True))
    informs = but(FAILS, blocks=False, severity=Severity.INFO)

    undecided, failing, passing = box(shown), box(informs), box(PASSES)

    assert [each.result for each in undecided.undecided] == [Result.NOT_DECIDED]
    assert [each.result for each in failing.informs] == [Result.FAIL]
    assert (undecided.informs, failing.undecided) == ([], [])
    assert (passing.informs, passing.undecided) == ([], [])


def test_a_regression_is_said_after_the_value() -> None:
    """Of a pass that is clearly worse than in the blessed release."""
    worse = but(PASSES, blocks=True, regressed="regressed against the blessed release of May")

    told = box(worse)

    assert told.blocking[0].says[0][1].endswith("; regressed against the blessed release of May")
    assert told.outcome is Outcome.FAILS
    assert "1 regressed" in told.gates


def test_what_is_accepted_stands_apart_with_who_accepted_it() -> None:
    """It is neither counted as a pass nor as a failure."""
    accepted = but(FAILS, blocks=False, waiver=waived(reason="It is small. And more."))

    told = box(accepted)

    assert told.blocking == []
    (line,) = told.accepted
    excuse = "Accepted by me until 2030-06-30, up to -0.5 sd: It is small. And more."
    assert line.excuses == [excuse]
    assert told.gates == "0 of 1 gates pass, 1 does not pass but is accepted"


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([PASSES], "1 of 1 gates passes"),
        ([FAILS], "0 of 1 gates pass, 1 fails"),
        ([UNSURE], "0 of 1 gates pass, 1 is unsure"),
        ([gap()], "0 of 1 gates pass, 1 was not measured"),
        ([gap(verdict=Verdict.NA)], "No gate was asked for"),
    ],
)
def test_gates_are_counted_in_words(findings: Sequence[Finding], said: str) -> None:
    """By the result of their rows."""
    assert gates_in_words([row(*findings)]) == said
