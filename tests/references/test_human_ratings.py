"""The human ratings: 7,530 items, read whole."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rmaudit.references.human_ratings import elo_items, printable


@pytest.fixture
def items(mirror: Path) -> pd.DataFrame:
    """The ratings, as read from the mirror."""
    return elo_items()


def test_every_item_is_read(items: pd.DataFrame) -> None:
    """As many as the paper has, in three columns."""
    assert (len(items), list(items.columns)) == (7530, ["name", "elo", "matches"])


def test_names_are_unique_texts(items: pd.DataFrame) -> None:
    """Each item is one text, none empty and none read as "not available"."""
    assert items["name"].is_unique
    assert all(isinstance(name, str) and name.strip() for name in items["name"])


def test_the_first_items_are_those_that_people_like_best(items: pd.DataFrame) -> None:
    """The file is in the order of the ratings, and its first lines are these."""
    assert list(items.head(2).itertuples(index=False, name=None)) == [
        ("Universe", 1669, 1372),
        ("Water", 1661, 1883),
    ]
    assert items["elo"].is_monotonic_decreasing


def test_ratings_and_matches_are_numbers(items: pd.DataFrame) -> None:
    """Ratings lie about 1200, where Elo starts, and each rests on some matches."""
    assert items["elo"].mean() == pytest.approx(1200, abs=10)
    assert items["matches"].min() > 0


def test_names_with_an_offensive_word_are_not_printed() -> None:
    """Words that AFINN rates -4 or -5, in any case and as whole words only."""
    names = ["Love", "Fraud", "a FRAUD, or two", "Bastard (film)", "murder", "Fraudulently", ""]

    assert printable(names) == [True, False, False, False, True, True, True]
