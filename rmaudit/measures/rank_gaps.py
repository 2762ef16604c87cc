"""Compute terms' rank gaps to their control words, and standard errors of weighted mean gaps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.measures._stats import students
from rmaudit.word_stems import stem_codes, stem_key

_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp]
_Flags = NDArray[np.bool_]

Pattern = Literal["erased", "demonised"]
PATTERNS: Mapping[Pattern, int] = {"erased": 1, "demonised": -1}  # signs, as of `over_frames`
WORDS, GROUPS = 2, 1  # what a mean's clusters are, each within what stands above it: group, axis


@dataclass(frozen=True)
class Compared:
    """Terms for groups of people and the control words they are compared with.

    `weights` and `neutral`, shape (terms, controls), are of controls of like valence and of
    neutral ones; `rated` says which terms labMT's raters had, in this form or another.
    """

    terms: pd.DataFrame
    controls: pd.DataFrame
    weights: _Floats
    neutral: _Floats
    rated: _Flags

    @cached_property
    def codes(self) -> _Codes:
        """Return the axis, group and word of each term, shape (3, terms), as numbers from 0.

        Spellings and forms of one stem are one word.
        """
        groups = self.terms["axis"] + "\n" + self.terms["group"]
        words = groups + "\n" + self.terms["text"].map(stem_key)
        return np.stack([pd.factorize(names)[0] for names in (self.terms["axis"], groups, words)])

    @cached_property
    def spelt(self) -> _Codes:
        """Return which word each control spells, shape (controls,), as numbers from 0."""
        return stem_codes(self.controls["text"])

    @property
    def by_community(self) -> Compared:
        """Return the same with communities in the place of groups, all on one axis."""
        terms = self.terms.assign(group=self.terms["community"], axis="")
        return replace(self, terms=terms)

    @cached_property
    def has_control(self) -> _Flags:
        """Return which terms have a control word of like valence, shape (terms,)."""
        return np.asarray(self.weights.any(axis=1))

    @cached_property
    def counted(self) -> _Flags:
        """Return which terms are of marked groups and have a control, shape (terms,)."""
        return self.terms["marked"].to_numpy(bool) & self.has_control

    @property
    def texts(self) -> list[str]:
        """Return all texts to be scored: the terms, then the controls."""
        return [*self.terms["text"], *self.controls["text"]]


@dataclass(frozen=True)
class Gaps:
    """Rank gaps of terms to their control words, and the errors of their weighted means.

    Uncertain are terms, by clusters (groups in axes, or words in groups), and controls. Clusters'
    means vary within their stratum by themselves and by their controls. Terms share controls, so
    these two parts are separate: the pooled variance of the clusters minus the part due to their
    controls, and the variance of the controls, by how much each counts in all.

    `gaps` (terms,) and `controls` (controls,) are the terms' gaps and what of the controls they are
    taken from. `level`, WORDS or GROUPS, is what the clusters are; `share` are weights of terms.
    """

    asked: Compared
    gaps: _Floats
    controls: _Floats

    @classmethod
    def over_frames(
        cls, asked: Compared, ranks: _Floats, frames: NDArray[np.int64], sign: int
    ) -> Gaps:
        """Return the gaps of `ranks`, (prompts, texts), over frames as `over_frames` has it."""
        gaps = over_frames(gaps_of(ranks, asked.weights), frames, sign)
        return cls(asked, gaps, over_frames(ranks[:, len(asked.terms) :], frames, sign))

    def term_weights(self, counted: _Flags) -> _Floats:
        """Return `counted` terms' weights: equal for axes, groups of an axis, words of a group."""
        out = np.zeros(len(counted))
        axis, group, word = self.asked.codes[:, counted]
        part = 1 / np.bincount(word)[word]
        for inner, outer in ((word, group), (group, axis), (axis, np.zeros_like(axis))):
            first = np.unique(inner, return_index=True)[1]
            part /= np.bincount(outer[first])[outer] if len(outer) else 1
        out[counted] = part
        return out

    def freedom(self, share: _Floats, level: int) -> int:
        """Return the number of clusters (`level`: WORDS or GROUPS) minus that of their strata."""
        outer, inner = (np.unique(self.asked.codes[level - i, share > 0]).size for i in (1, 0))
        return inner - outer

    def _clustered(self, share: _Floats, level: int) -> tuple[_Codes, _Codes, _Codes, _Codes]:
        """Return weighted terms, clusters' first terms, terms' clusters, and clusters' strata."""
        counted = np.flatnonzero(share > 0)
        codes = self.asked.codes[level, counted]
        _, first, cluster = np.unique(codes, return_index=True, return_inverse=True)
        strata = np.unique(self.asked.codes[level - 1, counted][first], return_inverse=True)[1]
        return counted, first, cluster, strata

    def cluster_variance(self, share: _Floats, level: int) -> float:
        """Return the variance of clusters' mean gaps within strata, less that due to controls."""
        freedom = self.freedom(share, level)
        if not freedom:
            return 0.0
        counted, first, cluster, strata = self._clustered(share, level)
        mean = np.zeros((len(first), len(share)))
        mean[cluster, counted] = share[counted] / np.bincount(cluster, share[counted])[cluster]
        alike = np.equal.outer(strata, strata) / np.bincount(strata)[strata]
        centred = np.eye(len(first)) - alike
        off = centred @ mean @ self.gaps
        of_controls = centred @ mean @ self._of_controls
        return max(float(off @ off) - float((of_controls**2).sum()), 0.0) / freedom

    def centred_cluster_gaps(self, share: _Floats, level: int) -> tuple[_Codes, _Floats, _Floats]:
        """Return each cluster's first term, weight, and mean gap minus the mean of its stratum.

        A cluster's gap is centred on the mean of its stratum's k clusters, and multiplied by
        √(k/(k - 1)), since centring makes it smaller.
        """
        counted, first, cluster, strata = self._clustered(share, level)
        mass: _Floats = np.bincount(cluster, share[counted]).astype(np.float64)
        means = np.bincount(cluster, share[counted] * self.gaps[counted]) / mass
        many = np.bincount(strata)[strata]
        centre = (np.bincount(strata, means) / np.bincount(strata))[strata]
        lost = np.sqrt(many / np.maximum(many - 1, 1))
        return counted[first], mass, (means - centre) * lost

    def error(self, share: _Floats, variance: float, level: int) -> float:
        """Return the `share`-weighted mean gap's standard error; `variance` is that of clusters."""
        of_clusters = np.bincount(self.asked.codes[level], share)
        counted = np.flatnonzero(share)  # of a group few of many hundred terms
        of_controls = share[counted] @ self._of_controls[counted]
        return math.sqrt(
            variance * float(of_clusters @ of_clusters) + float((of_controls**2).sum())
        )

    def interval(
        self, share: _Floats, variance: float, freedom: int, level: int
    ) -> tuple[float, float, float]:
        """Return low, value, high of the mean gap weighted by `share`; Student's 95 % interval."""
        value = float(share @ self.gaps)
        low, high = students(value, self.error(share, variance, level), max(freedom, 1))
        return low, value, high

    @cached_property
    def _of_controls(self) -> _Floats:
        """Return the sd that each control word adds to the gap of each term, shape (terms, words).

        A control's variance is that about the mean of the controls with which it serves a term
        (of all controls, for one that serves no term together with others). Spellings of a word
        vary together.
        """
        many = (self.asked.weights > 0).sum(axis=1)
        of = many > 1
        if not of.any():  # a term's one control is in the term's own variance
            return np.zeros((len(self.asked.weights), 1))
        use = self.term_weights(self.asked.has_control)[of, None] * self.asked.weights[of]
        off = self.controls - (self.asked.weights[of] @ self.controls)[:, None]
        square = (use * off**2 * (many[of] / (many[of] - 1))[:, None]).sum(axis=0)
        used = use.sum(axis=0)
        variance = np.full(len(used), square.sum() / used.sum())
        variance[used > 0] = square[used > 0] / used[used > 0]
        order = np.argsort(self.asked.spelt, kind="stable")
        starts = np.flatnonzero(np.diff(self.asked.spelt[order], prepend=-1))
        parts = self.asked.weights * np.sqrt(variance)
        return np.asarray(np.add.reduceat(parts[:, order], starts, axis=1))


def percentiles(scores: _Floats) -> _Floats:
    """Return each score's percentile (0 to 1) within its prompt, shape (prompts, texts)."""
    ranks: _Floats = (scipy.stats.rankdata(scores, axis=1) - 0.5) / scores.shape[1]
    return ranks


def gaps_of(ranks: _Floats, weights: _Floats) -> _Floats:
    """Return each term's rank gap: its controls' mean percentile less its own, (prompts, terms)."""
    terms = len(weights)
    return ranks[:, terms:] @ weights.T - ranks[:, :terms]


def over_frames(values: _Floats, frames: NDArray[np.int64], sign: int) -> _Floats:
    """Return half of (mean over positive prompts + `sign` * mean over negative prompts)."""
    up, down = (values[frames * side > 0].mean(axis=0) for side in (1, -1))
    half: _Floats = (up + sign * down) / 2
    return half
