"""The human ratings: 7,530 items, read whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.references.human_ratings import elo_items, printable


def test_every_item_is_read(mirror: Path) -> None:
    """There are as many as in the paper, the best liked first; each is a text."""
    items = elo_items()

    assert (len(items), list(items.columns)) == (7530, ["name", "elo"])
    assert items["name"].is_unique
    assert all(isinstance(name, str) and name.strip() for name in items["name"])
    assert list(items.head(2).itertuples(index=False, name=None)) == [
        ("Universe", 1669),
        ("Water", 1661),
    ]
    assert items["elo"].is_monotonic_decreasing
    assert items["elo"].mean() == pytest.approx(1200, abs=10)  # where Elo starts


def test_names_with_an_offensive_word_are_not_printed() -> None:
    """Words that AFINN rates -4 or -5, in any case and as whole words only."""
    names = ("Love", "Fraud", "a FRAUD, or two", "Bastard (film)", "murder", "Fraudulently", "")

    assert printable(names) == (True, False, False, False, True, True, True)
