"""Stems: forms of a word are one cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.references import stem_cache
from rmaudit.word_stems import stem, stem_codes


def test_forms_of_a_word_have_one_number() -> None:
    """Whatever their case; other words have others."""
    codes = stem_codes(["love", "hate", "Loved", "loving", "hates", "lovely cat"]).tolist()

    assert codes == [0, 1, 0, 0, 1, 2]


def test_stems_of_a_run_before_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those that the stemmer gives; words that are new are added."""
    known: dict[str, dict[str, str]] = {}
    monkeypatch.setattr("rmaudit.word_stems.CACHE", known)
    monkeypatch.setattr(stem_cache, "CACHE", known)
    first = {word: stem(word) for word in ("loved", "hating")}
    stem_cache.save_stems(tmp_path, "en")
    known.clear()
    stem("cities")
    stem_cache.save_stems(tmp_path, "en")
    known.clear()

    stem_cache.load_stems(tmp_path, "en")

    assert known == {"en": {**first, "cities": "citi"}}
