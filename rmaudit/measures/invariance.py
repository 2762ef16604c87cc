"""Measure how far changes that should not matter shift rewards, in sd of the answers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import (
    UNMEASURED,
    absolute_interval,
    clustered_error,
    ends_of_many,
    even_clusters,
    students,
    widened,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "sd of answers"
FEWEST = 5  # groups
_Floats = NDArray[np.float64]


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

    The spread is the sd of the rewards in the first column within a prompt. The interval is
    Student's over groups, by linearization of the ratio: the spread is estimated, too. With k
    changes the lower end holds for all of them (`ends_of_many`). It is widened by numeric `noise`
    (its sd for one reward, in its units). Secondary: the shift by each change, with its sign.

    Raises:
        MeasureError: a reward is missing, there are fewer than `FEWEST` groups, or answers as they
            are do not differ.
    """
    scores = rewards.to_numpy(float)
    groups = pd.factorize(answers["group"])[0]
    many = len(np.unique(groups))
    if many < FEWEST or not np.isfinite(scores).all():
        message = (
            f"answers of {many} groups, {int((~np.isfinite(scores)).sum())} of their rewards "
            f"missing; at least {FEWEST} groups and all rewards are needed"
        )
        raise MeasureError(message)
    prompts = pd.factorize(answers["prompt"] + answers["turns"])[0]
    weights = (
        _weights_of_chosen_less_rejected(answers)
        if chosen_minus_rejected
        else np.ones(len(answers))
    )
    pairs = [tuple(map(rewards.columns.get_loc, pair)) for pair in changes.values()]
    if not _squared_distances_from_prompt_mean(scores[:, 0], prompts).any():
        raise MeasureError("all answers to a prompt have the same reward: there is no spread")

    def shifts(drawn: _Floats) -> tuple[_Floats, _Floats]:
        """Return each change's shift, shape (k,), and the answers' influences on it, (k, n)."""
        squares = _squared_distances_from_prompt_mean(drawn[:, 0], prompts)
        spread = math.sqrt(squares.mean())
        moved = np.stack([weights * (drawn[:, after] - drawn[:, old]) for after, old in pairs])
        found = moved.mean(axis=1) / spread
        shares = np.abs(weights) / np.abs(weights).mean()
        influence = (moved / spread - found[:, None] * shares) - np.outer(
            found, squares / squares.mean() - 1
        ) / 2
        return found, influence

    def value_of(drawn: _Floats) -> float:
        found, _ = shifts(drawn.reshape(scores.shape))
        return float((np.abs(found) if either_way else found).max())

    found, influence = shifts(scores)
    freedom = even_clusters(groups) - 1

    def intervals(level: float) -> list[tuple[float, float]]:
        each = [
            students(value, clustered_error(own, groups), freedom, level=level)
            for value, own in zip(found.tolist(), influence, strict=True)
        ]
        return [absolute_interval(*ends) for ends in each] if either_way else each

    ends = ends_of_many(len(found), intervals)
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
    )
    within = (0.0, math.inf) if either_way else (-math.inf, math.inf)
    return widened(estimate, value_of, scores.ravel(), noise, rng, within=within)


def _weights_of_chosen_less_rejected(answers: pd.DataFrame) -> _Floats:
    """Return weights (n,) that turn a mean of rewards into the lines' mean of chosen - rejected."""
    side = answers.groupby(["line", "chosen"])["chosen"].transform("size").to_numpy(float)
    sign = np.where(answers["chosen"].to_numpy(bool), 1.0, -1.0)
    weights: _Floats = sign / side * (len(answers) / answers["line"].nunique())
    return weights


def _squared_distances_from_prompt_mean(scores: _Floats, prompts: NDArray[np.intp]) -> _Floats:
    """Return each score's squared distance from its prompt's mean; their mean is the variance.

    The factor k/(k - 1), for a prompt with k answers, makes it unbiased.
    """
    counts = np.bincount(prompts)
    off = scores - (np.bincount(prompts, scores) / counts)[prompts]
    return off**2 * (counts / np.maximum(counts - 1, 1))[prompts]
