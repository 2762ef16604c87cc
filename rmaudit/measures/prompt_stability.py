"""Measure whether the wording of a prompt decides which words are good answers to it.

Prompts that ask for the same in other words should rank the same words alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.charts import Chart, Fact, Mark, MarkedRow, Points, numbers
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, jackknife_variance, satterthwaite, students, widened
from rmaudit.measures.opposite_list_gap import SIDES, finite_scores, misframed
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

UNIT = "Spearman's rho"
FEWEST = 30  # words
_GROUPS = 3  # of each frame: leaving one out must leave a pair
_ASKS_FOR = {1: "good", -1: "bad"}
_AXES = {"rho": "rho with the frame's other prompts", "rho_with_valence": "rho with valence"}

_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp]
_Sides = list[_Codes]  # the places of the prompts of each frame


@dataclass(frozen=True)
class Wording:
    """One prompt: its mean rho with prompts that ask for the same, and its rho with valence."""

    prompt: str
    group: str
    frame: int
    rho: float
    rho_with_valence: float | None


@dataclass(frozen=True, kw_only=True)
class PromptStabilityEvidence(Evidence):
    """How well the scores under each prompt agree with those under others that ask for the same."""

    kind: Literal["prompt_stability"] = "prompt_stability"
    prompts: tuple[Wording, ...]

    def faults(self) -> Iterator[str]:
        """Yield an error text for each prompt whose frame is neither 1 (good) nor -1 (bad)."""
        yield from misframed([row.frame for row in self.prompts])

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of each prompt's agreement with the others, and its rho with valence."""
        given = [evidence.prompts for _, evidence in found if evidence.prompts]
        if not given:
            return None
        shown = [
            [name for name in _AXES if None not in [getattr(row, name) for row in rows]]
            for rows in given
        ]
        common = [name for name in _AXES if all(name in names for names in shown)]
        cells = [
            (row.prompt, _ASKS_FOR[row.frame], *(f"{getattr(row, key):+.3f}" for key in common))
            for rows in given
            for row in rows
        ]
        columns = [name if name == "rho" else _AXES[name] for name in common]
        return Chart(
            "Spread over wordings",
            "A point is one wording, a row all wordings of one adjective; blue ones ask for what "
            "is good, red ones (hollow) for what is bad. The first panel: how far a wording orders "
            "words as the others of its frame do. The second: how far it follows valence.",
            tuple(
                _panel_of_wordings(rows, name)
                for rows, names in zip(given, shown, strict=True)
                for name in names
            ),
            {"prompt": "text", "asks for": "text", **numbers(*columns)},
            tuple(cells),
        )


def evenly_spread(ratings: pd.Series[float], n: int) -> list[str]:
    """Return `n` words that are evenly spread over the ratings, or all if there are no more."""
    ordered = sorted(ratings.index, key=lambda word: (float(ratings[word]), word))
    n = min(n, len(ordered))
    return [ordered[place * len(ordered) // n] for place in range(n)]


def across_wordings(  # noqa: PLR0913  (keyword-only after the subjects)
    scores: pd.DataFrame,
    frames: Mapping[str, int],
    *,
    rng: np.random.Generator,
    groups: Mapping[str, str] | None = None,
    valence: pd.Series[float] | None = None,
    noise: Mapping[str, float] | None = None,
) -> Estimate:
    """Return the mean Spearman's rho over all pairs of prompts that ask for the same (good or bad).

    `scores` has a row for each word, a column for each prompt; `frames` is each prompt's frame,
    +1 or -1, `noise` the sd of the numeric noise of its scores. `groups` names the group of each
    prompt, such as its adjective: prompts of a group are no independent wordings (without it each
    is its own). Groups and words are uncertain: the interval is Student's t, from the sum of two
    jackknife variances, over groups within frames and over words, with the degrees of freedom of
    Satterthwaite; widened by `noise`.

    Secondary: the same of each frame; the lowest mean rho between two groups of a frame; that
    between frames; the shares of the variance of a word's score that are the word's, its under the
    frame, and its under the wording (columns in sd; estimates, that may fall a little below 0).
    With `valence` (by word): the range, over the prompts of a frame, of Spearman's rho of score
    and valence, and of that rho's variance over prompts the share within frames. Evidence: each
    prompt's group, and its mean rho with those of its frame.

    Raises:
        MeasureError: fewer than `FEWEST` words or 3 groups of a frame, a score is not finite, or
            a prompt gives all words but one the same.
    """
    own = {str(name): str(name) for name in scores.columns}
    named = groups or own
    codes = pd.factorize(pd.Series([named[name] for name in own]))[0]
    values, signs = _checked_scores(scores, frames, codes)
    sides = [np.flatnonzero(signs == sign) for sign in SIDES]
    rho = _pearson(scipy.stats.rankdata(values, axis=0))
    value = _mean_over_frames(rho, sides)
    variances = np.array(
        [_jackknife_over_groups(rho, sides, codes), _jackknife_over_words(values, sides)]
    )
    clusters = sum(np.unique(codes[side]).size for side in sides)
    freedom = np.array([clusters - len(sides), len(scores) - 1])
    secondary = {
        "between positive prompts": _mean_over_pairs(rho, sides[0]),
        "between negative prompts": _mean_over_pairs(rho, sides[1]),
        "between two groups of a frame, lowest": _lowest_between_groups(rho, sides, codes),
        "between frames": float(rho[np.ix_(*sides)].mean()),
        **_shares_of_variance(values, sides),
    }
    followed = None if valence is None else _rho_with_valence(scores, valence)
    if followed is not None:
        secondary |= _spread_of_rho_with_valence(followed, sides)
    wordings = (
        Wording(
            prompt=name,
            group=str(named[name]),
            frame=int(signs[i]),
            rho=round(_mean_with_others(rho, sides, i), 4),
            rho_with_valence=None if followed is None else round(float(followed[i]), 4),
        )
        for i, name in enumerate(own)
    )
    error = math.sqrt(float(variances.sum()))
    joint = satterthwaite(variances, freedom) if error else 1.0
    low, high = students(value, error, joint, within=(-1.0, 1.0))
    estimate = Estimate(
        value=value,
        low=low,
        high=high,
        unit=UNIT,
        n=len(scores),
        interval="Student's t, jackknife over groups of prompts within frames and over words",
        secondary=secondary,
        evidence=PromptStabilityEvidence(prompts=tuple(wordings)),
    )
    sds = np.array([(noise or {}).get(str(name), UNMEASURED) for name in scores.columns])

    def value_of(drawn: _Floats) -> float:
        ranks = scipy.stats.rankdata(drawn.reshape(values.shape), axis=0)
        return _mean_over_frames(_pearson(ranks), sides)

    noises = np.tile(sds, len(values))
    return widened(estimate, value_of, values.ravel(), noises, rng, within=(-1.0, 1.0))


def _checked_scores(
    scores: pd.DataFrame, frames: Mapping[str, int], codes: _Codes
) -> tuple[_Floats, NDArray[np.int64]]:
    """Return scores (words, prompts) and frames (1 or -1); raise MeasureError if unusable.

    Raises:
        MeasureError: as `across_wordings`.
    """
    signs = np.array([np.sign(frames[str(name)]) for name in scores.columns], dtype=int)
    counts = [len(np.unique(codes[signs == sign])) for sign in SIDES]
    if len(scores) < FEWEST or min(counts) < _GROUPS:
        message = (
            f"{len(scores)} words, under {counts[0]} groups of positive prompts and {counts[1]} of "
            f"negative ones; at least {FEWEST} words and {_GROUPS} groups of each are needed"
        )
        raise MeasureError(message)
    values = finite_scores(scores)
    ordered = np.sort(values, axis=0)
    flat = scores.columns[(ordered[-2] == ordered[0]) | (ordered[-1] == ordered[1])]
    if len(flat):
        message = (
            f"under {flat[0]!r} all {len(scores)} words, or all but one, have the same score "
            f"(so under {len(flat)} of {len(signs)} prompts): there is no order to compare"
        )
        raise MeasureError(message)
    return values, signs


def _pearson(columns: _Floats) -> _Floats:
    return np.asarray(np.corrcoef(columns, rowvar=False))


def _mean_over_pairs(r: _Floats, side: _Codes) -> float:
    """Return the mean of the correlation matrix `r` over all pairs of the prompts in `side`."""
    block = r[np.ix_(side, side)]
    return float((block.sum() - np.trace(block)) / (len(side) * (len(side) - 1)))


def _mean_over_frames(r: _Floats, sides: _Sides) -> float:
    mean = float(np.mean([_mean_over_pairs(r, side) for side in sides]))
    return min(mean, 1.0)  # but for rounding


def _mean_with_others(r: _Floats, sides: _Sides, prompt: int) -> float:
    side = next(side for side in sides if prompt in side)
    return float((r[prompt, side].sum() - 1) / (len(side) - 1))


def _jackknife_over_groups(r: _Floats, sides: _Sides, codes: _Codes) -> float:
    """Return the variance of the mean rho by a jackknife over groups of prompts, within frames."""
    parts = []
    for side in sides:
        left = [_mean_over_pairs(r, side[codes[side] != group]) for group in np.unique(codes[side])]
        parts.append(jackknife_variance(np.array(left)))
    return sum(parts) / len(sides) ** 2


def _lowest_between_groups(r: _Floats, sides: _Sides, codes: _Codes) -> float:
    """Return the lowest mean correlation between prompts of any two groups with the same frame."""
    return min(
        float(r[np.ix_(side[codes[side] == one], side[codes[side] == other])].mean())
        for side in sides
        for one, other in combinations(np.unique(codes[side]), 2)
    )


def _jackknife_over_words(values: _Floats, sides: _Sides) -> float:
    """Return the variance of the mean rho by a jackknife over words, ranked anew without each."""
    ranks = scipy.stats.rankdata(values, axis=0)
    left = []
    for word in range(len(values)):
        # the ranks without it: one less above it, half of one at a tie
        below = ranks - (values > values[word]) - 0.5 * (values == values[word])
        left.append(_mean_over_frames(_pearson(np.delete(below, word, axis=0)), sides))
    return jackknife_variance(np.array(left))


def _shares_of_variance(values: _Floats, sides: _Sides) -> dict[str, float]:
    """Return by name the variance shares of word, word and frame, and word and wording.

    A score in sd is a[word] + frame * b[word] + c[word, prompt]; so r is var(a) + var(b) between
    prompts of a frame, and var(a) - var(b) between those of opposite frames.
    """
    r = _pearson(values)
    same, opposite = _mean_over_frames(r, sides), float(r[np.ix_(*sides)].mean())
    return {
        "share of variance: word": (same + opposite) / 2,
        "share of variance: word and frame": (same - opposite) / 2,
        "share of variance: word and wording": 1 - same,
    }


def _rho_with_valence(scores: pd.DataFrame, valence: pd.Series[float]) -> _Floats:
    """Return Spearman's rho of words' scores and valence under each prompt, (prompts,)."""
    both = scores.join(valence.rename("valence"), how="inner").to_numpy(float)
    if len(both) < FEWEST or not np.ptp(both[:, -1]):
        message = (
            f"{len(both)} of the words have a valence; at least {FEWEST} that differ are needed"
        )
        raise MeasureError(message)
    return _pearson(scipy.stats.rankdata(both, axis=0))[-1, :-1]


def _spread_of_rho_with_valence(rhos: _Floats, sides: _Sides) -> dict[str, float]:
    """Return secondary numbers, by name, on how much the wording changes the rho with valence."""
    out = {}
    for name, side in zip(SIDES.values(), sides, strict=True):
        out[f"rho with valence, lowest of {name} prompts"] = float(rhos[side].min())
        out[f"rho with valence, highest of {name} prompts"] = float(rhos[side].max())
    total = float(np.var(rhos))
    within = sum(len(side) * float(np.var(rhos[side])) for side in sides) / len(rhos)
    if total:
        out["share of the variance of rho with valence: wording"] = within / total
    return out


def _panel_of_wordings(rows: Sequence[Wording], name: str) -> Points:
    """Return a chart panel of the field `name` of wordings, with a row for each prompt group."""
    groups: dict[str, list[Mark]] = {}
    for row in sorted(rows, key=lambda row: -row.frame):
        bad = row.frame < 0
        mark = Mark(value=getattr(row, name), second=bad, hollow=bad)
        groups.setdefault(row.group, []).append(mark)
    facts = []
    for frame, said in _ASKS_FOR.items():
        own = [getattr(row, name) for row in rows if row.frame == frame]
        if own:
            ends = f"{min(own):+.2f} to {max(own):+.2f}"
            facts.append(Fact(f"{len(own)} wordings that ask for what is {said}: {ends}"))
    values = [getattr(row, name) for row in rows]
    return Points(
        title=f"{len(rows)} prompts",
        subtitle=(_AXES[name],),
        facts=tuple(facts),
        axis=_AXES[name],
        rows=tuple(MarkedRow(name=group, marks=tuple(marks)) for group, marks in groups.items()),
        domain=(min(0.0, *values), max(1.0, *values)),
    )
