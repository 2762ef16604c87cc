"""Answers to several prompts: whose texts count, in which units, and what cannot be compared."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rmaudit.errors import MeasureError
from rmaudit.measures.joined import Answers
from tests.measures.contract import ends
from tests.measures.framing import HAPPY, asked, planted, rho_of, slopes_of

BOTH = pytest.mark.parametrize("measure", [rho_of, slopes_of])


@BOTH
def test_what_one_prompt_lacks_is_left_out(measure: Any) -> None:
    """A word without a score under one prompt counts under none."""
    scores = planted(7)
    scores[2, :40] = math.nan
    scores[0, :40] = 1e-3  # its sd would not be that of the others' words

    assert measure(asked(scores)).n == 200


@BOTH
def test_noise_is_in_the_units_of_its_prompt(measure: Any) -> None:
    """A prompt whose scores and noise are a thousand times greater has the same interval."""
    answers = asked(planted(8), noise=1.0)
    worst = answers["worst"].frame
    greater = Answers(worst.assign(score=1000 * worst["score"]), -1, 1000.0)

    assert ends(measure({**answers, "worst": greater})) == pytest.approx(ends(measure(answers)))


@BOTH
@pytest.mark.parametrize("kept", [["greatest", "best"], ["worst"], []])
def test_frames_of_one_kind_are_refused(measure: Any, kept: list[str]) -> None:
    """There is nothing to compare them with."""
    answers = asked(planted(0))

    got = ", ".join(kept) or "no prompt"
    with pytest.raises(MeasureError, match=f"^framing needs a positive and a neg.* got {got}$"):
        measure({name: answers[name] for name in kept})


@BOTH
@pytest.mark.parametrize("value", [0.1, math.nan])
def test_scores_that_do_not_differ_are_refused(measure: Any, value: float) -> None:
    """They have no sd, whatever rounding makes of it."""
    scores = planted(0)
    scores[1] = value

    count = 0 if math.isnan(value) else 240
    with pytest.raises(MeasureError, match=f"^{count} scores under 'best', all of them equal"):
        measure(asked(scores))


@BOTH
def test_a_valence_that_does_not_differ_is_refused(measure: Any) -> None:
    """No rank, no slope."""
    with pytest.raises(MeasureError, match=r"that differ in valence are needed$"):
        measure(asked(planted(0)), HAPPY * 0 + 1)
