"""Answers to several prompts: whose texts count, in which units, and what cannot be compared."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmaudit.errors import MeasureError
from rmaudit.measures.joined import Answers
from tests.measures.framing import HAPPY, asked, ends, planted, rho_of, slopes_of

SEEDS = st.integers(0, 999)


quick = settings(max_examples=15, deadline=None)


BOTH = pytest.mark.parametrize("measure", [rho_of, slopes_of])


@quick
@given(seed=SEEDS)
@BOTH
def test_order_and_spellings_do_not_matter(measure: Any, seed: int) -> None:
    """Rows shuffled under one prompt only, and all words spelt in a second way."""
    answers = asked(planted(seed))
    rng = np.random.default_rng(seed)
    changed = {}
    for i, (name, each) in enumerate(answers.items()):
        again = each.frame.assign(text=" " + each.frame["text"].str.title())
        both = pd.concat([each.frame, again], ignore_index=True)
        order = rng.permutation(len(both)) if i else np.arange(len(both))
        changed[name] = Answers(both.iloc[order], each.sign)

    found = measure(changed)

    assert ends(found) == pytest.approx(ends(measure(answers)), abs=1e-9)
    assert found.n == 240


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

    with pytest.raises(MeasureError) as caught:
        measure({name: answers[name] for name in kept})

    got = ", ".join(kept) or "no prompt"
    assert str(caught.value) == f"framing needs a positive and a negative frame, got {got}"


@BOTH
@pytest.mark.parametrize("value", [0.1, math.nan])
def test_scores_that_do_not_differ_are_refused(measure: Any, value: float) -> None:
    """They have no sd, whatever rounding makes of it."""
    scores = planted(0)
    scores[1] = value

    with pytest.raises(MeasureError) as caught:
        measure(asked(scores))

    count = 0 if math.isnan(value) else 240
    assert str(caught.value) == (
        f"{count} scores under 'best', all of them equal: there is no sd to compare them in"
    )


@BOTH
def test_a_valence_that_does_not_differ_is_refused(measure: Any) -> None:
    """No rank, no slope."""
    with pytest.raises(MeasureError, match=r"that differ in valence are needed$"):
        measure(asked(planted(0)), HAPPY * 0 + 1)
