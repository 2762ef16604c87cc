"""Compare rankings of the same tokens: which are paired, and how alike the rankings are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, normal, widened
from rmaudit.measures.rank_correlation import kendall_error
from rmaudit.measures.word_spellings import whole_words, word_of
from rmaudit.verdicts.estimates_and_bounds import Estimate

FEWEST = 30  # words that both models have
REPLACED = "\ufffd"  # what part of a character decodes to: many tokens, one text
P = 0.9  # of rank-biased overlap, as in Figure A.1
_DEEPEST_PLACE = 200  # places: what lies deeper has 1e-9 of the weight
_MOST_WORDS = 5_000  # drawn for the interval

_Floats = NDArray[np.float64]


def shared(model: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    """Return mean scores of the texts both models scored: columns `text`, `model` and `baseline`.

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


def paired(old: pd.DataFrame, new: pd.DataFrame, *, by_id: bool) -> pd.DataFrame:
    """Pair two sweeps' tokens `by_id` or by unique text: `text`, `model` (new), `baseline` (old).

    Frames have columns `token_id`, `text` and `score`. Paired by id where the vocabularies are
    one, else by decoded text, where that is one token's alone on either side and whole: of texts
    that several ids decode to, and of parts of characters, nobody can say which is which. In the
    order of the new frame.
    """
    key = "token_id" if by_id else "text"
    sides = []
    for frame in (new, old):
        # A text is one token's alone in the vocabulary, not only among what was scored.
        texts = frame["text"]
        shared_text = texts.duplicated(keep=False) | texts.str.contains(REPLACED, regex=False)
        alone = frame if by_id else frame[~shared_text]
        sides.append(alone[alone["score"].notna()].set_index(key))
    both = sides[0].join(sides[1]["score"].rename("baseline"), how="inner").reset_index()
    return both.rename(columns={"score": "model"})[["text", "model", "baseline"]]


def correlation(
    both: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
    baseline_noise: float = UNMEASURED,
) -> Estimate:
    """Return Kendall's tau-b of two models' scores; `both` has `text`, `model` and `baseline`.

    The interval is the normal one of a U-statistic over clusters: what is uncertain is which
    words are asked, each with all of its spellings; a text without any letter is its own. Its
    variance is estimated from 5,000 words drawn with `rng` and scaled to the number there are, and
    widened by the numeric noise of both. Secondary: Spearman's rho.

    Raises:
        MeasureError: fewer than `FEWEST` words are shared, or a model scores all of them alike.
    """
    x, y = both["model"].to_numpy(float), both["baseline"].to_numpy(float)
    words = word_of(both["text"])
    codes, names = pd.factorize(words.where(words != "", both["text"]))
    if len(names) < FEWEST or not (np.ptp(x) and np.ptp(y)):
        message = (
            f"{len(names)} words are in both vocabularies, with {len(np.unique(x))} and "
            f"{len(np.unique(y))} distinct scores; at least {FEWEST} words and scores that differ "
            f"on both sides are needed"
        )
        raise MeasureError(message)
    tau = kendall_tau(x, y)
    drawn = rng.choice(len(names), size=min(_MOST_WORDS, len(names)), replace=False)
    inside = np.isin(codes, drawn)
    part_x, part_y = x[inside], y[inside]
    error = kendall_error(part_x, part_y, codes[inside]) * math.sqrt(len(drawn) / len(names))
    estimate = Estimate(
        tau,
        *normal(tau, error, within=(-1.0, 1.0)),
        "Kendall's tau-b",
        n=len(both),
        interval="normal, over words with all their spellings",
        secondary={"Spearman's rho": float(scipy.stats.spearmanr(x, y).statistic)},
    )

    def value_of(drawn: _Floats) -> float:
        return kendall_tau(*np.split(drawn, 2))

    of_each = np.repeat([noise, baseline_noise], len(part_x))
    tokens = np.concatenate([part_x, part_y])
    return widened(estimate, value_of, tokens, of_each, rng, within=(-1.0, 1.0))


def rbo(one: list[Any], other: list[Any], *, p: float = P) -> float:
    """Return the rank-biased overlap of two rankings, best first, without duplicates.

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


def lowest_scoring(texts: pd.Series[str], scores: _Floats) -> list[str]:
    """Return the (at most) 200 lowest-scoring texts, lowest first, equal scores by text."""
    deep = min(_DEEPEST_PLACE, len(scores)) - 1
    near = np.flatnonzero(scores <= np.partition(scores, deep)[deep])
    names = texts.iloc[near].to_numpy(dtype=str)
    return [str(name) for name in names[np.lexsort((names, scores[near]))][:_DEEPEST_PLACE]]


def kendall_tau(x: _Floats, y: _Floats) -> float:
    """Return Kendall's tau-b of two arrays, shape (n,)."""
    return float(scipy.stats.kendalltau(x, y).statistic)


def in_common(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a table of the scores of whole words that all models have: words by models.

    `frames` have the columns `text` and `score`; a word's score is the mean over its spellings.
    """
    return pd.concat({name: whole_words(frame) for name, frame in frames.items()}, axis=1).dropna()


def taus(scores: pd.DataFrame) -> pd.DataFrame:
    """Return Kendall's tau-b of all pairs of columns, 1 on the diagonal.

    Raises:
        MeasureError: there are fewer than 2 rows, or a column has one value throughout.
    """
    values, k = scores.to_numpy(float), scores.shape[1]
    if len(values) < 2 or not np.ptp(values, axis=0).all():  # noqa: PLR2004  (a pair)
        message = f"{len(values)} words that all of {', '.join(map(str, scores))} have;"
        raise MeasureError(f"{message} at least 2 are needed, and scores that differ")
    matrix = np.eye(k)
    for i in range(k):
        for j in range(i):
            tau = float(scipy.stats.kendalltau(values[:, i], values[:, j]).statistic)
            matrix[i, j] = matrix[j, i] = tau
    return pd.DataFrame(matrix, index=scores.columns, columns=scores.columns)


def plane_coordinates(similarity: pd.DataFrame) -> pd.DataFrame:
    """Return models' coordinates on a plane, columns `x` and `y`: far apart where they disagree.

    Classical scaling (Torgerson 1952) of the distances 1 - agreement: the two axes of the greatest
    spread. Deterministic; a model's furthest coordinate on an axis is made positive.
    """
    distances, k = 1 - similarity.to_numpy(float), len(similarity)
    centred = np.eye(k) - 1 / k
    spread, axes = np.linalg.eigh(-0.5 * centred @ distances**2 @ centred)
    out = {}
    for name, place in (("x", -1), ("y", -2)):
        axis = axes[:, place] * math.sqrt(max(float(spread[place]), 0.0))
        out[name] = axis * (1 if axis[np.argmax(np.abs(axis))] >= 0 else -1)
    return pd.DataFrame(out, index=similarity.index)
