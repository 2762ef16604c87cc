"""Agreement with people's Elo ratings, and what can be had of it (Christian et al. 2025, §4).

Ratings are uncertain themselves: an item that was compared six times has a standard error of some
140 points. No model can agree with such ratings better than people would with themselves.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from rmaudit.errors import MeasureError
from rmaudit.measures import item_agreement
from rmaudit.measures.item_agreement import FEWEST
from rmaudit.verdicts.records import Estimate

SHOWN = 10  # items at either end of the evidence
ENDS = 100  # items at either end of people's ranking, for the asymmetry
_POINTS = 400 / math.log(10)  # Elo points to a unit of log odds
_STRIDES = 256  # each item is paired with as many others twice over
_CELLS = 20


def agreement_with_people(
    items: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = 0.0,
    also: Collection[str] = (),
) -> Estimate:
    """Kendall's tau-b of reward and Elo rating, as `agreement.kendall`, and what stands beside it.

    `items` has one row an item: `name`, `elo` (rating), `matches` (how often it was compared),
    `score` (reward; NaN is left out) and `shown` (False for a name that is not to be printed).

    Beside it: tau weighted by evidence and its ceiling (`weighted`), and tau within the upper and
    lower half, and the 100 best and least liked, of people's ranking (where there are as many).
    Evidence: the items furthest above and below their human rank, those named by `also`, with
    ranks from 1 (best), and how many items are in each cell of human by model rank.

    Raises:
        MeasureError: as `agreement.kendall`; or an item was compared less than once.
    """
    kept = items[items["score"].notna()].sort_values("elo", ascending=False, kind="stable")
    scores, elo = kept["score"].to_numpy(float), kept["elo"].to_numpy(float)
    estimate = item_agreement.kendall(scores, elo, noise=noise, rng=rng)
    tau, ceiling = weighted(scores, elo, standard_errors(elo, kept["matches"].to_numpy(float)), rng)
    secondary = {
        **estimate.secondary,
        "tau weighted by evidence": tau,
        "ceiling of tau": ceiling,
        **_ends(scores, elo),
    }
    return replace(estimate, secondary=secondary, evidence=_evidence(kept, scores, elo, also))


def standard_errors(elo: NDArray[np.float64], matches: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shape (n,): the standard error of each rating, in Elo points.

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
    p = special.expit((elo[:, None] - opponents) / _POINTS)
    errors: NDArray[np.float64] = _POINTS / np.sqrt(matches * (p * (1 - p)).mean(axis=1))
    return errors


def weighted(
    scores: NDArray[np.float64],
    elo: NDArray[np.float64],
    errors: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Tau in which a pair of items counts as much as its order is known, and the ceiling of tau.

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
        expected = special.erf(gap / math.sqrt(2))  # 2Φ(z) - 1
        agreed += share * float(sign @ expected)
        known += share * float(np.abs(expected).sum())
        untied += share * float(np.abs(expected[sign != 0]).sum())
        pairs += share * n
    return agreed / math.sqrt(known * untied), known / pairs


def _ends(scores: NDArray[np.float64], elo: NDArray[np.float64]) -> dict[str, float]:
    """Tau-b within the ends of people's ranking; `elo` descends. Without those it has not."""
    out = {}
    half = len(elo) // 2
    for size, best, least in (
        (half, "tau, upper half", "tau, lower half"),
        (ENDS, f"tau, {ENDS} best liked", f"tau, {ENDS} least liked"),
    ):
        if not FEWEST <= size <= half:
            continue
        for name, part in ((best, slice(0, size)), (least, slice(-size, None))):
            tau = float(stats.kendalltau(scores[part], elo[part]).statistic)
            if math.isfinite(tau):
                out[name] = tau
    return out


def _evidence(
    kept: pd.DataFrame,
    scores: NDArray[np.float64],
    elo: NDArray[np.float64],
    also: Collection[str],
) -> dict[str, Any]:
    human, model = stats.rankdata(-elo), stats.rankdata(-scores)
    ranks = pd.DataFrame({"name": kept["name"].to_numpy(), "human": human, "model": model})
    by_gap = ranks[kept["shown"].to_numpy(bool)].assign(gap=lambda row: row["model"] - row["human"])
    by_gap = by_gap.sort_values("gap", kind="stable").drop(columns="gap")
    n = len(kept)
    cells = np.histogram2d(human, model, bins=_CELLS, range=[[0.5, n + 0.5]] * 2)[0]
    return {
        "kind": "ranks",
        "n": n,
        "overvalued": by_gap.head(SHOWN).to_dict("records"),
        "undervalued": by_gap.tail(SHOWN)[::-1].to_dict("records"),
        "also": ranks[ranks["name"].isin(also)].to_dict("records"),
        "unshown": int((~kept["shown"].to_numpy(bool)).sum()),
        "cells": cells.astype(int).tolist(),  # rows: human rank; columns: model rank
    }
