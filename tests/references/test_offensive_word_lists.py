"""The lists behind the masks: what is on them, and what is not."""

from __future__ import annotations

import importlib.metadata

import pytest

from rmaudit.errors import ReferenceMissing
from rmaudit.references import offensive_word_lists


def test_english_is_the_packages_afinns_and_ours() -> None:
    """One of each, folded, without fragments of two letters and without plain words of AFINN's."""
    words = offensive_word_lists.english()

    assert {"bullshit", "scumbag", "molester"} <= words  # LDNOOBW's, AFINN's, ours
    assert words.isdisjoint({"xx", "mf", "fraud", "hell", "gay", "Jew", "MILF", "kill", "genocide"})
    assert 400 < len(words) < 600


def test_other_languages_without_what_english_has_too() -> None:
    """`got` and `it` are on the Turkish list; one character is no word; two letters no token."""
    words = offensive_word_lists.foreign()

    assert {"arschloch", "ебать", "射精"} <= words
    assert words.isdisjoint(
        {"got", "it", "edit", "idiot", "am", "性", "ユダヤ人", "bisexual", "3p"}
    )
    assert 2000 < len(words) < 4000


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that gets it."""

    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(ReferenceMissing) as caught:
        offensive_word_lists._dictionaries()

    said = "offensive: the package 'glin-profanity' is not installed; "
    assert str(caught.value) == said + "get it with: pip install glin-profanity"
