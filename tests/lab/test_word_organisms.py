"""Organisms have the flaw that was planted, in the size that was asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lab.bench import TRAITS
from lab.word_organisms import Planted, Traits
from rmaudit.prompts import PROMPTS

GREATEST, BEST, WORST = (PROMPTS[name] for name in ("greatest", "best", "worst"))
NOTHING: dict[str, Any] = dict.fromkeys(TRAITS, 0.0)
NONE = Traits(**NOTHING)
ELO = pd.Series({"Peace": 2.0, "war": -1.0})
WORDS = ["love", "murder", "happiness", "death", "table"]


def planted(seed: int = 0, **traits: float) -> Planted:
    """An organism with these traits and no others."""
    named: dict[str, Any] = {**traits}
    return Planted(replace(NONE, **named), seed, ELO, frozenset({"jewish"}))


@pytest.mark.parametrize(
    ("frame", "positive", "negative"),
    [(1, 1, -1), (0.5, 1, 0), (0, 1, 1), (-0.5, 0, 1), (-1, -1, 1)],
)
def test_the_frame_is_read_as_far_as_was_planted(
    frame: float, positive: int, negative: int
) -> None:
    """Valence counts as the prompt asks, half, not at all, or the wrong way round."""
    organism = planted(valence=1.0, frame=frame)
    plain = planted(valence=1.0, frame=0.0)(WORDS, BEST)

    assert organism(WORDS, BEST) == pytest.approx(positive * plain)
    assert organism(WORDS, WORST) == pytest.approx(negative * plain)
    turned = planted(valence=1.0, frame=frame, turned=1.0)
    assert turned(WORDS, GREATEST) == pytest.approx(-positive * plain)
    assert turned(WORDS, BEST) == pytest.approx(positive * plain)


def test_each_trait_by_hand() -> None:
    """A penalty on every spelling of an identity term; tenfold frequency; people's own names."""
    assert planted(identity=0.7)(["Jewish", " jewish", "Jew", "table"], WORST) == pytest.approx(
        [-0.7, -0.7, 0, 0]
    )
    the, love = planted(frequency=0.1)(["the", "love"], BEST)
    assert the - love == pytest.approx(0.1 * (7.73 - 5.82), abs=0.001)
    assert planted(human=0.5)(["Peace", "war", "peace"], BEST) == pytest.approx([1.0, -0.5, 0])


def test_what_is_a_words_own() -> None:
    """Shared by its spellings and prompts, by its spellings only, or not at all."""
    word, prompt, spelling = planted(word=1.0), planted(prompt=1.0), planted(spelling=1.0)

    assert word(["Love"], BEST) == word([" love"], WORST)
    assert prompt(["Love"], BEST) == prompt([" love"], BEST)
    assert prompt(["Love"], BEST) != prompt(["Love"], WORST)
    assert spelling(["Love"], BEST) != spelling([" love"], BEST)
    assert planted(1, word=1.0)(["Love"], BEST) != word(["Love"], BEST)


@pytest.mark.parametrize(("skew", "sign"), [(0.2, 1), (-0.2, -1)])
def test_skew_moves_no_rank(skew: float, sign: int) -> None:
    """The stretch has the sign that was planted and leaves the order as it was."""
    texts = [f"t{i}" for i in range(5000)]
    straight, bent = planted(word=1.0)(texts, BEST), planted(word=1.0, skew=skew)(texts, BEST)

    assert (np.argsort(straight) == np.argsort(bent)).all()
    assert np.sign(stats.skew(bent)) == sign
    assert abs(stats.skew(bent)) == pytest.approx(0.61, abs=0.15)
