"""Measure whether numeric noise could decide what a model prefers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import untied
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "Kendall's tau-b"
FEWEST = 30  # tokens
_TOKENS = 5000  # of which the tau is taken
_DRAWS = 10
_TOP = 100
_FAR = 8  # sds of noise: nothing that is farther below the top gets into it


def stability(
    frame: pd.DataFrame, *, noise: float, answers: int, rng: np.random.Generator
) -> Estimate:
    """Return tau-b of scores with themselves plus `noise` (its sd, measured on `answers` answers).

    `frame` has a column `score`; `noise` is the sd of the numeric noise of a score, in its units,
    measured on `answers` rows. The value is the mean over ten draws of normal noise on at most
    5,000 tokens drawn with `rng`; 1 without noise. What is uncertain is the noise: the ends are
    the value at the ends of the noise's own 95 % interval (chi-square, `answers` degrees of
    freedom). Secondary: the share of pairs that change order; the share of the top 100 that stays
    there; the noise in sd of the scores; how many scores are distinct, and the share that is tied.

    Raises:
        MeasureError: fewer than `FEWEST` tokens are scored, or all scores are equal, or the noise
            was not measured (NaN).
    """
    if not (noise >= 0 and math.isfinite(noise)):
        raise MeasureError(f"numerics needs the measured noise of a score, got {noise}")
    scores = frame["score"].to_numpy(float)
    scores = np.sort(scores[~np.isnan(scores)])  # the order of the rows decides no draw
    if len(scores) < FEWEST or not np.ptp(scores):
        message = f"{len(scores)} tokens are scored; {FEWEST} with scores that differ are needed"
        raise MeasureError(message)
    some = rng.choice(scores, size=min(_TOKENS, len(scores)), replace=False)
    if not np.ptp(some):
        raise MeasureError(
            "all but a few scores are equal: there is no order that noise could change"
        )
    draws = rng.normal(size=(_DRAWS, len(some)))
    # The same draws at all three sizes, so that more noise is less agreement.
    sizes = noise * np.sqrt(answers / scipy.stats.chi2.ppf([0.975, 0.5, 0.025], answers))
    sizes[1] = noise
    taus = [
        float(np.mean([scipy.stats.kendalltau(some, some + noise).statistic for noise in noises]))
        for noises in (size * draws for size in sizes)
    ]
    flipped = (1 - taus[1] / math.sqrt(untied(some))) / 2  # of pairs that are no ties
    distinct = len(np.unique(scores))
    return Estimate(
        value=taus[1],
        low=min(taus),
        high=max(taus),
        unit=UNIT,
        n=len(scores),
        interval=f"from the error of the noise itself, measured on {answers} answers",
        secondary={
            "share of pairs that change order": max(0.0, flipped),
            f"share of the top {_TOP} that stays": _share_of_top_that_stays(scores, noise, rng),
            "noise in sd": noise / float(scores.std()),
            "distinct scores": float(distinct),
            "tie share": 1 - distinct / len(scores),
        },
    )


def _share_of_top_that_stays(
    scores: NDArray[np.float64], noise: float, rng: np.random.Generator
) -> float:
    """Return the mean share of the top 100 scores that stay there when noise is added."""
    top = min(_TOP, len(scores))
    last = np.partition(scores, -top)[-top]
    near = np.sort(scores[scores >= last - _FAR * noise])[::-1]  # ties at the edge: any of them
    stays = []
    for _ in range(_DRAWS):
        order = np.argsort(-(near + rng.normal(scale=noise, size=len(near))), kind="stable")
        stays.append(np.mean(order[:top] < top))
    return float(np.mean(stays))
