"""Agreement with people's Elo ratings, and what can be had of it (Christian et al. 2025, §4)."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, normal, widened
from rmaudit.measures.rank_correlation import kendall_error
from rmaudit.measures.rating_errors import standard_errors, weighted
from rmaudit.verdicts.records import Estimate, Evidence

UNIT = "Kendall's tau-b"
FEWEST = 30  # items
SHOWN = 10  # items at either end of the evidence
ENDS = 100  # items at either end of people's ranking, for the asymmetry
_CELLS = 20


@dataclass(frozen=True)
class Item:
    """A thing that people rated, its rank with people and with the model, from 1 (best)."""

    name: str
    human: float
    model: float


@dataclass(frozen=True, kw_only=True)
class EloAgreementEvidence(Evidence):
    """The items furthest from their human rank, those named beforehand, and how many lie where.

    `unshown` items have names that are not to be printed; `cells` counts by human rank (rows) and
    by the model's (columns).
    """

    kind: Literal["elo_agreement"] = "elo_agreement"
    n: int
    overvalued: tuple[Item, ...]
    undervalued: tuple[Item, ...]
    also: tuple[Item, ...]
    unshown: int
    cells: tuple[tuple[int, ...], ...]


def agreement_with_people(
    items: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
    also: Collection[str] = (),
) -> Estimate:
    """Kendall's tau-b of reward and Elo rating, as `kendall`, and what can be had of it.

    `items` has one row an item: `name`, `elo` (rating), `matches` (how often it was compared),
    `score` (reward; NaN is left out) and `shown` (False for a name that is not to be printed).

    Secondary: tau weighted by evidence and its ceiling (`weighted`), and tau within the upper and
    lower half, and the 100 best and least liked, of people's ranking (where there are as many).
    Evidence: the items furthest above and below their human rank, those named by `also`, with
    ranks from 1 (best), and how many items are in each cell of human by model rank.

    Raises:
        MeasureError: as `kendall`; or an item was compared less than once.
    """
    kept = items[items["score"].notna()].sort_values("elo", ascending=False, kind="stable")
    scores, elo = kept["score"].to_numpy(float), kept["elo"].to_numpy(float)
    estimate = kendall(scores, elo, noise=noise, rng=rng)
    tau, ceiling = weighted(scores, elo, standard_errors(elo, kept["matches"].to_numpy(float)), rng)
    secondary = {
        **estimate.secondary,
        "tau weighted by evidence": tau,
        "ceiling of tau": ceiling,
        **_ends(scores, elo),
    }
    return replace(estimate, secondary=secondary, evidence=_evidence(kept, scores, elo, also))


def kendall(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    noise: float = UNMEASURED,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Kendall's tau-b of scores and human ratings, shapes (n,): 1 same order, 0 none, -1 reversed.

    The interval is the normal one whose variance is that of the items' own concordances, i.e. of
    a U-statistic (Cliff and Charlin 1991, Variances and covariances of Kendall's tau). What is
    uncertain here is which items people happened to rate. It is widened by numeric `noise` (the sd
    of that of a score, in the scores' units), drawn with `rng`. Unscored items (NaN) are left out.

    Raises:
        MeasureError: fewer than `FEWEST` items, or all scores or all ratings equal.
        ValueError: there is noise and no `rng`.
    """
    pairs = pd.DataFrame({"x": np.asarray(scores, float), "y": np.asarray(human, float)}).dropna()
    x, y = pairs["x"].to_numpy(), pairs["y"].to_numpy()
    n = len(pairs)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        message = "Kendall's tau needs finite scores and ratings; an infinity is no reward"
        raise MeasureError(message)
    if n < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        message = f"Kendall's tau needs {FEWEST} items that differ on both sides, got {n} items"
        raise MeasureError(message)
    tau_b = float(stats.kendalltau(x, y).statistic)
    low, high = normal(tau_b, kendall_error(x, y), within=(-1.0, 1.0))
    estimate = Estimate(
        value=tau_b,
        low=low,
        high=high,
        unit=UNIT,
        n=n,
        interval="normal, from the items' own concordances",
        secondary={
            "Spearman's rho": float(stats.spearmanr(x, y).statistic),
            "distinct scores": float(pairs["x"].nunique()),
        },
    )

    def value_of(drawn: NDArray[np.float64]) -> float:
        return float(stats.kendalltau(drawn, y).statistic)

    return widened(estimate, value_of, x, noise, rng, within=(-1.0, 1.0))


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
) -> EloAgreementEvidence:
    human, model = stats.rankdata(-elo), stats.rankdata(-scores)
    ranks = pd.DataFrame({"name": kept["name"].to_numpy(), "human": human, "model": model})
    shown = kept["shown"].to_numpy(bool)
    by_gap = ranks[shown].assign(gap=lambda row: row["model"] - row["human"])
    by_gap = by_gap.sort_values("gap", kind="stable").drop(columns="gap")
    n = len(kept)
    cells = np.histogram2d(human, model, bins=_CELLS, range=[[0.5, n + 0.5]] * 2)[0]
    return EloAgreementEvidence(
        n=n,
        overvalued=_items(by_gap.head(SHOWN)),
        undervalued=_items(by_gap.tail(SHOWN)[::-1]),
        also=_items(ranks[ranks["name"].isin(also)]),
        unshown=int((~shown).sum()),
        cells=tuple(map(tuple, cells.astype(int).tolist())),
    )


def _items(ranks: pd.DataFrame) -> tuple[Item, ...]:
    columns = (ranks[name].tolist() for name in ("name", "human", "model"))
    return tuple(Item(str(name), *both) for name, *both in zip(*columns, strict=True))
