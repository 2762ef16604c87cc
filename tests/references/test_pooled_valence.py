"""One scale from several lexicons: by hand, no flattened slope, and what adds nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.references.pooled_valence import FEWEST, pooled

WORDS = [f"w{i:03}" for i in range(400)]
TRUE = pd.Series(np.random.default_rng(0).normal(5, 1, size=400), index=WORDS)


def rated(words: slice, *, factor: float, error: float, seed: int, name: str) -> pd.Series[float]:
    """A lexicon of some of the words: the truth above 5, times `factor`, with an error."""
    noise = error * np.random.default_rng(seed).normal(size=400)
    return (factor * (TRUE - 5) + noise)[words].rename(name)


def test_what_the_first_rates_stays_and_the_rest_is_put_on_its_scale() -> None:
    """Of exact lexicons of another scale: the truth of every word; the name tells them all."""
    first = TRUE[:200].rename("first")
    second = rated(slice(100, 300), factor=3, error=0, seed=1, name="second")
    third = rated(slice(100, 400), factor=-2, error=0, seed=2, name="third")

    found = pooled(first, [second, third])

    assert found.name == "first, second, third"
    assert found.to_dict() == pytest.approx(TRUE.to_dict())
    assert found[:200].equals(first)


def test_errors_of_the_others_flatten_no_slope() -> None:
    """What follows valence follows the pooled scale as steeply, which the rating itself does not.

    Of 400 words; the truth is 1, and a rating with an error of its own sd would have half of it.
    """
    first = TRUE[:200].rename("first")
    second = rated(slice(0, 400), factor=1, error=1, seed=3, name="second")
    unrated = WORDS[200:]

    def slope(x: pd.Series[float]) -> float:
        return float(np.polyfit(x[unrated], TRUE[unrated], 1)[0])

    assert slope(second) == pytest.approx(0.5, abs=0.12)
    assert slope(pooled(first, [second])) == pytest.approx(1, abs=0.2)


def test_a_lexicon_that_shares_too_few_words_adds_none() -> None:
    """How it goes over into the first is not known."""
    first = TRUE[:200].rename("first")
    second = rated(slice(201 - FEWEST, 400), factor=1, error=0, seed=1, name="second")

    assert pooled(first, [second]).index.equals(first.index)
    assert pooled(first, []).equals(first)
