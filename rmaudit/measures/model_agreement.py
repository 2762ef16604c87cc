"""How far two models agree: is one interchangeable with the other? (Christian et al. 2025, §2.4).

Vocabularies differ, so what is compared is what both have: tokens of the same decoded text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, normal, widened
from rmaudit.measures.rank_correlation import kendall_error
from rmaudit.measures.words import word_of
from rmaudit.verdicts.records import Estimate, Evidence

UNIT = "Kendall's tau-b"
FEWEST = 30  # shared words
SHOWN = 10  # tokens at either end of the evidence
P = 0.9  # of rank-biased overlap, as in Figure A.1
_DEEP = 200  # places: what lies deeper has 1e-9 of the weight
_WORDS = 5_000  # drawn for the interval
REPLACED = "\ufffd"  # what part of a character decodes to: many tokens, one text
_CELLS = 20

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moved:
    """A token, and its percentiles (0 to 1) among the shared ones by the model and the baseline."""

    text: str
    model: float
    baseline: float


@dataclass(frozen=True, kw_only=True)
class ModelAgreementEvidence(Evidence):
    """How many tokens lie where, and those that fell and rose furthest.

    `cells` counts by the baseline's percentile (rows) and by the model's (columns).
    """

    kind: Literal["model_agreement"] = "model_agreement"
    cells: tuple[tuple[int, ...], ...]
    fell: tuple[Moved, ...]
    rose: tuple[Moved, ...]


def agreement(
    model: pd.DataFrame,
    baseline: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
    baseline_noise: float = UNMEASURED,
) -> Estimate:
    """Kendall's tau-b of two models' scores of the tokens that both have.

    Frames have columns `text` and `score`. Secondary: Spearman's rho, rank-biased overlap (`rbo`)
    from the top and from the bottom, and tau of whole words (mean score of a word's spellings).

    The interval is the normal one of a U-statistic over clusters: what is uncertain is which
    words are asked, each with all of its spellings. Its variance is estimated from 5,000 words
    drawn with `rng` and scaled to the number there are, and widened by the numeric noise of both
    (the sd of that of a score, each in its model's units), also from these words.

    Raises:
        MeasureError: fewer than `FEWEST` words are shared, or a model scores all of them alike.
    """
    both = shared(model, baseline)
    tau = correlation(both, rng=rng, noise=noise, baseline_noise=baseline_noise)
    x, y = (both[side].to_numpy(float) for side in ("model", "baseline"))
    overlaps = {
        "RBO from the top": rbo(_order(both["text"], -x), _order(both["text"], -y)),
        "RBO from the bottom": rbo(_order(both["text"], x), _order(both["text"], y)),
    }
    return replace(tau, secondary={**tau.secondary, **overlaps}, evidence=_evidence(both, x, y))


def correlation(
    both: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
    baseline_noise: float = UNMEASURED,
) -> Estimate:
    """Kendall's tau-b of tokens that are paired already: columns `text`, `model`, `baseline`.

    Its interval is that of `agreement`; secondary are Spearman's rho and tau of whole words.

    Raises:
        MeasureError: as there.
    """
    x, y = both["model"].to_numpy(float), both["baseline"].to_numpy(float)
    codes, names = pd.factorize(word_of(both["text"]))
    if len(names) < FEWEST or not (np.ptp(x) and np.ptp(y)):
        message = (
            f"{len(names)} words are in both vocabularies, with {len(np.unique(x))} and "
            f"{len(np.unique(y))} distinct scores; at least {FEWEST} words and scores that differ "
            f"on both sides are needed"
        )
        raise MeasureError(message)
    tau = _tau(x, y)
    drawn = rng.choice(len(names), size=min(_WORDS, len(names)), replace=False)
    inside = np.isin(codes, drawn)
    part_x, part_y = x[inside], y[inside]
    error = kendall_error(part_x, part_y, codes[inside]) * math.sqrt(len(drawn) / len(names))
    low, high = normal(tau, error, within=(-1.0, 1.0))
    estimate = Estimate(
        value=tau,
        low=low,
        high=high,
        unit=UNIT,
        n=len(both),
        interval="normal, over words with all their spellings",
        secondary={
            "Spearman's rho": float(stats.spearmanr(x, y).statistic),
            "words in both": float(len(names)),
            **_whole_words(both, codes, names),
        },
    )

    def value_of(drawn: _Floats) -> float:
        return _tau(*np.split(drawn, 2))

    of_each = np.repeat([noise, baseline_noise], len(part_x))
    tokens = np.concatenate([part_x, part_y])
    return widened(estimate, value_of, tokens, of_each, rng, within=(-1.0, 1.0))


def shared(model: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    """The tokens that both have, by decoded text: columns `text`, `model`, `baseline`.

    Where several ids of one model decode to the same text it is their mean score; texts with a
    replacement character stand for parts of many characters and are left out, as is what either
    model has not scored (NaN).
    """
    sides = [frame[frame["score"].notna()] for frame in (model, baseline)]
    codes, texts = pd.factorize(pd.concat([side["text"] for side in sides], ignore_index=True))
    counts, means = [], []
    for side, places in zip(sides, np.split(codes, [len(sides[0])]), strict=True):
        count = np.bincount(places, minlength=len(texts))
        total = np.bincount(places, side["score"].to_numpy(float), minlength=len(texts))
        counts.append(count)
        means.append(total / np.maximum(count, 1))
    both = pd.DataFrame({"text": texts, "model": means[0], "baseline": means[1]})
    both = both[(counts[0] > 0) & (counts[1] > 0)]
    whole = ~both["text"].str.contains(REPLACED, regex=False)
    return both[whole.astype(bool)].reset_index(drop=True)


def rbo(one: list[Any], other: list[Any], *, p: float = P) -> float:
    """Rank-biased overlap of two rankings, best first, of the same length, without duplicates.

    Webber, Moffat and Zobel 2010, equation 32 for lists of one length: (1 - p)/p · Σ p^d · A_d,
    where A_d is the overlap of the first d, plus p^k · A_k for what lies deeper than the k given.
    1 for the same order; p = 0.9 gives the first ten 86 % of the weight.

    Raises:
        MeasureError: the lists are empty, of different lengths, or name something twice.
    """
    k = len(one)
    if not k or len(other) != k or len(set(one)) < k or len(set(other)) < k:
        message = f"RBO needs two rankings of one length without duplicates, got {k} and"
        raise MeasureError(f"{message} {len(other)} places")
    place = {name: depth for depth, name in enumerate(other)}
    both = [max(i, place[name]) for i, name in enumerate(one) if name in place]
    depths = np.arange(1, k + 1)
    share = np.cumsum(np.bincount(np.array(both, dtype=int), minlength=k)) / depths
    return float((1 - p) / p * (share @ p**depths) + share[-1] * p**k)


def _order(texts: pd.Series[str], scores: _Floats) -> list[str]:
    """The texts by ascending score, ties by text, as deep as counts for RBO."""
    deep = min(_DEEP, len(scores)) - 1
    near = np.flatnonzero(scores <= np.partition(scores, deep)[deep])
    names = texts.iloc[near].to_numpy(dtype=str)
    return [str(name) for name in names[np.lexsort((names, scores[near]))][:_DEEP]]


def _tau(x: _Floats, y: _Floats) -> float:
    return float(stats.kendalltau(x, y).statistic)


def _whole_words(
    both: pd.DataFrame, codes: NDArray[np.int64], names: pd.Index[str]
) -> dict[str, float]:
    """Tau of the alphabetic words, where there are enough that differ."""
    counts = np.bincount(codes)
    alphabetic = np.array([name.isalpha() for name in names], dtype=bool)
    sums = (np.bincount(codes, both[side]) for side in ("model", "baseline"))
    x, y = ((total / counts)[alphabetic] for total in sums)
    if len(x) < FEWEST or not (np.ptp(x) and np.ptp(y)):
        return {}
    return {"tau of whole words": _tau(x, y)}


def _evidence(both: pd.DataFrame, x: _Floats, y: _Floats) -> ModelAgreementEvidence:
    n = len(both)
    here, there = ((stats.rankdata(scores) - 0.5) / n for scores in (x, y))
    order = np.argsort(here - there, kind="stable")

    def moved(places: NDArray[np.int64]) -> tuple[Moved, ...]:
        columns = (both["text"].iloc[places], here[places].round(4), there[places].round(4))
        return tuple(Moved(str(t), float(a), float(b)) for t, a, b in zip(*columns, strict=True))

    cells = np.histogram2d(there, here, bins=_CELLS, range=[[0, 1]] * 2)[0]
    return ModelAgreementEvidence(
        cells=tuple(map(tuple, cells.astype(int).tolist())),
        fell=moved(order[:SHOWN]),
        rose=moved(order[::-1][:SHOWN]),
    )
