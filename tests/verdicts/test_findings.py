"""The two words of a finding, and how it shows itself."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict, above
from rmaudit.verdicts.findings import Control, Finding, slipped
from tests.findings import but, estimated, found, gap, waived

FAILED = {Verdict.FAIL, Verdict.INCONCLUSIVE}
RESULTS = dict(
    zip(Verdict, [*Result][:3] + [Result.NOT_RUN] * 3, strict=True),
)


def judged(verdict: Verdict, **given: Any) -> Finding:
    """A finding with this verdict, that blocks nothing unless it is told to."""
    lost = verdict in (Verdict.ERROR, Verdict.SKIPPED, Verdict.NA)
    made = gap(verdict=verdict) if lost else found(0.1, 0.3)
    return but(made, **{"verdict": verdict, "blocks": False} | given)


@pytest.mark.parametrize("verdict", Verdict)
def test_the_two_words_of_a_finding(verdict: Verdict) -> None:
    """Only a gate's failure can be accepted, by a reason or by a waiver that holds.

    It hides no gap and no pass; what blocks says so whatever else is said of it.
    """
    accepted = Effect.ACCEPTED if verdict in FAILED else Effect.NONE
    effects = {
        "plain": (judged(verdict), Effect.NONE),
        "known": (judged(verdict, known="It is flat."), accepted),
        **{
            state: (judged(verdict, waiver=waived(state)), accepted)
            for state in ("waived", "expiring")
        },
        **{
            state: (judged(verdict, waiver=waived(state)), Effect.NONE)
            for state in ("expired", "reopened", "unneeded")
        },
        "info": (judged(verdict, severity=Severity.INFO, known="So."), Effect.INFO),
        "blocks": (judged(verdict, blocks=True), Effect.BLOCKS),
    }

    assert {name: made.effect for name, (made, _) in effects.items()} == {
        name: effect for name, (_, effect) in effects.items()
    }
    assert {made.result for made, _ in effects.values()} == {RESULTS[verdict]}


def test_a_finding_shows_itself() -> None:
    """In a line, and in a notebook escaped: what was found, and against what."""
    shown = repr(found(0.1, 0.3))

    assert all(part in shown for part in ("skew[toy-best]", "pass", "0.2 sd", "allowed"))
    lost = replace(gap(), reason="<b>no</b>")
    assert "not measured: <b>no</b>" in repr(lost)
    assert "<b>" not in lost._repr_html_()


@pytest.mark.parametrize(("lead", "better"), [(1.5, False), (2.5, True)])
def test_a_model_is_clearly_better_by_two_errors_of_the_difference(
    lead: float, *, better: bool
) -> None:
    """A null control that passes says nothing of a model that beats it by more than chance."""
    parts, none = (0.1, *[0.0] * 63), (0.0,) * 64
    error = 0.1 * math.sqrt(64 / 63)
    own = estimated(0.0, 2.0, 1.0, parts=parts)
    control = Control(Verdict.PASS, True, 1.0 - lead * error, 0.0, 2.0, parts=none)

    assert (slipped({"long words": control}, own, above(0, unit="sd")) == "") is better
