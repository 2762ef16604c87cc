"""Answers to several prompts: whose texts count, in which units, and what cannot be compared."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rmaudit.errors import MeasureError
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
