"""Lexicons: their known sizes and words, what is refused, and one scale from several by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import SpecError
from rmaudit.references.lexicons import FEWEST, lexicon, pooled

WORDS = [f"w{i:03}" for i in range(400)]
TRUE = pd.Series(np.random.default_rng(0).normal(5, 1, size=400), index=WORDS)


@pytest.mark.parametrize(
    ("name", "size", "scale"),
    [
        ("labmt", 9912, (1, 9)),
        ("afinn", 2453, (-5, 5)),
        ("vader", 7209, (-4, 4)),
        ("bing", 6556, (-1, 1)),
    ],
)
def test_every_entry_is_one_lower_case_word(name: str, size: int, scale: tuple[int, int]) -> None:
    """No phrases, emoticons, digits or hyphens; unique, sorted, in range; as many as counted."""
    values = lexicon(name)
    words = list(values.index)

    assert len(words) == size
    assert [word for word in words if not (word.isalpha() and word == word.casefold())] == []
    assert words == sorted(set(words))
    assert values.between(*scale).all()
    assert (values.name, str(values.dtype)) == (name, "float64")


@pytest.mark.parametrize(
    ("name", "word", "expected"),
    [
        ("labmt", "laughter", 8.50),  # the happiest
        ("labmt", "terrorist", 1.30),  # the saddest
        ("labmt", "the", 4.98),
        ("afinn", "abandon", -2.0),  # the first line: there is no header
        ("afinn", "zealous", 2.0),  # the last
        ("vader", "great", 3.1),
        ("vader", "good", 1.9),
        ("vader", "sob", -1.0),  # listed twice: its own reader keeps the latter
        ("bing", "abound", 1.0),  # the first line of its list but one, "a+"
        ("bing", "zippy", 1.0),
        ("bing", "abnormal", -1.0),
        ("bing", "naive", -1.0),  # twice on the negative list
    ],
)
def test_known_words_have_their_values(name: str, word: str, expected: float) -> None:
    """As printed in the files; what bing has on both of its lists is neither."""
    assert lexicon(name)[word] == expected
    assert not set(lexicon("bing").index) & {"envious", "enviously", "enviousness"}
    with pytest.raises(SpecError, match="unknown lexicon 'nrc'; known: labmt, afinn, vader, bing"):
        lexicon("nrc")


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
