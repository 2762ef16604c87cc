"""Show of two long answers, or of a conversation, only the part that a reader needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LAST_TURN = re.compile(r"(?:^|\n)user: ")
_LONGEST = 120  # characters of a part
_CUT = "…"


def differing(one: str, other: str) -> tuple[str, str]:
    """Return of two texts the sentences in which they differ; `…` stands where others were.

    Sentences that both have at the beginning or at the end are left out; a long rest is cut.
    """
    both = [_SENTENCE.split(text.strip()) for text in (one, other)]
    start = _alike(*both)
    ends = _alike(*(list(reversed(each[start:])) for each in both))
    shown = []
    for each in both:
        part = " ".join(each[start : len(each) - ends])
        part = part if len(part) <= _LONGEST else f"{part[:_LONGEST].rstrip()}{_CUT}"
        before, after = (f"{_CUT} " if start else ""), (f" {_CUT}" if ends else "")
        shown.append(f"{before}{part}{after}" if part else _CUT)
    return shown[0], shown[1]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def last_question(prompt: str) -> str:
    """Return a prompt's last turn of the user, cut if long; a text without turns as it is."""
    text = _LAST_TURN.split(prompt)[-1].strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}{_CUT}"
