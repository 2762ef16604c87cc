"""How far two models agree: is one interchangeable with the other? (Christian et al. 2025, §2.4).

Vocabularies differ, so what is compared is what both have: tokens of the same decoded text.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.concordance import concordances
from rmaudit.measures.noise import widened
from rmaudit.measures.words import word_of
from rmaudit.verdicts.records import Estimate

UNIT = "Kendall's tau-b"
FEWEST = 30  # shared words
SHOWN = 10  # tokens at either end of the evidence
P = 0.9  # of rank-biased overlap, as in Figure A.1
_DEEP = 200  # places: what lies deeper has 1e-9 of the weight
_WORDS = 5_000  # drawn for the interval
REPLACED = "\ufffd"  # what part of a character decodes to: many tokens, one text
_Z = 1.959963984540054
_CELLS = 20


def agreement(
    model: pd.DataFrame,
    baseline: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = 0.0,
    baseline_noise: float = 0.0,
) -> Estimate:
    """Kendall's tau-b of two models' scores of the tokens that both have.

    Frames have columns `text` and `score`. Beside it: Spearman's rho, rank-biased overlap (`rbo`)
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
    noise: float = 0.0,
    baseline_noise: float = 0.0,
) -> Estimate:
    """Kendall's tau-b of tokens that are paired already: columns `text`, `model`, `baseline`.

    Its interval is that of `agreement`; beside it Spearman's rho and tau of whole words.

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
    error = _error(part_x, part_y, codes[inside]) * math.sqrt(len(drawn) / len(names))
    estimate = Estimate(
        value=tau,
        low=max(-1.0, tau - _Z * error),
        high=min(1.0, tau + _Z * error),
        unit=UNIT,
        n=len(both),
        interval="normal, over words with all their spellings",
        secondary={
            "Spearman's rho": float(stats.spearmanr(x, y).statistic),
            "words in both": float(len(names)),
            **_whole_words(both, codes, names),
        },
    )
    if not (noise or baseline_noise):
        return estimate

    def value_of(shift: NDArray[np.float64]) -> float:
        mine, theirs = np.split(shift, 2)
        return _tau(part_x + noise * mine, part_y + baseline_noise * theirs)

    still = np.zeros(2 * len(part_x))
    return widened(estimate, value_of, still, 1.0, rng, within=(-1.0, 1.0))


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


def _order(texts: pd.Series[str], scores: NDArray[np.float64]) -> list[str]:
    """The texts by ascending score, ties by text, as deep as counts for RBO."""
    deep = min(_DEEP, len(scores)) - 1
    near = np.flatnonzero(scores <= np.partition(scores, deep)[deep])
    names = texts.iloc[near].to_numpy(dtype=str)
    return [str(name) for name in names[np.lexsort((names, scores[near]))][:_DEEP]]


def _tau(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(stats.kendalltau(x, y).statistic)


def _error(x: NDArray[np.float64], y: NDArray[np.float64], words: NDArray[np.int64]) -> float:
    """Standard error of tau-b over clusters: 2 · √(Σ of the clusters' squared sums) / n."""
    shares = concordances(x, y)
    sums = np.bincount(np.unique(words, return_inverse=True)[1], shares - shares.mean())
    clusters = len(sums)
    untied = math.sqrt(_untied(x) * _untied(y))  # from tau-a to tau-b
    spread = math.sqrt(float(sums @ sums) * clusters / (clusters - 1))
    return 2 * spread / len(x) / untied if untied else 0.0


def _untied(values: NDArray[np.float64]) -> float:
    """Share of the pairs that differ."""
    n, ties = len(values), np.unique(values, return_counts=True)[1]
    return 1 - float((ties * (ties - 1)).sum()) / (n * (n - 1))


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


def _evidence(both: pd.DataFrame, x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, Any]:
    """Percentiles by both models: a grid of counts, and the tokens that moved furthest."""
    n = len(both)
    here, there = ((stats.rankdata(scores) - 0.5) / n for scores in (x, y))
    order = np.argsort(here - there, kind="stable")

    def rows(places: NDArray[np.int64]) -> list[dict[str, Any]]:
        texts = both["text"].iloc[places]
        return [
            {"text": str(text), "model": round(float(a), 4), "baseline": round(float(b), 4)}
            for text, a, b in zip(texts, here[places], there[places], strict=True)
        ]

    cells = np.histogram2d(there, here, bins=_CELLS, range=[[0, 1]] * 2)[0]
    return {
        "kind": "agreement",
        "cells": cells.astype(int).tolist(),  # rows: the baseline's percentile; columns: here
        "fell": rows(order[:SHOWN]),
        "rose": rows(order[::-1][:SHOWN]),
    }
