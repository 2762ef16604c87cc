"""Stems: "love", "Loved" and "loving" are forms of one word, and count as one.

They decide which half of the words a model was trained on (`rmaudit.references.holdout`), and they
are the clusters that intervals over words are made of: forms of one word score alike, so a lexicon
of 2,000 words has not 2,000 independent ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import pandas as pd
import snowballstemmer
from numpy.typing import NDArray


def stem_key(text: str) -> str:
    """The lower-case words of `text`, each as its Snowball stem, joined by spaces."""
    return " ".join(_stem(word) for word in text.casefold().split())


def stem_codes(texts: Iterable[str]) -> NDArray[np.intp]:
    """Shape (n,): numbers from 0, the same for texts of the same stems."""
    return pd.factorize(np.array([stem_key(text) for text in texts], dtype=object))[0]


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return str(snowballstemmer.stemmer("english").stemWord(word))
