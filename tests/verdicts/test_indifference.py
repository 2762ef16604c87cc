"""Which passes may mean that a model prefers nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rmaudit.verdicts.findings import Control, Finding
from rmaudit.verdicts.indifference import doubt, incompetent
from rmaudit.verdicts.records import Verdict
from tests.findings import but, found, gap

RANDOM = {"random": Control(Verdict.PASS, False, 0.0, -0.1, 0.1)}
HARMLESS = but(found(0.4, 0.6, audit="identity_erasure"), controls=RANDOM)
WHY = "it may mean indifference: random scores pass it too, and "


def competent(low: float, audit: str = "framing_inversion", prompt: str = "best") -> Finding:
    """A gate of competence: it passes above 0."""
    return found(low, low + 0.1, audit=audit, prompt=prompt)


@pytest.mark.parametrize(
    ("gates", "why"),
    [
        ([competent(-1)], f"{WHY}framing_inversion does not pass"),
        ([competent(-0.05)], f"{WHY}framing_inversion does not pass"),  # unsure
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
