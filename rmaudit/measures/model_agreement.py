"""Measure if one model can replace another: what is lost when it picks the best of 16 words.

A reward model is used to pick the best of several answers. So the question is not how alike two
models rank 100,000 tokens, most of which no answer has, but how much of the baseline's own gain is
left when the other model picks among words (Christian et al. 2025, §2.4, compares rankings).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.charts import Chart, CountField, Fact, Form, Move, Moves, misfits, table
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import (
    UNMEASURED,
    clustered_error,
    clustered_freedom,
    group_means,
    students,
    widened,
)
from rmaudit.measures.rank_correlation import half_sum_above
from rmaudit.measures.ranking_comparison import (
    correlation,
    kendall_tau,
    lowest_scoring,
    rbo,
    shared,
)
from rmaudit.measures.word_spellings import word_of
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence
from rmaudit.word_stems import stem_codes

UNIT = "best-of-16 regret"
FEWEST = 30  # shared words, and stems
ANSWERS = 16  # that a model picks from
REAL = 2.0  # Zipf: one use in ten million words
SHOWN = 10  # words at either end of the evidence
_NAMED = 3  # words whose moves are read out
_CELLS = 20

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MovedWord:
    """Word with its percentile (0 to 1) among all words, by the model and by the baseline."""

    text: str
    model: float
    baseline: float


@dataclass(frozen=True, kw_only=True)
class ModelAgreementEvidence(Evidence):
    """Word counts by percentile under baseline and model, and the words that fell or rose furthest.

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
        rows = [
            (prompt, row.text, 100 * row.baseline, 100 * row.model)
            for prompt, evidence in found
            for row in (*evidence.fell, *evidence.rose)
        ]
        return Chart(
            "The model and its baseline",
            "Percentiles among the words that both have, 100 is the best. Left, how many words lie "
            "where; beside it, the words that fell and rose furthest.",
            tuple(
                panel
                for prompt, evidence in found
                for panel in _panels_of_agreement(prompt, evidence)
            ),
            *table(
                {"prompt": "text", "word": "term", "baseline, %": ".1f", "here, %": ".1f"}, rows
            ),
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
    """Return the share of the baseline's gain that is lost if `model` picks the best of 16 words.

    Frames have columns `text` and `score`; `words` are lower case: the real ones, of which those
    count that both have scored. A word has the mean score of its spellings. Sixteen words are drawn
    at random; the gain of a model that picks is the picked word's percentile by the baseline, minus
    that of a random word. Regret is 1 minus the model's gain divided by the baseline's own: 0 where
    the model picks as the baseline does, 1 where it picks at random, more where it picks what the
    baseline dislikes.
    Percentiles, so that no outlier decides. A tie is broken at random.

    It is computed and not drawn: the word of rank r of n is the best of sixteen with probability
    C(r - 1, 15) / C(n, 16). The interval is Student's, with the variance of the words' influences
    (`_influences_on_gain`), stems as one draw, and its degrees of freedom: a few stems may make
    most of it.
    It is widened by the numeric noise of both (its sd for one score, each in its model's units).
    Secondary: the baseline's gain and the model's, tau-b of these words; over all shared tokens
    what `correlation` tells, and rank-biased overlap (`rbo`) from the top and the bottom.

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
    x, y = (group_means(side, codes) for side in tokens.T)
    if len(np.unique(stems)) < FEWEST or not (np.ptp(x) and np.ptp(y)):
        message = (
            f"{len(names)} real words ({len(np.unique(stems))} stems) are in both vocabularies, "
            f"with {len(np.unique(x))} and {len(np.unique(y))} distinct scores; at least {FEWEST} "
            f"stems and scores that differ on both sides are needed"
        )
        raise MeasureError(message)
    own, got = _best_of_16_gain(y, y), _best_of_16_gain(x, y)
    influence = (got / own * _influences_on_gain(y, y) - _influences_on_gain(x, y)) / own
    error, freedom = clustered_error(influence, stems), clustered_freedom(influence, stems)
    ranked = correlation(both, rng=rng, noise=0.0, baseline_noise=0.0)
    every, other = (both[side].to_numpy(float) for side in ("model", "baseline"))
    texts = both["text"]
    estimate = Estimate(
        1 - got / own,
        *students(1 - got / own, error, freedom, within=(0.0, 2.0)),
        UNIT,
        n=len(names),
        interval="Student's t, over words by stem",
        secondary={
            "the baseline's own gain, percentiles": 100 * own,
            "the model's gain, percentiles": 100 * got,
            "tau-b of these words": kendall_tau(x, y),
            "tau-b of all shared tokens": ranked.value,
            "Spearman's rho of all shared tokens": ranked.secondary["Spearman's rho"],
            "RBO from the top, all tokens": rbo(
                lowest_scoring(texts, -every), lowest_scoring(texts, -other)
            ),
            "RBO from the bottom, all tokens": rbo(
                lowest_scoring(texts, every), lowest_scoring(texts, other)
            ),
        },
        evidence=_agreement_evidence(names, x, y),
    )

    def value_of(drawn: _Floats) -> float:
        mine, theirs = (group_means(side, codes) for side in np.split(drawn, 2))
        return 1 - _best_of_16_gain(mine, theirs) / _best_of_16_gain(theirs, theirs)

    noises = np.repeat([noise, baseline_noise], len(tokens))
    return widened(estimate, value_of, tokens.T.ravel(), noises, rng, within=(0.0, 2.0))


def _best_of_16_gain(picks: _Floats, scores: _Floats) -> float:
    """Return the mean percentile by `scores`, minus ½, of words that are best of 16 by `picks`."""
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


def _influences_on_gain(picks: _Floats, scores: _Floats) -> _Floats:
    """Return each word's influence on the result of `_best_of_16_gain(picks, scores)`, shape (n,).

    The gain is 16 E[V C^15] - 1/2 with V and C a word's percentiles by `scores` and by `picks`. A
    word adds its own term, raises V of all that score higher, and C of all that are picked before.
    """
    n, k = len(picks), ANSWERS
    c, v = ((scipy.stats.rankdata(side) - 0.5) / n for side in (picks, scores))
    density = k * c ** (k - 1)
    raised = half_sum_above(scores, density) + k * (k - 1) * half_sum_above(picks, v * c ** (k - 2))
    total = density * v + raised
    centred: _Floats = total - total.mean()
    return centred


def _agreement_evidence(names: pd.Index[str], x: _Floats, y: _Floats) -> ModelAgreementEvidence:
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


def _panels_of_agreement(prompt: str, evidence: ModelAgreementEvidence) -> Iterator[Form]:
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
