"""Words name tokens: by themselves, or by a lexicon that has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from rmaudit.errors import ReferenceMissing, SpecError
from rmaudit.references.lexicons import lexicon
from rmaudit.scores.sample import checked_words, named

TEXTS = pd.Series(["love", " love", "LOVE", "loved", " peace", "love!", "", "\ufffd", "Straße"])


@pytest.mark.parametrize(
    ("words", "places"),
    [
        (["love"], [0, 1, 2]),
        (["Love", "peace"], [0, 1, 2, 4]),
        (["strasse"], [8]),
        (["STRASSE", "straße"], [8]),
        (["war"], []),
        ([], []),
    ],
)
def test_every_spelling_of_a_word_is_named(words: Sequence[str], places: list[int]) -> None:
    """Case and spaces around it do not matter; a part of a token is no word of it."""
    assert named(TEXTS, words).nonzero()[0].tolist() == places


def test_a_lexicon_names_its_words(mirror: Path) -> None:
    """All of them, and words given beside it."""
    words = lexicon("afinn").index
    texts = pd.Series([*(f" {word.title()}" for word in words), " table", "xyzzy"])

    assert named(texts, ["lexicon:afinn", "xyzzy"]).tolist() == [True] * len(words) + [False, True]


def test_a_lexicon_that_cannot_be_had_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error carries the command that gets it."""
    (tmp_path / "afinn").mkdir()
    (tmp_path / "afinn" / "AFINN-111.txt").write_text("damaged")
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))

    with pytest.raises(ReferenceMissing, match="get it with: "):
        named(TEXTS, ["lexicon:afinn"])


def test_words_are_kept_as_they_are() -> None:
    """A declaration is data: nothing is looked up when it is made."""
    assert checked_words(["love", "lexicon:labmt"]) == ("love", "lexicon:labmt")
    assert checked_words(()) == ()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("love", "words must be a list, got 'love'"),
        (
            ["lexicon:labMT"],
            (
                "words has an unknown lexicon 'lexicon:labMT'; known: lexicon:labmt, "
                "lexicon:afinn, lexicon:vader"
            ),
        ),
        (["lexikon:labmt"], "words has 'lexikon:labmt'; one word of letters, or lexicon:NAME, is"),
        (["two words"], "words has 'two words'; one word of letters, or lexicon:NAME, is needed"),
        ([" love"], "words has ' love'; "),
        ([""], "words has ''; "),
        ([3], "words has 3; "),
    ],
)
def test_what_no_token_can_be_is_refused(words: Sequence[str], message: str) -> None:
    """A slip would name nothing, silently."""
    with pytest.raises(SpecError) as caught:
        checked_words(words)

    assert str(caught.value).startswith(message)
