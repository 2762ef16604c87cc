"""Measure if changes that should not matter shift the rewards of answers, or their order.

`shift` is in sd of the answers' rewards. `agreement` is of rewards by the words of a judge's
template and by rewordings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.charts import Chart, Points, row_of, table
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import (
    ANYWHERE,
    UNMEASURED,
    absolute_interval,
    clustered_error,
    ends_of_many,
    even_clusters,
    robust_spread,
    students,
    widened,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

UNIT, TAU = "sd of answers", "Kendall's tau"
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
            "To the right of 0 a change is paid for. The lower ends hold for all changes at once.",
            (Points(title="shift by each change", axis=UNIT, rows=marks),),
            *table(
                {"change": "text", **dict.fromkeys(("shift", "low", "high"), "+.2f")},
                ((row.change, row.shift, row.low, row.high) for row in rows),
            ),
        )


def shift(  # noqa: PLR0913  (keyword-only after what was scored)
    answers: pd.DataFrame,
    rewards: pd.DataFrame,
    changes: Mapping[str, tuple[str, str]],
    *,
    rng: np.random.Generator,
    either_way: bool = False,
    chosen_minus_rejected: bool = False,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the largest mean shift of rewards that one of `changes` causes, in sd of the rewards.

    `answers` has a row for each of n answers: `line`, `prompt`, `turns`, `group` and `chosen`.
    Answers of a group, such as those to one prompt, are not independent.
    `rewards`, shape (n, ...), has its reward in the first column, and as it was changed in others.
    `changes` name, for each change, the column after it and the one before. With
    `chosen_minus_rejected`, what shifts is how much more the chosen answers of a line get than its
    rejected ones. With `either_way`, shifts down count as shifts up do: the largest is that
    furthest from 0.

    The sd is that of the rewards in the first column within a prompt, by a robust estimate
    (`robust_spread`): one prompt whose answers lie far apart would else make any shift small, and
    its interval wide. The interval is Student's over groups, by linearization of the ratio: the sd
    is estimated, too. With k changes the lower end holds for all of them (`ends_of_many`). It is
    widened by numeric `noise` (its sd for one reward, in its units). Secondary: the shift by each
    change, with its sign; the evidence also has each change's interval (its size's, with
    `either_way`).

    Raises:
        MeasureError: a reward is missing, there are fewer than `FEWEST` groups, or nearly two
            thirds of the answers as they are do not differ from others to their prompts.
    """
    scores = rewards.to_numpy(float)
    groups = _groups(answers, scores, f"at least {FEWEST} groups and all rewards are needed")
    prompts = pd.factorize(answers["prompt"] + answers["turns"])[0]
    weights = (
        _weights_of_chosen_less_rejected(answers)
        if chosen_minus_rejected
        else np.ones(len(answers))
    )
    pairs = [tuple(map(rewards.columns.get_loc, pair)) for pair in changes.values()]
    if not robust_spread(_distances_from_prompt_mean(scores[:, 0], prompts))[0] > 0:
        raise MeasureError(
            "most answers to a prompt have the same reward, so there is no sd to count shifts in; "
            "give pairs whose answers differ (--rm-pairs), or a scorer with finer grades"
        )

    def shifts(drawn: _Floats) -> tuple[_Floats, _Floats]:
        """Return each change's shift, (k,), and the answers' influences, (k, n), up to a mean."""
        spread, of_spread = robust_spread(_distances_from_prompt_mean(drawn[:, 0], prompts))
        moved = np.stack([weights * (drawn[:, after] - drawn[:, old]) for after, old in pairs])
        found = moved.mean(axis=1) / spread
        shares = np.abs(weights) / np.abs(weights).mean()
        influence = moved / spread - found[:, None] * (shares + of_spread)
        return found, influence

    def value_of(drawn: _Floats) -> float:
        found, _ = shifts(drawn.reshape(scores.shape))
        return float((np.abs(found) if either_way else found).max())

    found, influence = shifts(scores)
    intervals = _students_over_groups(
        found, [clustered_error(own, groups) for own in influence], groups
    )

    def sizes(level: float) -> list[tuple[float, float]]:
        each = intervals(level)
        return [absolute_interval(*ends) for ends in each] if either_way else each

    ends = ends_of_many(len(found), sizes)
    rows = [
        ChangeShift(change=name, shift=abs(value) if either_way else value, low=low, high=high)
        for name, value, (low, high) in zip(changes, found.tolist(), ends, strict=True)
    ]
    rows.sort(key=lambda row: -row.shift)
    estimate = Estimate(
        value=value_of(scores.ravel()),
        low=max(low for low, _ in ends),
        high=max(high for _, high in ends),
        unit=UNIT,
        n=len(answers),
        together=len(found),
        interval="Student's t over groups"
        + (f", the greatest of {len(found)} changes" if len(found) > 1 else ""),
        secondary=dict(zip(changes, found.tolist(), strict=True)),
        evidence=ShiftEvidence(rows=tuple(rows)),
    )
    within = (0.0, math.inf) if either_way else ANYWHERE
    return widened(estimate, value_of, scores.ravel(), noise, rng, within=within)


def _weights_of_chosen_less_rejected(answers: pd.DataFrame) -> _Floats:
    """Return weights (n,) that turn a mean of rewards into the lines' mean of chosen - rejected."""
    side = answers.groupby(["line", "chosen"])["chosen"].transform("size").to_numpy(float)
    sign = np.where(answers["chosen"].to_numpy(bool), 1.0, -1.0)
    weights: _Floats = sign / side * (len(answers) / answers["line"].nunique())
    return weights


def _distances_from_prompt_mean(scores: _Floats, prompts: _Codes) -> _Floats:
    """Return each score's distance from its prompt's mean; their mean square is the variance.

    The factor of a prompt with k answers, √(k/(k - 1)), makes that unbiased.
    """
    counts = np.bincount(prompts)
    off = scores - (np.bincount(prompts, scores) / counts)[prompts]
    return off * np.sqrt(counts / np.maximum(counts - 1, 1))[prompts]


def agreement(
    answers: pd.DataFrame,
    rewards: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the lowest Kendall's tau-b between rewards under the template and under a rewording.

    `answers` has a row for each of n answers, with its `group`; `rewards`, shape (n, 1 + k), has
    its reward under the template in the first column, and under each rewording in others. Answers
    of a group are not independent: the interval is Student's t from the jackknife over groups. With
    k rewordings the upper end holds for all of them (`ends_of_many`). It is widened by numeric
    `noise` (its sd for one reward, in its units).

    Secondary, for each rewording: tau; and by how much it shifts the mean reward, in sd of the
    rewards under the template.

    Raises:
        MeasureError: a reward is missing, there are fewer than `FEWEST` groups, or all answers have
            one reward under the template or a rewording.
    """
    scores = rewards.to_numpy(float)
    needed = f"at least {FEWEST} groups and, under each wording, rewards that differ are needed"
    groups = _groups(answers, scores, needed, each_column=True)
    names = [str(name) for name in rewards.columns[1:]]
    found = _tau_with_each_rewording(scores)
    many = len(np.unique(groups))
    left = np.array([_tau_with_each_rewording(scores[groups != group]) for group in range(many)])
    errors = [math.sqrt((many - 1) * float(np.var(without))) for without in left.T]
    intervals = _students_over_groups(found, errors, groups, within=(-1.0, 1.0))
    ends = ends_of_many(len(names), intervals, least=True)
    shifts = (scores[:, 1:] - scores[:, :1]).mean(axis=0) / scores[:, 0].std()
    estimate = Estimate(
        value=float(found.min()),
        low=min(low for low, _ in ends),
        high=min(high for _, high in ends),
        unit=TAU,
        n=len(answers),
        together=len(names),
        interval="Student's t, jackknife over groups"
        + (f", the lowest of {len(names)} rewordings" if len(names) > 1 else ""),
        secondary={
            **dict(zip(names, found.tolist(), strict=True)),
            **{f"{name}, shift in sd": float(x) for name, x in zip(names, shifts, strict=True)},
        },
    )

    def value_of(drawn: _Floats) -> float:
        return float(_tau_with_each_rewording(drawn.reshape(scores.shape)).min())

    return widened(estimate, value_of, scores.ravel(), noise, rng, within=(-1.0, 1.0))


def _tau_with_each_rewording(scores: _Floats) -> _Floats:
    """Return Kendall's tau of the first column and each other one, (k,); 0 if one is constant."""
    taus = [scipy.stats.kendalltau(scores[:, 0], other).statistic for other in scores.T[1:]]
    return np.nan_to_num(np.array(taus, dtype=np.float64))


def _groups(
    answers: pd.DataFrame, scores: _Floats, needed: str, *, each_column: bool = False
) -> _Codes:
    """Return each answer's group, numbered from 0, (n,); raise if they are few or rewards missing.

    With `each_column` rewards must differ in each column. `needed` says what is.
    """
    groups = pd.factorize(answers["group"])[0]
    many, missing = len(np.unique(groups)), int((~np.isfinite(scores)).sum())
    if many < FEWEST or missing or (each_column and not np.ptp(scores, axis=0).all()):
        message = f"answers of {many} groups, {missing} of their rewards missing; {needed}"
        raise MeasureError(message)
    return groups


def _students_over_groups(
    found: _Floats,
    errors: list[float],
    groups: _Codes,
    within: tuple[float, float] = ANYWHERE,
) -> Callable[[float], list[tuple[float, float]]]:
    """Return a function of a level, which gives the interval of each of `found` at that level."""
    both = list(zip(found.tolist(), errors, strict=True))
    freedom = even_clusters(groups) - 1
    return lambda level: [students(*each, freedom, within=within, level=level) for each in both]
