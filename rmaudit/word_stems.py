"""Stem words by language, so that "love", "Loved" and "loving" count as one word.

Stems decide which half of the words a model was trained on (`rmaudit.references`), and they
are the clusters that intervals over words are made of: forms of one word score alike, so a lexicon
of 2,000 words has not 2,000 independent ones.

`rmaudit.stem_codes(texts)` is public: measures, users' too, call it deep inside without knowing the
run. So the language of stems is the one thing of a run that is not passed: `stemming` sets it for
a block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENGLISH = "en"
# The languages of wordfreq 3.1.1 by their codes, and Snowball's stemmers; "": it has none.
STEMMERS = {
    "ar": "arabic",
    "bg": "",
    "bn": "",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    ENGLISH: "english",
    "es": "spanish",
    "fa": "persian",
    "fi": "finnish",
    "fil": "",
    "fr": "french",
    "he": "",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "is": "",
    "it": "italian",
    "ja": "",
    "ko": "",
    "lt": "lithuanian",
    "lv": "",
    "mk": "",
    "ms": "",
    "nb": "norwegian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sh": "serbian",
    "sk": "",
    "sl": "",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "uk": "",
    "ur": "",
    "vi": "",
    "zh": "",
}
_STEMS: ContextVar[str] = ContextVar("language of stems", default=ENGLISH)


@contextmanager
def stemming(language: str) -> Iterator[None]:
    """Stem words in `language` (a key of `STEMMERS`) inside the `with` block, in its context."""
    token = _STEMS.set(language)
    try:
        yield
    finally:
        _STEMS.reset(token)


CACHE: dict[str, dict[str, str]] = {}  # stems by language and word; it decides nothing


def stem_key(text: str, language: str | None = None) -> str:
    """Return the lower-case words of `text`, each as its Snowball stem, joined by spaces.

    Without a `language`, it is that of `stemming` in this context.
    """
    return _key(text, language or _STEMS.get())


@lru_cache(maxsize=1 << 18)  # a vocabulary is asked for by every audit and every null control
def _key(text: str, language: str) -> str:
    return " ".join(stem(word, language) for word in text.casefold().split())


def stem_codes(texts: Iterable[str]) -> NDArray[np.intp]:
    """Return an integer code per text, shape (n,); texts with the same stems have the same code."""
    import numpy as np
    import pandas as pd

    return pd.factorize(np.array([stem_key(text) for text in listed(texts)], dtype=object))[0]


def listed(texts: Iterable[str]) -> list[str]:
    """Return texts as a list; a column of pandas takes ten times as long to be walked through."""
    found: list[str] = texts.tolist() if hasattr(texts, "tolist") else list(texts)
    return found


def stem(word: str, language: str | None = None) -> str:
    """Return the Snowball stem of a lower-case word, cached for as long as the process runs.

    A word of a language without a stemmer is its own stem.
    """
    of = language or _STEMS.get()
    known = CACHE.setdefault(of, {})
    found = known.get(word)
    if found is None:
        import snowballstemmer

        stemmer = STEMMERS[of]
        made = snowballstemmer.stemmer(stemmer).stemWord(word) if stemmer else word
        found = known[word] = str(made)
    return found
