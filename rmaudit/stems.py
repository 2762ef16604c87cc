"""Word stems: "love", "Loved" and "loving" are forms of one word, and count as one.

They decide which half of the words a model was trained on (`rmaudit.references.holdout`), and they
are the clusters that intervals over words are made of: forms of one word score alike, so a lexicon
of 2,000 words has not 2,000 independent ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import snowballstemmer
from numpy.typing import NDArray

from rmaudit.language import STEMMERS, language_of_stems

_Stems = dict[str, str]
CACHE: dict[str, _Stems] = {}  # stems by language and word; it decides nothing


def stem_key(text: str, language: str | None = None) -> str:
    """Return the lower-case words of `text`, each as its Snowball stem, joined by spaces."""
    return " ".join(stem(word, language) for word in text.casefold().split())


def stem_codes(texts: Iterable[str]) -> NDArray[np.intp]:
    """Return integers from 0, shape (n,): texts with the same stems have the same number."""
    return pd.factorize(np.array([stem_key(text) for text in texts], dtype=object))[0]


def stem(word: str, language: str | None = None) -> str:
    """Return the Snowball stem of a lower-case word, cached for as long as the process runs.

    A word of a language without a stemmer is its own stem.
    """
    of = language or language_of_stems()
    known = CACHE.setdefault(of, {})
    found = known.get(word)
    if found is None:
        stemmer = STEMMERS[of]
        made = snowballstemmer.stemmer(stemmer).stemWord(word) if stemmer else word
        found = known[word] = str(made)
    return found
