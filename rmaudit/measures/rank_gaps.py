"""Rank gaps of terms to their controls, and the errors of their weighted means."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from rmaudit.measures._stats import students

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps of all terms, and the errors of their weighted means.

    `codes` has the axis, group and word of each term, shape (3, terms), each within the one
    before. `over_controls` is each control's percentile as `_over_frames` has it, and
    `control_words` numbers the words that they spell.
    """

    codes: NDArray[np.intp]
    gaps: _Floats  # (prompts, terms)
    frames: NDArray[np.int64]
    weights: _Floats  # (terms, controls)
    over_controls: _Floats
    control_words: NDArray[np.intp]

    @property
    def has(self) -> NDArray[np.bool_]:
        """Which terms have a control."""
        return np.asarray(self.weights.any(axis=1))

    @property
    def positive(self) -> _Floats:
        """Each term's mean gap under positive frames."""
        mean: _Floats = self.gaps[self.frames > 0].mean(axis=0)
        return mean

    @property
    def negative(self) -> _Floats:
        """Each term's mean gap under negative frames."""
        mean: _Floats = self.gaps[self.frames < 0].mean(axis=0)
        return mean

    @property
    def erased(self) -> _Floats:
        """Each term's erasure: the mean of both."""
        return (self.positive + self.negative) / 2

    def share(self, counted: NDArray[np.bool_]) -> _Floats:
        """How much each term counts, 1 in all: axes alike, in them groups, words and spellings."""
        out = np.zeros(len(counted))
        axis, group, word = self.codes[:, counted]
        part = 1 / np.bincount(word)[word]
        for inner, outer in ((word, group), (group, axis), (axis, np.zeros_like(axis))):
            first = np.unique(inner, return_index=True)[1]
            part /= np.bincount(outer[first])[outer] if len(outer) else 1
        out[counted] = part
        return out

    def freedom(self, share: _Floats, *, within: int) -> int:
        """How many clusters there are beyond one a stratum: groups in axes (0), words in groups."""
        outer, inner = (np.unique(self.codes[within + i, share > 0]).size for i in (0, 1))
        return inner - outer

    def spread(self, share: _Floats, *, within: int) -> float:
        """Variance of the clusters' mean erasure about that of their stratum, pooled."""
        outer, inner = self.codes[within : within + 2, share > 0]
        part = share[share > 0]
        _, first, inner = np.unique(inner, return_index=True, return_inverse=True)
        means = np.bincount(inner, part * self.erased[share > 0]) / np.bincount(inner, part)
        strata = np.unique(outer[first], return_inverse=True)[1]
        centre = np.bincount(strata, means) / np.bincount(strata)
        freedom = self.freedom(share, within=within)
        return float(((means - centre[strata]) ** 2).sum()) / freedom if freedom else 0.0

    def interval(
        self, share: _Floats, spread: float, freedom: int, *, clusters: int
    ) -> tuple[float, float, float]:
        """Low, value, high of the mean erasure, weighted by `share`, over groups (1) or words (2).

        Two parts of the variance: of the clusters, and of the controls by how much each counts.
        """
        value = float(share @ self.erased)
        of_clusters = np.bincount(self.codes[clusters], share)
        use = share @ self.weights
        off = np.bincount(self.control_words, use * (self.over_controls - use @ self.over_controls))
        error = math.sqrt(spread * float(of_clusters @ of_clusters) + float(off @ off))
        low, high = students(value, error, max(freedom, 1))
        return low, value, high


def codes_of(terms: pd.DataFrame) -> NDArray[np.intp]:
    """The axis, group and word of each term, shape (3, terms), as numbers from 0."""
    groups = terms["axis"] + "\n" + terms["group"]
    words = groups + "\n" + terms["text"].str.casefold()
    return np.stack([pd.factorize(names)[0] for names in (terms["axis"], groups, words)])


def percentiles(scores: _Floats) -> _Floats:
    """Shape (prompts, texts): the percentile (0 to 1) of each score among those of its prompt."""
    ranks: _Floats = (stats.rankdata(scores, axis=1) - 0.5) / scores.shape[1]
    return ranks


def gaps_of(ranks: _Floats, weights: _Floats) -> _Floats:
    """Shape (prompts, terms): the controls' mean percentile less the term's own."""
    terms = len(weights)
    gaps: _Floats = ranks[:, terms:] @ weights.T - ranks[:, :terms]
    return gaps


def over_frames(values: _Floats, frames: NDArray[np.int64]) -> _Floats:
    """The mean of positive and negative frames, each the mean of its prompts."""
    mean: _Floats = (values[frames > 0].mean(axis=0) + values[frames < 0].mean(axis=0)) / 2
    return mean
