"""Tell which tokens are alike: words by meaning and spelling, other tokens by what they look like.

A word's meaning is its place in an embedding; a token's shape is digits, code, a script.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_ROWS = 1024  # whose similarities with all others are in memory at once
WORD = ""  # letters of English, as a word or a piece of one has
_PICTURES = (range(0x2600, 0x27C0), range(0x1F000, 0x1FB00))  # emoji, and symbols like them
BROKEN = "\ufffd"  # stands for bytes that are a part of a character: of many tokens the same text
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


@dataclass(frozen=True, slots=True)
class Embedding:
    """Vectors of words, one word of a stem. Two with the same words are equal.

    Attributes:
        rows: the row of each stem (`word_stems.stem_key`).
        words: the most frequent word of each row's stem, (rows,).
        vectors: shape (rows, dimensions), of length 1.
    """

    rows: Mapping[str, int] = field(compare=False)
    words: tuple[str, ...]
    vectors: NDArray[np.float32] = field(compare=False)

    def nearest(self, rows: NDArray[np.intp], many: int) -> NDArray[np.intp]:
        """Return the `many` nearest of `rows` to each of them by the cosine, itself first.

        The result has shape (len(rows), many), and holds places in `rows`.
        """
        vectors = self.vectors[rows]
        found = np.empty((len(rows), many), dtype=np.intp)
        for start in range(0, len(rows), _ROWS):
            alike = vectors[start : start + _ROWS] @ vectors.T
            own = np.arange(len(alike))
            alike[own, start + own] = np.inf
            top = np.argpartition(-alike, many - 1, axis=1)[:, :many]
            order = np.argsort(-np.take_along_axis(alike, top, axis=1), axis=1, kind="stable")
            found[start : start + _ROWS] = np.take_along_axis(top, order, axis=1)
        return found


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


def signs_of(text: str) -> set[str]:
    """Return the signs in a token's text: all that is no letter, digit or space, and shows."""
    return {c for c in text if not c.isalnum() and not c.isspace() and c.isprintable()}


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
