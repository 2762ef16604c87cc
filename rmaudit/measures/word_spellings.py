"""Find a word's spellings: `Love`, ` love` and `LOVE` are one word in three of them.

A sweep covers the whole vocabulary, so its tokens are no random sample and not independent:
intervals are over words, each with all of its spellings.
"""

from __future__ import annotations

import numpy as np
import pandas as pd


def word_of(texts: pd.Series[str]) -> pd.Series[str]:
    """Return the word that each token's text spells, (n,): lower case, without spaces around it."""
    bare = texts.str.strip()
    folded = bare.str.lower()
    wide = ~bare.str.isascii()  # elsewhere lower case is the folded case, and ten times as fast
    if wide.any():
        folded[wide] = bare[wide].str.casefold()
    return folded


def whole_words(frame: pd.DataFrame) -> pd.Series[float]:
    """Return the mean score of each word's spellings, indexed by word; alphabetic tokens only."""
    kept = frame[frame["score"].notna()]
    words = word_of(kept["text"])
    alphabetic = words.str.isalpha()
    return kept["score"][alphabetic].astype(float).groupby(words[alphabetic]).mean()


def thinned(frame: pd.DataFrame, rows: int = 20_000) -> pd.DataFrame:
    """Reduce a frame of tokens to about `rows`; all spellings of a word stay or go together.

    Which words stay depends only on their spelling.
    """
    if len(frame) <= rows:
        return frame
    place = pd.util.hash_array(word_of(frame["text"]).to_numpy(dtype=object), categorize=True)
    kept = place < np.uint64(rows / len(frame) * 2.0**64)
    return frame[kept].reset_index(drop=True)
