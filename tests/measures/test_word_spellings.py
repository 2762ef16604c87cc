"""Tokens become words: spellings are folded together, fragments of text are left out."""

from __future__ import annotations

import math

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.measures.word_spellings import spellings, whole_words, word_of

TEXTS = st.lists(st.text(max_size=6), max_size=20)


def frame(rows: list[tuple[str, float]]) -> pd.DataFrame:
    """A sweep's frame of texts and scores."""
    return pd.DataFrame(
        {
            "text": pd.Series([text for text, _ in rows], dtype="str"),
            "score": pd.Series([score for _, score in rows], dtype="float32"),
        }
    )


def test_a_word_scores_the_mean_of_its_spellings() -> None:
    """The mean is over the tokens of a word, each counted once."""
    rows = [("love", 1.0), (" Love", 2.0), ("LOVE", 6.0), ("war", -1.0)]

    assert whole_words(frame(rows)).to_dict() == {"love": 3.0, "war": -1.0}


def test_only_alphabetic_tokens_are_words() -> None:
    """Digits, punctuation, empty texts and texts of two words are left out, accents stay."""
    rows = [(text, 1.0) for text in ("a1", "don't", "", " ", "two words", "ing.", "été", "爱")]

    assert list(whole_words(frame(rows)).index) == ["été", "爱"]


def test_an_unscored_spelling_does_not_count() -> None:
    """NaN is "not scored": it takes no part in the mean, and a word of nothing else is none."""
    rows = [("love", 1.0), ("Love", math.nan), ("war", math.nan)]

    assert whole_words(frame(rows)).to_dict() == {"love": 1.0}


def test_words_are_unique_and_sorted_whatever_the_order_of_the_rows() -> None:
    """The order of the tokens leaves no trace."""
    rows = [("war", 2.0), ("Love", 4.0), ("ant", 8.0), ("love", 1.0)]

    words = whole_words(frame(rows))

    assert list(words.index) == ["ant", "love", "war"]
    pd.testing.assert_series_equal(words, whole_words(frame(rows[::-1])))


def test_the_mean_is_taken_in_double_precision() -> None:
    """1 and 1 + 2**-23 are neighbours in float32: their mean is neither of them."""
    rows = [("love", 1.0), ("Love", 1 + 2**-23)]

    assert whole_words(frame(rows))["love"] == 1 + 2**-24


def test_the_spellings_of_some_words() -> None:
    """Every scored row of the words, in the frame's order, with the place of its word."""
    rows = [("war", 2.0), (" Love", 4.0), ("ant", 8.0), ("LOVE", math.nan), ("love", 1.0)]

    found = spellings(frame(rows), pd.Index(["love", "peace", "war"]))

    assert list(found["text"]) == ["war", " Love", "love"]
    assert list(found["score"]) == [2.0, 4.0, 1.0]
    assert list(found["place"]) == [2, 0, 0]


@given(texts=TEXTS)
def test_words_are_folded_as_python_folds_them(texts: list[str]) -> None:
    """The fast way for ASCII and the full one for the rest are one rule."""
    expected = [text.strip().casefold() for text in texts]

    assert list(word_of(pd.Series(texts, dtype="str"))) == expected
