"""What draws nothing is spelled out, and nothing else is."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from rmaudit.invisible_characters import spelled, spelled_out

EVERY = [chr(code) for code in range(sys.maxunicode + 1)]


def test_every_ignorable_character_is_spelled_out() -> None:
    """Those that Unicode calls ignorable, by the table of another program."""
    regex = pytest.importorskip("regex")

    found = regex.findall(r"\p{Default_Ignorable_Code_Point}", "".join(EVERY))

    assert len(found) > 4_000
    assert [character for character in found if spelled(character) == character] == []


def test_letters_numbers_and_signs_stay() -> None:
    """All but the few that are drawn blank, each of which is ignorable or named as such."""
    hidden = [c for c in EVERY if unicodedata.category(c)[0] in "LMNPS" and spelled(c) != c]
    names = [unicodedata.name(character) for character in hidden]
    blank = ("FILLER", "VARIATION SELECTOR", "BLANK", "INHERENT", "JOINER", "NULL NOTEHEAD")

    assert [name for name in names if not any(part in name for part in blank)] == []
    assert len(names) < 300
    assert spelled_out("é日本🙂👍 a") == "é日本🙂👍 a"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("\u3164", "\\u3164"), ("x\U000e0100", "x\\U000e0100"), ("\n", "\\n"), ("", "")],
)
def test_a_text_is_spelled_as_python_writes_it(text: str, shown: str) -> None:
    """Character by character."""
    assert spelled_out(text) == shown
