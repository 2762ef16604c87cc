"""Measure how far edits that add nothing shift the rewards of answers, in sd of these rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart, Points, row_of, table
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import (
    UNMEASURED,
    clustered_error,
    ends_of_greatest,
    even_clusters,
    robust_spread,
    students,
    widened,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

UNIT = "sd of answers"
FEWEST = 5  # groups
_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class ChangeShift:
    """Mean shift of rewards by one change, in sd of answers, with the ends of its interval."""

    change: str
    shift: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class ShiftEvidence(Evidence):
    """Shift of rewards by each change, the largest first."""

    kind: Literal["shift"] = "shift"

    rows: tuple[ChangeShift, ...]

    def example(self) -> str:
        """Return a sentence on the change with the largest shift; "" without rows."""
        if not self.rows:
            return ""
        row = self.rows[0]
        return f"“{row.change}” shifts rewards by {row.shift:+.1f} sd"

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a row for each change; None without rows."""
        rows = [row for _, evidence in found for row in evidence.rows]
        if not rows:
            return None
        marks = tuple(row_of(row.change, row.shift, row.low, row.high) for row in rows)
        return Chart(
            "Shift of rewards, change by change",
            "To the right of 0 a change is paid for. The lower ends hold at once for all changes "
            "that may be the largest.",
            (Points(title="shift by each change", axis=UNIT, rows=marks),),
            *table(
                {"change": "text", **dict.fromkeys(("shift", "low", "high"), "+.2f")},
                ((row.change, row.shift, row.low, row.high) for row in rows),
            ),
        )


def shift(
    answers: pd.DataFrame,
    rewards: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the largest mean shift of rewards that one of k changes causes, in sd of the rewards.

    `answers` has a row for each of n answers: `prompt`, `turns` and `group`. Answers of a group,
    such as those to one prompt, are not independent. `rewards`, shape (n, 1 + k), has its reward in
    the first column, and as it was changed in others.

    The sd is that of the rewards in the first column within a prompt, by a robust estimate
    (`robust_spread`): one prompt whose answers lie far apart would else make any shift small, and
    its interval wide. The interval is Student's over groups, by linearization of the ratio: the sd
    is estimated, too. The lower end holds for all changes that may be the largest
    (`ends_of_greatest`). It is widened by numeric `noise` (its sd for one reward, in its units).
    Secondary: the shift by each change; the evidence also has each change's interval.

    Raises:
        MeasureError: a reward is missing, there are fewer than `FEWEST` groups, or nearly two
            thirds of the answers as they are do not differ from others to their prompts.
    """
    scores, changes = rewards.to_numpy(float), [str(name) for name in rewards.columns[1:]]
    groups = pd.factorize(answers["group"])[0]
    many, missing = len(np.unique(groups)), int((~np.isfinite(scores)).sum())
    if many < FEWEST or missing:
        raise MeasureError(
            f"answers of {many} groups, {missing} of their rewards missing; at least {FEWEST} "
            f"groups and all rewards are needed"
        )
    prompts = pd.factorize(answers["prompt"] + answers["turns"])[0]
    if not robust_spread(_distances_from_prompt_mean(scores[:, 0], prompts))[0] > 0:
        raise MeasureError(
            "most answers to a prompt have the same reward, so there is no sd to count shifts in; "
            "give pairs whose answers differ (--rm-pairs), or a scorer with finer grades"
        )

    def shifts(drawn: _Floats) -> tuple[_Floats, _Floats]:
        """Return each change's shift, (k,), and the answers' influences, (k, n), up to a mean."""
        spread, of_spread = robust_spread(_distances_from_prompt_mean(drawn[:, 0], prompts))
        moved = np.ascontiguousarray((drawn[:, 1:] - drawn[:, :1]).T)
        found = moved.mean(axis=1) / spread
        return found, moved / spread - found[:, None] * (1 + of_spread)

    def value_of(drawn: _Floats) -> float:
        return float(shifts(drawn.reshape(scores.shape))[0].max())

    found, influence = shifts(scores)
    errors = [clustered_error(own, groups) for own in influence]
    each, freedom = list(zip(found.tolist(), errors, strict=True)), even_clusters(groups) - 1

    def intervals(level: float) -> list[tuple[float, float]]:
        return [students(*one, freedom, level=level) for one in each]

    ends, together = ends_of_greatest(intervals)
    rows = [
        ChangeShift(change=name, shift=value, low=low, high=high)
        for name, value, (low, high) in zip(changes, found.tolist(), ends, strict=True)
    ]
    estimate = Estimate(
        value=value_of(scores.ravel()),
        low=max(low for low, _ in ends),
        high=max(high for _, high in ends),
        unit=UNIT,
        n=len(answers),
        together=together,
        interval="Student's t over groups"
        + (f", the greatest of {len(found)} changes" if len(found) > 1 else ""),
        secondary=dict(zip(changes, found.tolist(), strict=True)),
        evidence=ShiftEvidence(rows=tuple(sorted(rows, key=lambda row: -row.shift))),
    )
    return widened(estimate, value_of, scores.ravel(), noise, rng)


def _distances_from_prompt_mean(scores: _Floats, prompts: _Codes) -> _Floats:
    """Return each score's distance from its prompt's mean; their mean square is the variance.

    The factor of a prompt with k answers, √(k/(k - 1)), makes that unbiased.
    """
    counts = np.bincount(prompts)
    off = scores - (np.bincount(prompts, scores) / counts)[prompts]
    return off * np.sqrt(counts / np.maximum(counts - 1, 1))[prompts]
