"""Which tokens are alike: the nearest words, one shape each, and ends of words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.measures import token_likeness
from rmaudit.measures.token_likeness import WORD, Embedding, shape, signs_of, spellings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" word", WORD),
        ("Word", WORD),
        ("NASA", "all capitals"),
        ("A", "single letters"),
        (" 2024", "digits"),
        ("1,000", "digits"),
        ("mp3", "letters with digits"),
        ("getName", "identifiers of code"),
        ("__init", "identifiers of code"),
        ("https", "web addresses"),
        ("://", "web addresses"),
        (".com", "web addresses"),
        ("...", "punctuation"),
        ("**", "marks of Markdown"),
        ("##", "marks of Markdown"),
        ("();", "brackets and operators"),
        ("don't", "words with signs"),
        ("\n\n", "white space"),
        ("", "white space"),
        ("café", "accented letters"),
        ("мир", "letters of Cyrillic"),
        ("道", "letters of Cjk"),
        ("—", "typographic signs"),
        ("\U0001f600", "emoji"),
        ("\ufffd", "typographic signs"),
    ],
)
def test_each_text_has_its_shape(text: str, expected: str) -> None:
    """By hand."""
    assert shape(text) == expected


@given(st.text(max_size=12), st.sampled_from(["", " ", "\n", "  "]))
def test_spaces_around_a_text_do_not_count(text: str, space: str) -> None:
    """Every text has a shape."""
    assert shape(space + text + space) == shape(text)


def test_words_are_alike_by_ends_and_length() -> None:
    """An ending leaves two letters of the word; fifteen letters and more are one length."""
    found = spellings(["going", "doing", "electroencephalography"])

    assert found["words that end in -ing"] == [0, 1]
    assert found["words that begin with go-"] == [0]
    assert found["words of 5 letters"] == [0, 1]
    assert found["words of 15 or more letters"] == [2]
    assert "words that end in -oing" not in found


def test_the_nearest_are_those_of_a_full_sort() -> None:
    """Also over the edge of a block of rows, and of some of all rows."""
    rng = np.random.default_rng(0)
    many = token_likeness._ROWS + 50  # over the edge of a block
    vectors = rng.normal(size=(many + 100, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = rng.choice(len(vectors), many, replace=False)

    found = Embedding({}, (), vectors).nearest(rows, 5)

    alike = vectors[rows] @ vectors[rows].T
    np.fill_diagonal(alike, np.inf)
    assert (found == np.argsort(-alike, axis=1)[:, :5]).mean() > 0.999  # rounding of a product
    assert (found[:, 0] == np.arange(many)).all()


@pytest.mark.parametrize(
    ("text", "signs"),
    [(" a—b.", "—."), ("{}\n", "{}"), ("x1 é", ""), ("\u200b\x00", ""), ("🙂", "🙂")],
)
def test_signs_are_what_shows_and_is_no_letter_or_digit(text: str, signs: str) -> None:
    """Nor a space, a control character, or one that does not show."""
    assert signs_of(text) == set(signs)
