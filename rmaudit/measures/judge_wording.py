"""Measure whether a judge ranks answers alike by the words of its template and by rewordings."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import (
    UNMEASURED,
    ends_of_many,
    even_clusters,
    students,
    widened,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "Kendall's tau"
FEWEST = 5  # groups
_Floats = NDArray[np.float64]


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
    groups = pd.factorize(answers["group"])[0]
    many, missing = len(np.unique(groups)), int((~np.isfinite(scores)).sum())
    if many < FEWEST or missing or not np.ptp(scores, axis=0).all():
        raise MeasureError(
            f"answers of {many} groups, {missing} of their rewards missing; at least {FEWEST} "
            f"groups and, under each wording, rewards that differ are needed"
        )
    names = [str(name) for name in rewards.columns[1:]]
    found = _tau_with_each_rewording(scores)
    left = np.array([_tau_with_each_rewording(scores[groups != group]) for group in range(many)])
    errors = [math.sqrt((many - 1) * float(np.var(without))) for without in left.T]
    each, freedom = list(zip(found.tolist(), errors, strict=True)), even_clusters(groups) - 1

    def intervals(level: float) -> list[tuple[float, float]]:
        return [students(*one, freedom, within=(-1.0, 1.0), level=level) for one in each]

    ends = ends_of_many(len(names), intervals, least=True)
    shifts = (scores[:, 1:] - scores[:, :1]).mean(axis=0) / scores[:, 0].std()
    estimate = Estimate(
        value=float(found.min()),
        low=min(low for low, _ in ends),
        high=min(high for _, high in ends),
        unit=UNIT,
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
