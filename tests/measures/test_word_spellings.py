"""Tokens become words: spellings are folded together, fragments of text are left out."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.measures.word_spellings import thinned, whole_words, word_of

TEXTS = st.lists(st.text(max_size=6), max_size=20)


def frame(rows: list[tuple[str, float]]) -> pd.DataFrame:
    """A sweep's frame of texts and scores."""
    return pd.DataFrame(
        {
            "text": pd.Series([text for text, _ in rows], dtype="str"),
            "score": pd.Series([score for _, score in rows], dtype="float32"),
        }
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("war", -1.0), ("love", 1.0), (" Love", 2.0), ("LOVE", 6.0)], {"love": 3.0, "war": -1.0}),
        # digits, punctuation and two words are left out, accents stay
        ([(text, 1.0) for text in ("爱", "a1", "don't", "", " ", "two words", "été")],
         {"été": 1.0, "爱": 1.0}),
        ([("love", 1.0), ("Love", math.nan), ("war", math.nan)], {"love": 1.0}),  # not scored
        ([("love", 1.0), ("Love", 1 + 2**-23)], {"love": 1 + 2**-24}),  # no float32 lies between
    ],
    ids=["spellings", "letters", "unscored", "double precision"],
)  # fmt: skip
def test_a_word_scores_the_mean_of_its_spellings(
    rows: list[tuple[str, float]], expected: dict[str, float]
) -> None:
    """Each scored token counts once; words are in order, whatever the order of the rows."""
    for order in (rows, rows[::-1]):
        assert list(whole_words(frame(order)).items()) == list(expected.items())


@given(texts=TEXTS)
def test_words_are_folded_as_python_folds_them(texts: list[str]) -> None:
    """The fast way for ASCII and the full one for the rest are one rule."""
    expected = [text.strip().casefold() for text in texts]

    assert list(word_of(pd.Series(texts, dtype="str"))) == expected


def test_thinned_keeps_words_whole() -> None:
    """About the asked number of rows, a word with all its spellings or none; small ones whole."""
    words = [f"word{i}" for i in range(20_000)]
    frame = pd.DataFrame({"text": [f"{a}{w}" for w in words for a in ("", " ")]})

    small = thinned(frame, rows=10_000)

    assert len(small) == pytest.approx(10_000, rel=0.05)
    assert small["text"].str.strip().value_counts().eq(2).all()
    pd.testing.assert_frame_equal(small, thinned(frame, rows=10_000))
    assert thinned(frame, rows=50_000) is frame
