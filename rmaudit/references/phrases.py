"""Phrases of known valence, made of words of known valence: "happy and laughed"."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rmaudit.stems import stem_key

FREQUENT = 3.5  # Zipf: three uses in a million words, known to any model
_BINS = 30
_PAIRS = 12  # a bin at most


def phrases(valence: pd.Series[float], zipf: pd.Series[float]) -> pd.Series[float]:
    """Pairs of words of like valence, "WORD and WORD": the mean valence of the two by phrase.

    Of the words of `valence` that are at least as frequent as `FREQUENT` by `zipf` one is taken of
    each stem, so that no two phrases share a word in any form. They are cut into 30 bins of equal
    width in valence; within each, neighbours in valence make a phrase, 12 spread over the bin where
    there are more. Nothing is drawn: the same words make the same phrases.
    """
    known = valence[valence.index.isin(zipf.index[zipf >= FREQUENT])].sort_index()
    stems = pd.Index([stem_key(word) for word in known.index])
    known = known[~stems.duplicated()].sort_values(kind="stable")
    edges = np.linspace(known.min(), known.max(), _BINS + 1)
    places = np.clip(np.digitize(known, edges) - 1, 0, _BINS - 1)
    texts, values = [], []
    for place in range(_BINS):
        inside = known[places == place]
        pairs = len(inside) // 2
        spread = np.linspace(0, pairs - 1, min(pairs, _PAIRS)).round().astype(int)
        for first in 2 * spread:
            two = inside.iloc[first : first + 2]
            texts.append(" and ".join(two.index))
            values.append(float(two.mean()))
    return pd.Series(values, index=pd.Index(texts, name="phrase"), name=f"{valence.name} of pairs")
