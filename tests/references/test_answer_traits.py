"""Traits of whole answers: what is said outright is found, and what looks like it is not."""

from __future__ import annotations

import pytest

from rmaudit.references.answer_traits import traits


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("It is Paris.", set()),
        ("It might be Paris, I think.", {"hedging"}),
        ("The mighty Mayor of Seemstown.", set()),
        ("I'm sorry, but I cannot help with that.", {"refusing"}),
        ("I\u2019m sorry.", {"refusing"}),
        ("As an AI language model I have no views.", {"refusing"}),
        ("She said that she is sorry.", set()),
        ("We sing, and we sing, and we sing.", {"repeating"}),
        ("Two\n- one\n- other", {"formatting"}),
        ("1. first\n2. second", {"formatting"}),
        ("# Head\nText", {"formatting"}),
        ("This is **bold**.", {"formatting"}),
        ("Well done \U0001f600", {"formatting"}),
        ("2 * 3 is 6 - or so it was in 1999.", set()),
        ("", set()),
    ],
)
def test_each_trait_is_found_where_it_is(text: str, has: set[str]) -> None:
    """And no other trait."""
    row = traits([text]).iloc[0]

    assert {name for name in row.index if name != "words" and row[name]} == has


def test_words_are_counted_once_with_their_apostrophes() -> None:
    """Digits count, punctuation does not; no texts have the same columns."""
    counts = traits(["It isn't 3 o\u2019clock \u2013 yet!", "...", "日本"])["words"]

    assert counts.tolist() == [5, 0, 1]
    assert list(traits([])) == list(traits(["a"]))
