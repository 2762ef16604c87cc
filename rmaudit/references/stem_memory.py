"""Stems of a run before: to stem the words of lexicons and frequency lists takes seconds.

What is remembered depends on the stemmer's release alone, and is read as verified (`config.kept`).
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from rmaudit.config import kept
from rmaudit.language import STEMMERS, spoken
from rmaudit.stems import KNOWN

KIND = "stems"
MOST = 500_000  # words that are written down


def recall(cache: Path) -> None:
    """Know the stems of the language in use that a run before has written into the cache."""
    found = kept.read(cache, KIND, _fields()) or {}
    KNOWN.setdefault(spoken(), {}).update(found)


def remember(cache: Path) -> None:
    """Write down all that this process knows, if it is more than the cache does."""
    there = kept.read(cache, KIND, _fields()) or {}
    known = KNOWN.get(spoken(), {})
    if known.keys() - there.keys() and len(known) <= MOST:
        kept.write(cache, KIND, _fields(), there | known)


def _fields() -> dict[str, str]:
    return {"snowballstemmer": version("snowballstemmer"), "language": STEMMERS[spoken()]}
