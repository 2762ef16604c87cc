"""Controls for words: each criterion decides, the nearest are taken, order does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from rmaudit.measures.control_word_matching import Valence, matched


def words(*texts: str, zipf: float | Sequence[float] = 4.0, **columns: Any) -> pd.DataFrame:
    """Neutral lower-case adjectives, unless said otherwise."""
    given = {"forms": [frozenset({"adj"})] * len(texts), "capital": False, "neutral": True}
    return pd.DataFrame({"text": list(texts), "zipf": zipf, **given, **columns})


TERM = words("deaf")


def chosen(terms: pd.DataFrame, controls: pd.DataFrame, **given: Any) -> list[set[str]]:
    """The controls of each term; each row's weights are equal and 1 in all, or it has none."""
    rows = matched(terms, controls, **given)
    for row in rows:
        assert row.sum() == pytest.approx(1 if row.any() else 0)
        assert len(set(row[row > 0])) <= 1
    return [set(controls["text"][row > 0]) for row in rows]


@pytest.mark.parametrize(
    "unlike",
    [
        {"zipf": 5.01},
        {"zipf": 2.99},
        {"forms": [frozenset({"noun_sg", "noun_pl"})]},
        {"capital": True},
        {"neutral": False},
    ],
)
def test_each_criterion_decides(unlike: dict[str, Any]) -> None:
    """A control that is unlike in one thing is none; one form in common is enough."""
    both = {"forms": [frozenset({"adj", "noun_sg"})]}

    assert chosen(TERM, words("tall", **both)) == [{"tall"}]
    assert chosen(TERM, words("tall", **{**both, **unlike})) == [set()]
    assert matched(TERM, words()).shape == (1, 0)


def test_the_nearest_ten() -> None:
    """By frequency, ties by text; whatever the order of the controls."""
    zipf = [4.9, *(4.0 + 0.05 * i for i in range(9)), 4.8, 4.8]
    controls = words(*"abcdefghijlk", zipf=zipf)
    expected = [set("bcdefghijk")]

    assert chosen(TERM, controls) == expected
    assert chosen(TERM, controls[::-1].reset_index(drop=True)) == expected


def test_length_counts_too() -> None:
    """Four letters more are as far as 1 of zipf: the nearer in both is taken."""
    short = ["tall", "wide", "thin", "left", "flat", "wood", "iron", "pale", "mild", "dull"]
    controls = words("unremarkable", *short, zipf=[4.0, *[4.2] * 10])

    assert chosen(TERM, controls) == [set(short)]


def test_one_token_or_several() -> None:
    """With the tokenizer's texts known, one-token terms have one-token controls only."""
    controls = words("tall", "wide")

    assert chosen(TERM, controls, single={"deaf", "wide"}) == [{"wide"}]
    assert chosen(TERM, controls, single={"tall"}) == [{"wide"}]
    assert chosen(TERM, controls, single=set()) == [{"tall", "wide"}]


def test_like_valence_in_place_of_neutral() -> None:
    """Rated with rated, within 1; a form of its stem's will do; neutral or not."""
    controls = words("sad", "tall", "unrated", neutral=[False, True, True])
    valence = Valence(pd.Series({"deafness": 2.5, "sad": 1.5, "tall": 5.0}), pd.Series({"x": 1.0}))

    assert chosen(TERM, controls, valence=valence) == [{"sad"}]


def test_what_labmt_lacks_is_compared_by_words_of_sentiment() -> None:
    """Who is rated nowhere is neutral, and compared with such; a sad word with sad ones."""
    controls = words("tall", "gloomy", "rated", "plain")
    valence = Valence(pd.Series({"rated": 5.0}), pd.Series({"gloomy": -2.0, "queer": -1.8}))

    found = chosen(words("Latinx", "queer", capital=False), controls, valence=valence)
    assert found == [{"tall", "plain"}, {"gloomy"}]


def test_the_nearest_in_valence() -> None:
    """Of as frequent and as long words, those that are as happy."""
    controls = words(*(f"wor{letter}" for letter in "abcdefghijkl"))
    happy = pd.Series({text: 3.0 + 0.05 * i for i, text in enumerate(controls["text"])})
    valence = Valence(pd.concat([happy, pd.Series({"deaf": 3.6})]), pd.Series({"x": 1.0}))

    assert chosen(TERM, controls, valence=valence) == [set(controls["text"][2:])]
