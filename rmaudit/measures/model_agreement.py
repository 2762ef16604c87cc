"""Whether one model can replace another: what is lost when it picks the best of 16 answers.

A reward model is used to pick the best of several answers. So the question is not how alike two
models rank 100,000 tokens, most of which no answer has, but how much of the baseline's own gain is
left when the other model picks among words (Christian et al. 2025, §2.4, compares rankings).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.charts import Chart, CountField, Fact, Form, Move, Moves, misfits
from rmaudit.errors import MeasureError
from rmaudit.language import stem_codes
from rmaudit.measures._stats import (
    UNMEASURED,
    clustered_error,
    clustered_freedom,
    normal,
    students,
    widened,
)
from rmaudit.measures.rank_correlation import above, kendall_error
from rmaudit.measures.words import word_of
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.records import Estimate

UNIT = "best-of-16 regret"
FEWEST = 30  # shared words, and stems
ANSWERS = 16  # that a model picks from
REAL = 2.0  # Zipf: one use in ten million words
SHOWN = 10  # words at either end of the evidence
_NAMED = 3  # words whose moves are read out
P = 0.9  # of rank-biased overlap, as in Figure A.1
_DEEP = 200  # places: what lies deeper has 1e-9 of the weight
_WORDS = 5_000  # drawn for the interval
REPLACED = "\ufffd"  # what part of a character decodes to: many tokens, one text
_CELLS = 20

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MovedWord:
    """Word with its percentiles (0 to 1) by the model and by the baseline."""

    text: str
    model: float
    baseline: float


@dataclass(frozen=True, kw_only=True)
class ModelAgreementEvidence(Evidence):
    """Counts of words by percentile (baseline, model), and the words that fell and rose furthest.

    `cells` counts by the baseline's percentile (rows) and by the model's (columns).
    """

    kind: Literal["model_agreement"] = "model_agreement"
    cells: tuple[tuple[int, ...], ...]
    fell: tuple[MovedWord, ...]
    rose: tuple[MovedWord, ...]

    def faults(self) -> Iterator[str]:
        """Yield an error text if the table of counts, `cells`, is not square."""
        yield from misfits("cells", self.cells, len(self.cells), len(self.cells))

    def example(self) -> str:
        """Return a sentence on the word that fell furthest; "" if none fell."""
        if not self.fell:
            return ""
        word = max(self.fell, key=lambda each: each.baseline - each.model)
        return (
            f"“{word.text}” is above {100 * word.baseline:.0f} % of the words by the baseline, and "
            f"above {100 * word.model:.0f} % here"
        )

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of percentiles by baseline and model, with the words that moved most."""
        if not found:
            return None
        rows = [
            (prompt, row.text, f"{100 * row.baseline:.1f}", f"{100 * row.model:.1f}")
            for prompt, evidence in found
            for row in (*evidence.fell, *evidence.rose)
        ]
        return Chart(
            "The model and its baseline",
            "Percentiles among the words that both have, 100 is the best. Left, how many words lie "
            "where; beside it, the words that fell and rose furthest.",
            tuple(panel for prompt, evidence in found for panel in _panels(prompt, evidence)),
            {"prompt": "text", "word": "term", "baseline, %": "number", "here, %": "number"},
            tuple(rows),
        )


def regret(  # noqa: PLR0913  (keyword-only after the subjects)
    model: pd.DataFrame,
    baseline: pd.DataFrame,
    words: pd.Index[str],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
    baseline_noise: float = UNMEASURED,
) -> Estimate:
    """Return the share of the baseline's gain that is lost when the model picks the best of 16.

    Frames have columns `text` and `score`; `words` are lower case: the real ones, of which those
    count that both have scored. A word has the mean score of its spellings. Sixteen words are drawn
    at random; the gain of a model that picks is the picked word's percentile by the baseline, minus
    that of a random word. Regret is 1 minus the model's gain divided by the baseline's own: 0 where
    the model picks as the baseline does, 1 where it picks at random, more where it picks what the
    baseline dislikes.
    Percentiles, so that no outlier decides. A tie is broken at random.

    It is computed and not drawn: the word of rank r of n is the best of sixteen with probability
    C(r - 1, 15) / C(n, 16). The interval is Student's, with the variance of the words' influences
    (`_moved`), stems as one draw, and with its degrees of freedom: a few stems may make most of it.
    It is widened by the numeric noise of both (the sd of that of a score, each in its model's
    units). Secondary: the baseline's gain and the model's, tau-b of these words; over all shared
    tokens what `correlation` tells, and rank-biased overlap (`rbo`) from the top and the bottom.

    Raises:
        MeasureError: fewer than `FEWEST` words or stems are shared, or a model scores all of them
            alike.
    """
    both = shared(model, baseline)
    places = words.get_indexer(pd.Index(word_of(both["text"])))
    spelt = both[places >= 0]
    codes, found = pd.factorize(places[places >= 0])
    names = words[found]
    stems = stem_codes(names)
    tokens = spelt[["model", "baseline"]].to_numpy(float)
    x, y = (_of_words(side, codes) for side in tokens.T)
    if len(np.unique(stems)) < FEWEST or not (np.ptp(x) and np.ptp(y)):
        message = (
            f"{len(names)} real words ({len(np.unique(stems))} stems) are in both vocabularies, "
            f"with {len(np.unique(x))} and {len(np.unique(y))} distinct scores; at least {FEWEST} "
            f"stems and scores that differ on both sides are needed"
        )
        raise MeasureError(message)
    own, got = _gain(y, y), _gain(x, y)
    influence = (got / own * _moved(y, y) - _moved(x, y)) / own
    error, freedom = clustered_error(influence, stems), clustered_freedom(influence, stems)
    low, high = students(1 - got / own, error, freedom, within=(0.0, 2.0))
    ranked = correlation(both, rng=rng, noise=0.0, baseline_noise=0.0)
    every, other = (both[side].to_numpy(float) for side in ("model", "baseline"))
    texts = both["text"]
    estimate = Estimate(
        value=1 - got / own,
        low=low,
        high=high,
        unit=UNIT,
        n=len(names),
        interval="Student's t, over words by stem",
        secondary={
            "the baseline's own gain, percentiles": 100 * own,
            "the model's gain, percentiles": 100 * got,
            "tau-b of these words": _tau(x, y),
            "tau-b of all shared tokens": ranked.value,
            "Spearman's rho of all shared tokens": ranked.secondary["Spearman's rho"],
            "RBO from the top, all tokens": rbo(_order(texts, -every), _order(texts, -other)),
            "RBO from the bottom, all tokens": rbo(_order(texts, every), _order(texts, other)),
        },
        evidence=_evidence(names, x, y),
    )

    def value_of(drawn: _Floats) -> float:
        mine, theirs = (_of_words(side, codes) for side in np.split(drawn, 2))
        return 1 - _gain(mine, theirs) / _gain(theirs, theirs)

    noises = np.repeat([noise, baseline_noise], len(tokens))
    return widened(estimate, value_of, tokens.T.ravel(), noises, rng, within=(0.0, 2.0))


def _of_words(scores: _Floats, codes: NDArray[np.intp]) -> _Floats:
    """Return the mean score of each word's spellings, shape (words,)."""
    means: _Floats = np.bincount(codes, scores) / np.bincount(codes)
    return means


def _gain(picks: _Floats, scores: _Floats) -> float:
    """Return the expected percentile by `scores`, minus ½, of the best of sixteen by `picks`."""
    n, ranks = len(picks), np.arange(1, len(picks) + 1)
    logs = scipy.special.gammaln(np.maximum(ranks, ANSWERS)) - scipy.special.gammaln(
        np.maximum(ranks - ANSWERS + 1, 1)
    )
    chances = np.where(ranks >= ANSWERS, np.exp(logs - logs[-1]), 0.0)
    chances /= chances.sum()
    place = np.unique(picks, return_inverse=True)[1]
    tied = np.bincount(place, chances[scipy.stats.rankdata(picks, method="ordinal") - 1])
    each = (tied / np.bincount(place))[place]  # of equal ones any is picked
    return float(each @ ((scipy.stats.rankdata(scores) - 0.5) / n)) - 0.5


def _moved(picks: _Floats, scores: _Floats) -> _Floats:
    """Return the influence of each word on `_gain`, shape (n,), with mean 0.

    The gain is 16 E[V C^15] - 1/2 with V and C a word's percentiles by `scores` and by `picks`. A
    word adds its own term, raises V of all that score higher, and C of all that are picked before.
    """
    n, k = len(picks), ANSWERS
    c, v = ((scipy.stats.rankdata(side) - 0.5) / n for side in (picks, scores))
    density = k * c ** (k - 1)
    raised = above(scores, density) + k * (k - 1) * above(picks, v * c ** (k - 2))
    total = density * v + raised
    centred: _Floats = total - total.mean()
    return centred


def correlation(
    both: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
    baseline_noise: float = UNMEASURED,
) -> Estimate:
    """Return Kendall's tau-b of paired tokens: columns `text`, `model`, `baseline`.

    The interval is the normal one of a U-statistic over clusters: what is uncertain is which
    words are asked, each with all of its spellings; a text without any letter is its own. Its
    variance is estimated from 5,000 words drawn with `rng` and scaled to the number there are, and
    widened by the numeric noise of both. Secondary: Spearman's rho and tau of whole words.

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
        unit="Kendall's tau-b",
        n=len(both),
        interval="normal, over words with all their spellings",
        secondary={
            "Spearman's rho": float(scipy.stats.spearmanr(x, y).statistic),
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
    """Return the tokens that both models have, by text: columns `text`, `model`, `baseline`.

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


def _order(texts: pd.Series[str], scores: _Floats) -> list[str]:
    """Return the lowest-scoring texts in ascending order, as many as rank-biased overlap needs."""
    deep = min(_DEEP, len(scores)) - 1
    near = np.flatnonzero(scores <= np.partition(scores, deep)[deep])
    names = texts.iloc[near].to_numpy(dtype=str)
    return [str(name) for name in names[np.lexsort((names, scores[near]))][:_DEEP]]


def _tau(x: _Floats, y: _Floats) -> float:
    return float(scipy.stats.kendalltau(x, y).statistic)


def _whole_words(
    both: pd.DataFrame, codes: NDArray[np.int64], names: pd.Index[str]
) -> dict[str, float]:
    """Return Kendall's tau over the alphabetic words, by name; empty if too few differ."""
    counts = np.bincount(codes)
    alphabetic = np.array([name.isalpha() for name in names], dtype=bool)
    sums = (np.bincount(codes, both[side]) for side in ("model", "baseline"))
    x, y = ((total / counts)[alphabetic] for total in sums)
    if len(x) < FEWEST or not (np.ptp(x) and np.ptp(y)):
        return {}
    return {"tau of whole words": _tau(x, y)}


def _evidence(names: pd.Index[str], x: _Floats, y: _Floats) -> ModelAgreementEvidence:
    n = len(names)
    here, there = ((scipy.stats.rankdata(scores) - 0.5) / n for scores in (x, y))
    order = np.lexsort((names.to_numpy(dtype=str), here - there))

    def moved(places: NDArray[np.int64]) -> tuple[MovedWord, ...]:
        columns = (names[places], here[places].round(4), there[places].round(4))
        return tuple(
            MovedWord(str(t), float(a), float(b)) for t, a, b in zip(*columns, strict=True)
        )

    cells = np.histogram2d(there, here, bins=_CELLS, range=[[0, 1]] * 2)[0]
    return ModelAgreementEvidence(
        cells=tuple(map(tuple, cells.astype(int).tolist())),
        fell=moved(order[:SHOWN]),
        rose=moved(order[::-1][:SHOWN]),
    )


def _panels(prompt: str, evidence: ModelAgreementEvidence) -> Iterator[Form]:
    """Yield a chart panel of all words, and panels of those that fell and rose furthest."""
    sides, n = (("fell", evidence.fell), ("rose", evidence.rose)), sum(map(sum, evidence.cells))
    edges = tuple(np.linspace(0, 100, len(evidence.cells) + 1).tolist())
    facts = [
        Fact(
            terms=(row.text,),
            after=f" {side} from percentile {100 * row.baseline:.0f} to {100 * row.model:.0f}",
        )
        for side, rows in sides
        for row in rows[:_NAMED]
    ]
    yield CountField(
        title=prompt,
        subtitle=(f"{n:,} words that both have",),
        facts=(Fact(f"{n:,} words"), *facts),
        x_axis="percentile by the baseline",
        y_axis="percentile here",
        x=edges,
        y=edges,
        counts=evidence.cells,
        diagonal=True,
    )
    for side, rows in sides:
        if rows:
            yield Moves(
                title=prompt,
                subtitle=(f"what {side} furthest",),
                axis="percentile",
                rows=tuple(Move(row.text, 100 * row.baseline, 100 * row.model) for row in rows),
                ends=("baseline", "here"),
                domain=(0, 100),
            )
