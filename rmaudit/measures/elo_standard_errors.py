"""Estimate the standard errors of people's Elo ratings, and the highest tau that they allow.

Ratings are uncertain themselves: an item that was compared six times has a standard error of some
140 points. No model can agree with such ratings better than people would with themselves.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError

_POINTS = 400 / math.log(10)  # Elo points to a unit of log odds
_STRIDES = 256  # each item is paired with as many others twice over


def standard_errors(elo: NDArray[np.float64], matches: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard error of each rating in Elo points; `matches`: how often it was compared.

    400 / ln 10 / √(matches · p(1 - p)): the Fisher information of one rating in the model of
    Bradley and Terry (1952), of which Elo's is the logistic form. p(1 - p) is its mean over
    opponents drawn alike from all items. Ratings made match by match vary a little more than
    this, ratings fitted at once vary like this.

    Raises:
        MeasureError: an item was compared less than once.
    """
    if not (matches >= 1).all():
        message = f"a rating needs at least 1 match, found {matches.min():g}"
        raise MeasureError(f"{message}; leave out what was never compared")
    opponents = np.quantile(elo, (np.arange(64) + 0.5) / 64)
    p = scipy.special.expit((elo[:, None] - opponents) / _POINTS)
    errors: NDArray[np.float64] = _POINTS / np.sqrt(matches * (p * (1 - p)).mean(axis=1))
    return errors


def tau_and_ceiling(
    scores: NDArray[np.float64],
    elo: NDArray[np.float64],
    errors: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return Kendall's tau, pairs weighted by how sure people's order is, and the highest possible.

    The order of two items that differ by d Elo points, whose errors are s and s', is expected to
    be e = 2Φ(d / √(s² + s'²)) - 1 in -1 to 1. The weighted tau is Σ sign(score - score') · e over
    √(Σ|e| · Σ|e| of the pairs whose scores differ): tau-b with weights |e|. The ceiling is the
    mean |e|, i.e. the tau-a that the ratings would have with people's next ones.

    Of more than 513 items, each is paired with 512 others, drawn by `rng`: an incomplete
    U-statistic (Blom 1976), exact to about 0.001.
    """
    order, n = rng.permutation(len(scores)), len(scores)
    x, y, variance = scores[order], elo[order], errors[order] ** 2
    agreed = known = untied = pairs = 0.0
    for stride in range(1, min(_STRIDES, n // 2) + 1):
        share = 0.5 if 2 * stride == n else 1.0  # half a turn meets every pair twice
        sign = np.sign(x - np.roll(x, stride))
        gap = (y - np.roll(y, stride)) / np.sqrt(variance + np.roll(variance, stride))
        expected = scipy.special.erf(gap / math.sqrt(2))  # 2Φ(z) - 1
        agreed += share * float(sign @ expected)
        known += share * float(np.abs(expected).sum())
        untied += share * float(np.abs(expected[sign != 0]).sum())
        pairs += share * n
    return agreed / math.sqrt(known * untied), known / pairs
