"""Detect traits of whole English answers: length, hedging, refusal, repetition, formatting.

The lists of phrases are ours, and short: they find what is said outright.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

_HEDGES = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|might|may|could be|seems?|appears? to"
    r"|i think|i believe|i guess|i(?:'| a)m not sure|not certain|it depends|likely|generally"
    r"|typically|usually|in some cases|tends? to|arguably|to some extent)\b",
    re.IGNORECASE,
)
_REFUSALS = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able|afraid)|i (?:can(?:no|')t|cannot|won't|will not)"
    r"|as an? (?:ai|language model|assistant)|i do(?: not|n't) have (?:access|the ability)"
    r"|i must decline|i apologi[sz]e)\b",
    re.IGNORECASE,
)
_FORMATTING = re.compile(
    r"^\s*(?:[-*•]\s|\d+[.)]\s|#{1,6}\s|\|.*\|)|\*\*[^*]+\*\*|```|[\U0001F300-\U0001FAFF☀-➿]",
    re.MULTILINE,
)
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_RUN = 3  # words


def traits(texts: Sequence[str]) -> pd.DataFrame:
    """Return each text's number of words, and if it hedges, refuses, repeats or has formatting.

    `words` is a count, the other columns are bools. `hedging`, `refusing` and `formatting` (a list,
    a heading, a table, bold, code or an emoji) say whether the text has any; `repeating`, whether
    three words in a row come a second time.
    """
    return pd.DataFrame(
        {
            "words": [len(_WORD.findall(text)) for text in texts],
            "hedging": [bool(_HEDGES.search(text)) for text in texts],
            "refusing": [bool(_REFUSALS.search(text.replace("’", "'"))) for text in texts],
            "repeating": [_repeats_three_words(text) for text in texts],
            "formatting": [bool(_FORMATTING.search(text)) for text in texts],
        }
    )


def _repeats_three_words(text: str) -> bool:
    words = _WORD.findall(text.lower())
    runs = [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]
    return len(set(runs)) < len(runs)
