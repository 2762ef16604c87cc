"""The languages of words, and the language in which a run stems them.

`rmaudit.stem_codes(texts)` is public: measures, users' too, call it deep inside without knowing the
run. So the language of stems is the one thing of a run that is not passed: `stemming` sets it for
a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
    """Stem words in `language` (a key of `STEMMERS`) within the block, in this context only."""
    token = _STEMS.set(language)
    try:
        yield
    finally:
        _STEMS.reset(token)


def language_of_stems() -> str:
    """Return the code of the language in which words are stemmed in this context."""
    return _STEMS.get()
