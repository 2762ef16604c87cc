"""Stems: forms of a word are one cluster."""

from __future__ import annotations

from rmaudit.stems import stem_codes


def test_forms_of_a_word_have_one_number() -> None:
    """Whatever their case; other words have others."""
    codes = stem_codes(["love", "hate", "Loved", "loving", "hates", "lovely cat"]).tolist()

    assert codes == [0, 1, 0, 0, 1, 2]
