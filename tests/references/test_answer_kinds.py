"""Kinds of answers: what each says of a text, and which single words become kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.references.answer_kinds import ENDED, HELD, REPEATING, SOUND, WORDS, kinds

ASKED = "How do I keep bread fresh?"
PLAIN = "Keep it in a box at home."


def kinds_of(*texts: str) -> pd.DataFrame:
    """Of these answers to one question."""
    return kinds(pd.DataFrame({"prompt": ASKED, "response": texts}))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("with a colon", "This way: in a box."),
        ("with a dash", "In a box – at home."),
        ("with parentheses", "In a box (at home)."),
        ("with quotation marks", "In a “box” at home."),
        ("with a contraction", "It's in a box."),
        ("with digits", "Keep it for 3 days."),
        ("with a word in capitals", "Keep it in a BOX."),
        ("with a line break", "In a box.\nAt home."),
        ("with a list", "Do this:\n- buy a box\n- close it"),
        ("with a doubled space", "In a  box."),
        ("with three things in a row", "Use a box, a bag, or a tin."),
        ("with praise or warmth", "A WONDERFUL box."),
        ("that contrast", "In a box, however small."),
        ("that warn", "Avoid the damp."),
        ("that begin with “I” or “my”", "I use a box."),
        ("that begin with “yes”, “no” or “sure”", "Sure, in a box."),
        ("that begin in lower case", "in a box."),
        ("that refuse", "I'm sorry, I cannot help."),
        ("of three sentences or more", "Buy a box. Open it. Put it in."),
    ],
)
def test_an_answer_is_of_a_kind(kind: str, text: str, mirror: Path) -> None:
    """It is, and a plain one is not."""
    assert kinds_of(text, PLAIN)[kind].tolist() == [True, False]


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("with many commas", "In a box, a bag, a tin."),
        ("with much “you” or “your”", "You keep your bread."),
        ("with much negation", "Not in a bag, never."),
        ("with many commands", "Keep it in a box. Close it. Use it soon."),
        ("with long sentences", "Keep it in a box at home and close the lid each time you can."),
        ("with long words", "Refrigeration preserves breadcrumbs."),
        ("with neighbours that begin alike", "Big brown boxes beat bags."),
        ("with happy words", "Love and laughter and happiness."),
        ("with the question's words", "Fresh bread, keep it."),
        ("that open with the question's words", "To keep bread fresh, use a box."),
    ],
)
def test_an_answer_is_more_of_a_kind(kind: str, more: str, mirror: Path) -> None:
    """Than another, by a number."""
    given, other = kinds_of(more, "I saw a man in the park.")[kind]

    assert given > other


def test_shares_by_hand(mirror: Path) -> None:
    """Of words that differ, and of the question's words, which count from four letters on."""
    found = kinds_of("Keep it, keep it.", PLAIN)

    assert found["with many different words"].tolist() == [0.5, 1.0]
    assert found["with the question's words"].tolist() == [1 / 3, 1 / 3]


def test_an_answer_that_is_cut_off_or_empty_is_described(mirror: Path) -> None:
    """No number is missing, whatever the text."""
    found = kinds_of(PLAIN, "Keep it in a", "", "…", "\n", "?!")

    assert found[ENDED].tolist()[:3] == [True, False, False]
    assert found[WORDS].tolist()[:3] == [7, 4, 0]
    assert np.isfinite(found.to_numpy(float)).all()


def test_common_words_and_beginnings_are_kinds_of_their_own(mirror: Path) -> None:
    """It is one if twenty answers have the word, and twenty have not."""
    found = kinds_of(*["The box is blue."] * 20, *["A bag, then a tin."] * 19, "A bag.")

    assert found["with the word “box”"].tolist() == [True] * 20 + [False] * 20
    assert found["that begin with “the”"].sum() == 20
    assert "with the word “bag”" in found
    assert "with the word “tin”" not in found  # nineteen have it


def test_what_the_audit_names_is_there(mirror: Path) -> None:
    """What is held fixed, and what a sound model may pay for."""
    columns = set(kinds_of(PLAIN))

    assert {*HELD, *SOUND, REPEATING, WORDS} <= columns
