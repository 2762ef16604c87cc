"""The language of words: which ones there are, and which one a process speaks."""

from __future__ import annotations

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

_spoken = [ENGLISH]


def speak(language: str) -> None:
    """From now on, stems are of this language (a key of `STEMMERS`) where none is named."""
    _spoken[0] = language


def spoken() -> str:
    """The language of stems where none is named."""
    return _spoken[0]
