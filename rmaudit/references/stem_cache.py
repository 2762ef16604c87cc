"""Cache word stems between runs: to stem the words of lexicons and frequency lists takes seconds.

The stems depend on the stemmer's release alone, and are read as verified (`json_cache`).
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from rmaudit import json_cache
from rmaudit.word_stems import CACHE, STEMMERS

KIND = "stems"
MOST = 500_000  # words in a file


def load_stems(cache: Path, language: str) -> None:
    """Add a language's stems that an earlier run saved in the folder `cache` to those in memory."""
    found = json_cache.read(cache, KIND, _cache_key(language)) or {}
    CACHE.setdefault(language, {}).update(found)


def save_stems(cache: Path, language: str) -> None:
    """Save the word stems of a language in the folder `cache`, if this process made new ones."""
    there = json_cache.read(cache, KIND, _cache_key(language)) or {}
    known = CACHE.get(language, {})
    if known.keys() - there.keys() and len(known) <= MOST:
        json_cache.write(cache, KIND, _cache_key(language), there | known)


def _cache_key(language: str) -> dict[str, str]:
    return {"snowballstemmer": version("snowballstemmer"), "language": STEMMERS[language]}
