"""Write invisible and misleading characters as Python escapes, wherever tokens are shown."""

from __future__ import annotations

import re
import unicodedata

# Categories: control, format (bidirectional marks too), surrogate, private, unassigned, line ends,
# and spaces, of which only the plain one is as wide as it looks.
_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Letters and marks that Unicode calls Default_Ignorable_Code_Point (DerivedCoreProperties.txt): the
# grapheme joiner, fillers of Hangul, inherent vowels of Khmer, variation selectors. After them
# what is assigned as a symbol or a mark and drawn blank.
_IGNORABLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_BLANK = (0x2800, 0x16FE4, 0x1D159)  # of Braille, Khitan, and music
_UNUSUAL = re.compile("[^ -~]")  # what is not of ASCII, or not printed
_CHARACTERS = frozenset(
    {chr(code) for first, last in _IGNORABLE for code in range(first, last + 1)}
    | {chr(code) for code in _BLANK}
)


def spelled(character: str) -> str:
    """Return a character, or its Python escape if it is invisible or an unusual space."""
    if character.isascii() and character.isprintable():  # a space is
        return character
    hidden = unicodedata.category(character) in _CATEGORIES or character in _CHARACTERS
    return ascii(character)[1:-1] if hidden else character


def spelled_out(text: str) -> str:
    """Return a text with all invisible characters and unusual spaces as Python escapes."""
    return _UNUSUAL.sub(lambda found: spelled(found[0]), text)
