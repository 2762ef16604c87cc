"""Measure which of two values a model ranks higher: agency or communion, virtues or vices.

Christian et al. 2026 rank the words of both values among each other under 54 prompts and compare
the median ranks of reward models that grew from different bases. Here it is mean ranks, whose
error is known in closed form (DeLong et al. 1988), of one model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart, Points, numbers, row_of
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, least_squares, widened
from rmaudit.measures.opposite_list_gap import (
    HALF,
    SIDES,
    Axis,
    Framed,
    ListGaps,
    finite_scores,
    misframed,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

UNIT = "rank gap"
FEWEST = 20  # words of either list
BESIDE = 8  # of an axis that only stands beside
_NUMBERS = ("gap", "low", "high", "positive", "negative")
_GROUPS = 2  # of prompts, of each frame

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tilt:
    """Rank gap between an axis's two word lists, with interval and by kind of prompt."""

    axis: str
    words: int
    gap: float
    low: float
    high: float
    positive: float
    negative: float


@dataclass(frozen=True)
class PromptGap:
    """A prompt, and the rank gap between the first axis's two word lists under this prompt."""

    prompt: str
    group: str
    frame: int
    gap: float


@dataclass(frozen=True, kw_only=True)
class ValueTiltEvidence(Evidence):
    """Rank gaps between opposed word lists on all axes, and the first axis's gap by prompt."""

    kind: Literal["value_tilt"] = "value_tilt"
    axes: tuple[Tilt, ...]
    prompts: tuple[PromptGap, ...]

    def faults(self) -> Iterator[str]:
        """Yield an error text for each prompt whose frame is neither 1 (good) nor -1 (bad)."""
        yield from misframed([row.frame for row in self.prompts])

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of all axes' gaps, and of the first axis's gap by prompt group."""
        given = [evidence for _, evidence in found if evidence.axes]
        if not given:
            return None
        rows = [
            (row.axis, str(row.words), *(f"{getattr(row, key):+.3f}" for key in _NUMBERS))
            for evidence in given
            for row in evidence.axes
        ]
        return Chart(
            "Which value it ranks higher",
            "First panel: how far the words of the first list rank above those of the second where "
            "good is asked for, and below where bad is (half of both), with its 95 % interval; 0 "
            "is no tilt. Of a moral foundation the lists are its virtues and its vices. Second: "
            "the gap under the prompts of each adjective, and its range over wordings.",
            tuple(panel for evidence in given for panel in _panels_of_tilt(evidence)),
            {"axis": "text", "words": "number", **numbers(*_NUMBERS)},
            tuple(rows),
        )


def tilt(  # noqa: PLR0913  (keyword-only after the subjects)
    scores: pd.DataFrame,
    axes: Sequence[Axis],
    frames: Mapping[str, int],
    *,
    rng: np.random.Generator,
    groups: Mapping[str, str] | None = None,
    happiness: pd.Series[float] | None = None,
    noise: Mapping[str, float] | None = None,
) -> Estimate:
    """Return the rank gap between the first axis's word lists, negated where bad things are asked.

    `scores` has a row for each word of the axes, a column for each prompt; `frames` is each
    prompt's frame, +1 or -1, `groups` its group, such as its adjective (without it each is its
    own), `noise` the sd of the numeric noise of its scores.

    Under a prompt the gap is the mean percentile of the first words among both minus that of the
    second: from -0.5 to 0.5, and 0.5 more is the probability that a first word outranks a second.
    The value is half the difference of the mean gaps under positive and negative frames: what is
    ranked high whatever is asked cancels. The interval is Student's, from the variance over stems
    of words (DeLong's) and over groups of prompts within frames, widened by `noise`.

    Secondary: the gap under either frame, and whatever is asked (half the sum); the median
    percentiles of both lists under either frame; the value of each other axis with `BESIDE` words
    of either list; and, with `happiness` (by word), the coefficient of the list in a regression
    that holds it fixed. Evidence: all axes with intervals, and the gap under each prompt.

    Raises:
        MeasureError: fewer than `FEWEST` words of a list of the first axis or 2 groups of prompts a
            frame, or a score is not finite, or all words have the same under a prompt.
    """
    asked = _checked_prompts(scores, axes, frames, groups or {})
    few = [axis for axis in axes[1:] if min(len(axis.first), len(axis.second)) < BESIDE]
    first, *others = (
        ListGaps(axis, scores.loc[list(axis.words)].to_numpy(float), asked)
        for axis in axes
        if axis not in few
    )
    up, down = first.under(1), first.under(-1)
    low, high = first.interval
    estimate = Estimate(
        value=first.value,
        low=low,
        high=high,
        unit=UNIT,
        n=len(first.axis.words),
        interval="Student's t, over stems of words and over groups of prompts within frames",
        secondary={
            "gap under positive prompts": up,
            "gap under negative prompts": down,
            "gap whatever is asked": (up + down) / 2,
            **_median_percentiles(first),
            **_gap_at_equal_happiness(first, happiness),
            **{each.axis.name: each.value for each in others},
        },
        caveats=tuple(
            f"Not measured, for a list of it has fewer than {BESIDE} words: {axis.name}."
            for axis in few
        ),
        evidence=ValueTiltEvidence(
            axes=tuple(_tilt_of_axis(each) for each in (first, *others)),
            prompts=tuple(
                PromptGap(str(name), group, int(sign), round(float(gap), 4))
                for name, group, sign, gap in zip(
                    scores.columns, asked.names, asked.signs, first.by_prompt, strict=True
                )
            ),
        ),
        parts=first.parts,
    )
    own = first.scores
    sds = np.array([(noise or {}).get(str(name), UNMEASURED) for name in scores.columns])

    def value_of(drawn: _Floats) -> float:
        return ListGaps(first.axis, drawn.reshape(own.shape), asked).value

    return widened(estimate, value_of, own.ravel(), np.tile(sds, len(own)), rng, within=HALF)


def _checked_prompts(
    scores: pd.DataFrame, axes: Sequence[Axis], frames: Mapping[str, int], groups: Mapping[str, str]
) -> Framed:
    signs = np.array([np.sign(frames[str(name)]) for name in scores.columns], dtype=int)
    asked = Framed(signs, tuple(groups.get(str(name), str(name)) for name in scores.columns))
    least = min(len(axes[0].first), len(axes[0].second))
    counts = [sum(frame == sign for _, frame, _ in asked.groups) for sign in SIDES]
    if least < FEWEST or min(counts) < _GROUPS:
        message = (
            f"{least} words of the shorter list of {axes[0].name!r}, under {counts[0]} groups of "
            f"positive prompts and {counts[1]} of negative ones; at least {FEWEST} words and "
            f"{_GROUPS} groups of each are needed"
        )
        raise MeasureError(message)
    finite_scores(scores)
    own = scores.loc[list(axes[0].words)]
    flat = own.columns[np.ptp(own.to_numpy(float), axis=0) == 0]
    if len(flat):
        message = f"under {flat[0]!r} all {len(own)} words have the same score: nothing is ranked"
        raise MeasureError(message)
    return asked


def _tilt_of_axis(gaps: ListGaps) -> Tilt:
    numbers = (gaps.value, *gaps.interval, gaps.under(1), gaps.under(-1))
    gap, low, high, positive, negative = (round(number, 4) for number in numbers)
    words = len(gaps.axis.words)
    return Tilt(gaps.axis.name, words, gap, low, high, positive, negative)


def _median_percentiles(gaps: ListGaps) -> dict[str, float]:
    """Return each list's median percentile among both lists, under good and under bad prompts."""
    lists = np.split(gaps.percentiles, [len(gaps.axis.first)])
    return {
        f"median percentile of {name}, {said} prompts": float(
            gaps.prompts.weights(sign) @ np.median(own, axis=0)
        )
        for name, own in zip(gaps.axis.name.split(" over "), lists, strict=True)
        for sign, said in SIDES.items()
    }


def _gap_at_equal_happiness(gaps: ListGaps, happiness: pd.Series[float] | None) -> dict[str, float]:
    """Return by name the lists' rank gap adjusted for happiness; empty if few words are rated."""
    if happiness is None:
        return {}
    known = happiness.reindex(list(gaps.axis.words)).to_numpy(float)
    first = np.arange(len(known)) < len(gaps.axis.first)
    rated = ~np.isnan(known)
    if min((rated & first).sum(), (rated & ~first).sum()) < BESIDE or not np.ptp(known[rated]):
        return {}
    design = np.column_stack([np.ones(rated.sum()), first[rated], known[rated]])
    fitted, _ = least_squares(design, (gaps.percentiles @ gaps.prompts.turned)[rated])
    return {"at equal happiness": float(fitted[1]), "words with a happiness": float(rated.sum())}


def _panels_of_tilt(evidence: ValueTiltEvidence) -> Iterator[Points]:
    """Yield two chart panels: gaps on each value axis, and on the first one by group of prompts."""
    axes = [row_of(row.axis.partition(":")[0], row.gap, row.low, row.high) for row in evidence.axes]
    yield Points(title="Tilt, as asked", axis="rank gap", rows=tuple(axes))
    groups: dict[str, list[float]] = {}
    for row in sorted(evidence.prompts, key=lambda row: -row.frame):
        groups.setdefault(row.group, []).append(row.gap)
    by_group = [
        row_of(name, sum(gaps) / len(gaps), min(gaps), max(gaps)) for name, gaps in groups.items()
    ]
    if by_group:
        yield Points(title=evidence.axes[0].axis, axis="rank gap", rows=tuple(by_group))
