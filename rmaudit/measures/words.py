"""From tokens to words. `Love`, ` love` and `LOVE` are one word in three spellings.

A sweep covers the whole vocabulary, so its tokens are no random sample and not independent:
intervals resample words, each with all of its spellings.
"""

from __future__ import annotations

import pandas as pd


def word_of(texts: pd.Series[str]) -> pd.Series[str]:
    """The lower-case word of each token's text, without the spaces around it."""
    return texts.str.strip().str.casefold()


def whole_words(frame: pd.DataFrame) -> pd.Series[float]:
    """Mean score of each word's spellings, indexed by word; alphabetic tokens only."""
    kept = frame[frame["score"].notna()]
    words = word_of(kept["text"])
    alphabetic = words.str.isalpha()
    return kept["score"][alphabetic].astype(float).groupby(words[alphabetic]).mean()
