"""Answers to several prompts: whose texts count, in which units, and what cannot be compared."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rmaudit.errors import MeasureError
from rmaudit.measures.scores_by_prompt import Answers
from tests.measures.contract import ends
from tests.measures.framing import HAPPY, asked, planted, rho_of, slopes_of

BOTH = pytest.mark.parametrize("measure", [rho_of, slopes_of])


@BOTH
def test_rows_go_by_their_texts(measure: Any) -> None:
    """In another order under one prompt only."""
    answers = asked(planted(7))
    worst = answers["worst"].frame.sample(frac=1, random_state=0)

    found = measure({**answers, "worst": Answers(worst, -1, 0.0)})

    assert ends(found) == pytest.approx(ends(measure(answers)), abs=1e-9)


@BOTH
def test_what_one_prompt_lacks_is_left_out(measure: Any) -> None:
    """A word without a score under one prompt counts under none."""
    scores = planted(7)
    scores[2, :40] = math.nan
    scores[0, :40] = 1e-3  # its sd would not be that of the others' words

    assert measure(asked(scores)).n == 200


GOOD, BAD = ["greatest", "best"], ["worst"]


@BOTH
@pytest.mark.parametrize(
    ("kept", "best", "rating", "said"),
    [
        (GOOD, None, 1, "^framing needs a positive and a negative frame, got greatest, best$"),
        (BAD, None, 1, "a positive and a negative frame, got worst$"),
        ([], None, 1, "got no prompt$"),
        (GOOD + BAD, 0.1, 1, "^240 scores under 'best', all of them equal"),
        (GOOD + BAD, math.nan, 1, "^0 scores under 'best', all of them equal"),
        (GOOD + BAD, None, 0, r"that differ in valence are needed$"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    measure: Any, kept: list[str], best: float | None, rating: int, said: str
) -> None:
    """Frames of one kind, scores without an sd, and words of one valence."""
    scores = planted(0)
    if best is not None:
        scores[1] = best
    answers = asked(scores)

    with pytest.raises(MeasureError, match=said):
        measure({name: answers[name] for name in kept}, HAPPY * rating)
