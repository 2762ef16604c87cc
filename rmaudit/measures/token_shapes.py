"""Tell what tokens look like: digits, code, other scripts; and which words are spelled alike."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

WORD = ""  # letters of English, as a word or a piece of one has
_PICTURES = (range(0x2600, 0x27C0), range(0x1F000, 0x1FB00))  # emoji, and symbols like them
_AFFIXES, _LONGEST = (2, 3, 4), 15  # letters
_PATTERNS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("digits", r"\d[\d.,:/%-]*"),
        ("web addresses", r".*(?:https?|www|://|\.(?:com|org|net|html|php)).*"),
        ("identifiers of code", r".*(?:[a-z][A-Z]|[A-Za-z]_|_[A-Za-z]).*"),
        ("single letters", r"[A-Za-z]"),
        ("all capitals", r"[A-Z]{2,}"),
        (WORD, r"[A-Za-z]+"),
        ("letters with digits", r"(?=.*[A-Za-z])(?=.*\d).*"),
        ("punctuation", r"[.,;:!?'\"]+"),
        ("marks of Markdown", r"[*#>|`~_=+-]+"),
        ("brackets and operators", r"[^A-Za-z0-9]+"),
        ("words with signs", r".*"),
    )
)


def shape(text: str) -> str:
    """Return what kind of sign a token's text is, such as "digits" or "letters of Greek".

    `WORD` ("") for ASCII letters that are not all capitals: a word, or a piece of one. Spaces
    around the text do not count.
    """
    bare = text.strip()
    if not bare:
        return "white space"
    if bare.isascii():
        flat = bare.replace("\n", " ")
        return next(name for name, pattern in _PATTERNS if pattern.fullmatch(flat))
    scripts = Counter(unicodedata.name(c, "").split(" ")[0] for c in bare if c.isalpha())
    if scripts:
        ((script, _),) = scripts.most_common(1)
        return "accented letters" if script == "LATIN" else f"letters of {script.capitalize()}"
    pictures = any(ord(c) in block for c in bare for block in _PICTURES)
    return "emoji" if pictures else "typographic signs"


def spellings(words: Sequence[str]) -> dict[str, list[int]]:
    """Return the rows of words with the same beginning, ending or length, by what they share."""
    found: dict[str, list[int]] = {}
    for row, word in enumerate(words):
        length = min(len(word), _LONGEST)
        more = " or more" if length == _LONGEST else ""
        names = [f"words of {length}{more} letters"]
        for letters in _AFFIXES:
            if len(word) > letters + 1:
                names += [f"words that begin with {word[:letters]}-"]
                names += [f"words that end in -{word[-letters:]}"]
        for name in names:
            found.setdefault(name, []).append(row)
    return found
