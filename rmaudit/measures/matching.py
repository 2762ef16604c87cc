"""Controls for words: each word is compared with words that are like it in all but the question."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MOST = 5  # controls a term
REACH = 1.0  # of zipf: a tenfold frequency
LIKE = 1.0  # of labMT happiness
LETTERS = 4.0  # that count as much as 1 of zipf


def matched(
    terms: pd.DataFrame,
    controls: pd.DataFrame,
    *,
    single: Collection[str] | None = None,
    valence: pd.Series[float] | None = None,
) -> NDArray[np.float64]:
    """Shape (terms, controls): each row spreads 1 over its term's controls, 0 where it has none.

    A control shares a form (`forms`, frozensets) and the case (`capital`) with its term, its
    `zipf` is within 1, and both are in `single` (the texts that are one token) or neither is;
    without `single` that is not asked. It is `neutral`, or, if `valence` is given (by lower-case
    word, labMT's scale), both have one and they are within 1. Of these, the 5 nearest by the sum
    of |zipf - zipf'| and a quarter of the difference in letters (an sd of either among the controls
    is about as much); ties by text. So a row does not depend on the order of the controls.
    """
    rows = np.zeros((len(terms), len(controls)))
    texts = controls["text"].to_numpy(dtype=str)
    apart = _apart(terms["zipf"], controls["zipf"])
    fits = apart <= REACH
    letters = (
        pd.Series([float(len(text)) for text in frame["text"]]) for frame in (terms, controls)
    )
    apart += _apart(*letters) / LETTERS
    fits &= terms["capital"].to_numpy()[:, None] == controls["capital"].to_numpy()
    forms = sorted(frozenset().union(*terms["forms"]))
    mine, theirs = (
        np.array([frame["forms"].map(lambda each, form=form: form in each) for form in forms])
        for frame in (terms, controls)
    )
    fits &= mine.T.astype(int) @ theirs.astype(int) > 0
    if single is not None:
        tokens = single if isinstance(single, (set, frozenset)) else set(single)
        one = [np.array([text in tokens for text in frame["text"]]) for frame in (terms, controls)]
        fits &= np.equal.outer(*one)
    if valence is None:
        fits &= controls["neutral"].to_numpy(bool)
    else:
        rated = (frame["text"].str.casefold().map(valence) for frame in (terms, controls))
        fits &= _apart(*rated) <= LIKE
    for row, fit, distance in zip(rows, fits, apart, strict=True):
        places = np.flatnonzero(fit)
        nearest = places[np.lexsort((texts[places], distance[places]))][:MOST]
        row[nearest] = 1 / max(len(nearest), 1)
    return rows


def _apart(one: pd.Series[float], other: pd.Series[float]) -> NDArray[np.float64]:
    """Shape (len(one), len(other)): how far each is from each."""
    return np.abs(np.subtract.outer(one.to_numpy(float), other.to_numpy(float)))
