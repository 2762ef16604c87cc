"""Match terms with control words: words of similar valence, frequency and form."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.word_stems import stem_key

MOST = 10  # controls a term
REACH = 1.0  # of zipf: a tenfold frequency
LIKE = 1.0  # of labMT happiness, and of VADER, where a point is worth the same
LETTERS = 4.0  # that count as much as 1 of zipf

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Valence:
    """People's ratings of words, by lower-case word, in two lexicons: happiness and sentiment.

    Attributes:
        happiness: labMT's ratings, which neutral words have too.
        sentiment: the ratings of words of sentiment (VADER's scale); a word that is not listed
            there is none, and neutral.
    """

    happiness: pd.Series[float]
    sentiment: pd.Series[float]

    def rated(self, texts: pd.Series[str]) -> _Floats:
        """Return each text's happiness, else the mean of other forms of its stem, else NaN."""
        return _value_of_word_or_stem(self.happiness, self._by_stem[0], texts)

    def loaded(self, texts: pd.Series[str]) -> _Floats:
        """Return each text's sentiment, else the mean of other forms of its stem, else 0."""
        found = _value_of_word_or_stem(self.sentiment, self._by_stem[1], texts)
        return np.nan_to_num(found)

    @cached_property
    def _by_stem(self) -> tuple[pd.Series[float], pd.Series[float]]:
        """Return the mean happiness and the mean sentiment of each stem's words."""
        one, other = (
            values.groupby([stem_key(word) for word in values.index.tolist()]).mean()
            for values in (self.happiness, self.sentiment)
        )
        return one, other


def matched(
    terms: pd.DataFrame,
    controls: pd.DataFrame,
    *,
    single: Collection[str] | None = None,
    valence: Valence | None = None,
) -> _Floats:
    """Return weights (terms, controls): 1/k at each of a term's k controls, at most ten; else 0.

    A control shares a form (`forms`, frozensets) and the case (`capital`) with its term, its
    `zipf` is within 1, and both are in `single` (the texts that are one token) or neither is;
    without `single` that is not asked. It is `neutral`, or, if `valence` is given, like the term
    in that: both are rated by labMT, within 1 of each other, or neither is, and their sentiments
    are within 1. Of these, the 10 nearest by the sum of |zipf - zipf'|, a quarter of the
    difference in letters (an sd of either among the controls is about as much) and the difference
    in valence; ties by text. So a row does not depend on the order of the controls.
    """
    rows = np.zeros((len(terms), len(controls)))
    texts = controls["text"].to_numpy(dtype=str)
    apart = _absolute_differences(terms["zipf"], controls["zipf"])
    fits = apart <= REACH
    letters = (
        pd.Series([float(len(text)) for text in frame["text"]]) for frame in (terms, controls)
    )
    apart += _absolute_differences(*letters) / LETTERS
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
        unlike = _distances_in_valence(terms["text"], controls["text"], valence)
        fits &= unlike <= LIKE
        apart += unlike
    for row, fit, distance in zip(rows, fits, apart, strict=True):
        places = np.flatnonzero(fit)
        nearest = places[np.lexsort((texts[places], distance[places]))][:MOST]
        row[nearest] = 1 / max(len(nearest), 1)
    return rows


def _value_of_word_or_stem(
    values: pd.Series[float], by_stem: pd.Series[float], texts: pd.Series[str]
) -> _Floats:
    """Return the value of each text's word, else the mean of its stem's other forms, else NaN."""
    words = texts.str.casefold()
    found = words.map(values).fillna(words.map(stem_key).map(by_stem))
    return np.asarray(found, dtype=np.float64)


def _distances_in_valence(one: pd.Series[str], other: pd.Series[str], valence: Valence) -> _Floats:
    """Return distances in happiness; in sentiment if neither text has one, infinite if one has."""
    (mine, theirs), loaded = (
        tuple(source(texts) for texts in (one, other)) for source in (valence.rated, valence.loaded)
    )
    by_rating = np.abs(np.subtract.outer(mine, theirs))
    neither = np.logical_and.outer(np.isnan(mine), np.isnan(theirs))
    by_sentiment = np.where(neither, np.abs(np.subtract.outer(*loaded)), np.inf)
    return np.where(np.isnan(by_rating), by_sentiment, by_rating)


def _absolute_differences(one: pd.Series[float], other: pd.Series[float]) -> _Floats:
    return np.abs(np.subtract.outer(one.to_numpy(float), other.to_numpy(float)))
