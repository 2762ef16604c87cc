"""A run in rows: what a row comes to, and what was not measured, said once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rmaudit.report.summary import Row, count_gates, missing, summarize
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict
from rmaudit.verdicts.findings import Finding
from tests.findings import but, gap
from tests.report.page.test_scorecard import ACCEPTED, FAILS, PASSES, UNSURE


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
    row = Row(tuple(findings))

    assert (row.result, row.effect) == (result, effect)


def test_prompts_that_gate_decide_a_row() -> None:
    """Not those that models.yaml makes informational, whatever they are."""
    informs = but(FAILS, prompt="worst", blocks=False, severity=Severity.INFO)

    (row,) = summarize([informs, PASSES])

    assert (row.result, row.gate, row.shown) == (Result.PASS, True, informs)
    assert count_gates([row]) == "1 gate: 1 pass"


def test_a_reason_that_differs_by_the_models_name_is_said_once() -> None:
    """With all models that it holds for."""
    lost = [
        gap(f"{model}: no data; get it with: pytest audits --model {model}", model=model, audit="a")
        for model in ("M", "N")
    ]

    (said,) = missing(lost)
    assert (said.why, said.how) == ("no data", "pytest audits --model NAME")
    assert said.models == ["M", "N"]


def test_a_remedy_for_one_model_names_it() -> None:
    """So that it can be copied; what blocks comes first."""
    lost = [
        gap("M: no data; get it with: rmaudit data M", model="M", audit="a"),
        gap("it broke", Verdict.ERROR, model="M", audit="b"),
        gap("no model; name one with --rm-baseline NAME", Verdict.NA, model="M", audit="c"),
    ]

    assert [(each.why, each.how, each.titles, each.asked) for each in missing(lost)] == [
        ("it broke", "", ["B"], True),
        ("no data", "rmaudit data M", ["A"], True),
        ("no model", "name one with --rm-baseline NAME", ["C"], False),
    ]
