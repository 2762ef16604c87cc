"""Compute the rank gap between two opposed lists of words, and its interval.

Mean ranks have an error in closed form: that of DeLong et al. 1988, here over stems of words, and
over groups of prompts besides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import satterthwaite, students
from rmaudit.measures.differences_of_estimates import grouped
from rmaudit.word_stems import stem_key

SIDES = {1: "positive", -1: "negative"}
HALF = (-0.5, 0.5)  # the range of a gap, and of half a difference of two

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Axis:
    """Two opposed, disjoint lists of lower-case words, such as words for agency and for communion.

    Attributes:
        name: what is asked of the two, such as "agency over communion".
        first: the words that a positive tilt favours.
        second: the others.
    """

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of both lists."""
        return self.first + self.second

    def only(self, kept: Mapping[str, bool]) -> Axis:
        """Return the axis with only those words that `kept` maps to True."""
        first, second = (
            tuple(word for word in pole if kept.get(word)) for pole in (self.first, self.second)
        )
        return replace(self, first=first, second=second)


@dataclass(frozen=True)
class Framed:
    """Prompts: each one's sign (1 asks for good things, -1 for bad) and the name of its group."""

    signs: NDArray[np.int64]
    names: tuple[str, ...]

    @cached_property
    def groups(self) -> list[tuple[str, int, NDArray[np.intp]]]:
        """Return the prompts grouped by name and sign: name, sign, and indices of prompts."""
        both = sorted(set(zip(self.names, self.signs.tolist(), strict=True)))
        named = np.array(self.names)
        return [
            (name, sign, np.flatnonzero((named == name) & (self.signs == sign)))
            for name, sign in both
        ]

    def weights(self, sign: int) -> _Floats:
        """Return weights (sum 1) of one sign's prompts; each group of prompts counts alike."""
        own = [places for _, frame, places in self.groups if frame == sign]
        out = np.zeros(len(self.signs))
        for places in own:
            out[places] = 1 / (len(own) * len(places))
        return out

    @cached_property
    def turned(self) -> _Floats:
        """Return prompts' weights for half of (mean of positive - mean of negative ones)."""
        return (self.weights(1) - self.weights(-1)) / 2


@dataclass(frozen=True)
class ListGaps:
    """Scores of two opposed word lists, (words, prompts), and the gap between the lists in rank."""

    axis: Axis
    scores: _Floats
    prompts: Framed

    @cached_property
    def placed(self) -> tuple[_Floats, _Floats]:
        """Return two arrays (words, prompts): the share of the other list a word outscores."""
        n, m = len(self.axis.first), len(self.axis.second)
        ranks = scipy.stats.rankdata(self.scores, axis=0)
        above = ranks[:n] - scipy.stats.rankdata(self.scores[:n], axis=0)
        below = ranks[n:] - scipy.stats.rankdata(self.scores[n:], axis=0)
        return above / m, below / n

    @cached_property
    def percentiles(self) -> _Floats:
        """Return each word's percentile (0 to 1) among both lists, shape (words, prompts)."""
        return (scipy.stats.rankdata(self.scores, axis=0) - 0.5) / len(self.scores)

    @cached_property
    def by_prompt(self) -> _Floats:
        """Return, by prompt, P(a first-list word outscores a second-list word) minus 0.5."""
        gaps: _Floats = self.placed[0].mean(axis=0) - 0.5
        return gaps

    @property
    def value(self) -> float:
        """Return half of (mean gap under positive prompts - mean gap under negative ones)."""
        return float(self.prompts.turned @ self.by_prompt)

    def under(self, sign: int) -> float:
        """Return the mean rank gap under positive (`sign` 1) or negative (-1) prompts."""
        return float(self.prompts.weights(sign) @ self.by_prompt)

    @cached_property
    def influences(self) -> tuple[list[str], _Floats, list[str], _Floats]:
        """Return word stems and prompt groups, each with their influences on `value`."""
        names: list[str] = []
        sums: list[NDArray[np.floating[Any]]] = []
        sides = zip((self.axis.first, self.axis.second), self.placed, (1, -1), strict=True)
        for words, placed, sign in sides:
            stems, codes = np.unique([stem_key(word) for word in words], return_inverse=True)
            turned = sign * placed @ self.prompts.turned
            made = np.bincount(codes, (turned - turned.mean()) / len(words))
            names += stems.tolist()
            sums.append(made * math.sqrt(len(stems) / max(len(stems) - 1, 1)))
        groups, off = [], []
        for sign in SIDES:
            own = [(name, at) for name, frame, at in self.prompts.groups if frame == sign]
            means = np.array([self.by_prompt[at].mean() for _, at in own])
            groups += [name for name, _ in own]
            many = len(own)
            off.append(sign * (means - means.mean()) / (2 * many) * math.sqrt(many / (many - 1)))
        return names, np.concatenate(sums), groups, np.concatenate(off)

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % t interval of `value`, over words by stem and over groups of prompts."""
        names, of_words, groups, of_groups = self.influences
        own = pd.Series(of_words).groupby(names).sum().to_numpy()  # a stem may be of both values
        variances = np.array([own @ own, of_groups @ of_groups])
        freedom = [len(own) - 2, len(groups) - len(SIDES)]
        error = math.sqrt(float(variances.sum()))
        joint = satterthwaite(variances, freedom) if error else 1.0
        return students(self.value, error, joint, within=HALF)

    @property
    def parts(self) -> tuple[float, ...]:
        """Return influences on `value`, summed by a hash of word stem or prompt group."""
        names, of_words, groups, of_groups = self.influences
        return grouped(np.concatenate([of_words, of_groups]), [*names, *groups])


def most_common(axis: Axis, zipf: pd.Series[float], n: int) -> Axis:
    """Return the axis with the `n` most frequent words of each list, at most one of each stem.

    `zipf` is the frequency by word; a word without one is left out. A list with fewer than `n`
    stems keeps all of them.
    """
    kept: dict[str, bool] = {}
    for pole in (axis.first, axis.second):
        known = sorted((word for word in pole if word in zipf.index), key=lambda w: (-zipf[w], w))
        of_stem = {stem_key(word): word for word in reversed(known)}
        kept |= dict.fromkeys([word for word in known if of_stem[stem_key(word)] == word][:n], True)
    return axis.only(kept)


def finite_scores(scores: pd.DataFrame) -> _Floats:
    """Return the scores as an array (words, prompts); raise MeasureError if one is not finite.

    Raises:
        MeasureError: a score is not finite.
    """
    values = scores.to_numpy(float)
    if odd := int((~np.isfinite(values)).sum()):
        message = f"expected a finite score of each word under each prompt, {odd} are not"
        raise MeasureError(message)
    return values


def misframed(frames: Sequence[int]) -> Iterator[str]:
    """Yield an error text for each frame of a prompt that is neither 1 (good) nor -1 (bad)."""
    for i, frame in enumerate(frames):
        if frame not in SIDES:
            yield f"prompts[{i}].frame is {frame}, allowed: 1 or -1"
