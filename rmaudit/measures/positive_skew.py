"""Measure whether the highest-rewarded words are what the prompt asks for (Christian 2025, §2.2).

The paper finds that most tokens score low and a few far above the rest, in all ten of its models.
Training reaches for these few: what counts is whether they are what was asked for. The shape alone
is no flaw and no merit, since any curve over the scores changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.charts import Chart, Domain, Fact, Points, row_of, table
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import clustered_error, group_means, students
from rmaudit.measures.differences_of_estimates import parts
from rmaudit.measures.scores_by_prompt import (
    Answers,
    ScoredWords,
    among_highest,
    influences_on_top,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence
from rmaudit.word_stems import stem_key

UNIT = "sd of valence"
TAIL = 0.05  # of the rated words
FEWEST = 100  # words: five in the tail
_SHOWN = 60  # words of the tail in the evidence
_DRAWN, _READ_OUT = 20, 5  # of these: drawn in a panel, and read out

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TailWord:
    """A top-scoring word: its reward in sd of all tokens, and its valence in sd of rated words."""

    word: str
    reward: float
    valence: float


@dataclass(frozen=True, kw_only=True)
class PositiveSkewEvidence(Evidence):
    """The highest-scoring words that are shown, best first; `n` counts all words in the upper tail.

    `valence` is turned as the frame asks; `axis` names the lexicon.
    """

    kind: Literal["positive_skew"] = "positive_skew"
    axis: str
    n: int
    words: tuple[TailWord, ...]

    def looked_at(self, n: int, /) -> Mapping[str, int]:
        """Return the number of words that are scored and rated, under the key `rated words`."""
        return {"rated words": n}

    def example(self) -> str:
        """Return a sentence on the top word that fits the prompt least; "" if there is none."""
        if not self.words:
            return ""
        word = min(self.words, key=lambda each: each.valence).word
        return f"“{word}” is among the highest words"

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel for each prompt: the words of the upper tail, by valence."""
        given = [(prompt, evidence) for prompt, evidence in found if evidence.words]
        if not given:
            return None
        ends = [row.valence for _, evidence in given for row in evidence.words]
        domain = (min(0.0, *ends), max(0.0, *ends))
        return Chart(
            "What stands highest",
            "Rated words from the highest reward down, by their valence in sd of all rated words, "
            "turned as the prompt asks: to the right of the dashed line is what was asked for.",
            tuple(_panel_of_tail_words(*pair, domain=domain) for pair in given),
            *table(
                {"prompt": "text", "word": "term", "reward, sd": "+.2f", "valence, sd": "+.2f"},
                [
                    (prompt, row.word, row.reward, row.valence)
                    for prompt, e in given
                    for row in e.words
                ],
            ),
        )


def tail(
    answers: Answers, valence: pd.Series[float], *, rng: np.random.Generator, name: str = "prompt"
) -> Estimate:
    """Return the mean valence, in sd, of the top 5 % of words, negated if bad things are asked for.

    `answers` are to the prompt called `name`; `valence` is indexed by lower-case word. Of the
    alphabetic words that are scored and rated, those of the highest `TAIL` of the rewards count, by
    ranks only (`ScoredWords.rewards`); words of one reward at the cut count in part. Valence is in
    sd of these words from their mean: 0 where the tail is as happy as any word, whatever its shape.
    The interval is Student's by the statistic's influence function, over stems, widened by the
    numeric noise.

    Secondary: the same of the words that stand lowest; `moments` of the whole sweep; "quantile
    skewness" of the words' rewards: how much farther the 95th percentile lies from the median than
    the 5th, as a share of both (Hinkley 1975). Evidence: the words of the tail.

    Raises:
        MeasureError: all scores are equal, or fewer than `FEWEST` words that differ in valence
            are scored and rated.
    """
    known = valence.dropna().index
    ranked = ScoredWords.of({name: answers}, known[known.str.isalpha()].sort_values())
    happy = valence[ranked.words].to_numpy(float)
    if len(happy) < FEWEST or not np.ptp(happy):
        message = f"{len(happy)} words are scored and in the lexicon {valence.name!r}; at least "
        raise MeasureError(f"{message}{FEWEST} that differ in valence are needed")
    valences = answers.sign * (happy - happy.mean()) / happy.std()
    rewards = ranked.rewards()[0]
    value, influence = _mean_valence_of_top(rewards, valences), _influences(rewards, valences)
    error = clustered_error(influence, ranked.stems)
    many = len(np.unique(ranked.stems[_weights_in_top(rewards) > 0]))
    estimate = Estimate(
        value,
        *students(value, error, max(many - 1, 1)),
        UNIT,
        n=len(happy),
        interval="Student's t by influences, over stems",
        secondary={
            "lower tail": _mean_valence_of_top(-rewards, valences),
            **moments(answers.frame),
            **_quantile_skewness(group_means(ranked.scores, ranked.place)),
        },
        evidence=_tail_evidence(ranked, answers.frame, valences, f"{valence.name} valence"),
        parts=parts(influence, map(stem_key, ranked.words)),
    )

    def value_of(drawn: _Floats) -> float:
        return _mean_valence_of_top(drawn, valences)

    return ranked.widened(estimate, value_of, rng, prompt=0)


def moments(frame: pd.DataFrame) -> dict[str, float]:
    """Return by name the mean, variance, skewness, excess kurtosis and share of ties of all scores.

    As in Table 3 of the paper, of every token that is scored (not NaN).
    """
    scores = frame["score"].dropna().to_numpy(float)
    z = (scores - scores.mean()) / scores.std()  # so that rounding does not depend on the units
    return {
        "mean": float(scores.mean()),
        "variance": float(scores.var()),
        "skewness": float(scipy.stats.skew(z)),
        "excess kurtosis": float(scipy.stats.kurtosis(z)),
        "tie share": 1 - len(np.unique(scores)) / len(scores),
    }


def _mean_valence_of_top(rewards: _Floats, valences: _Floats) -> float:
    return float(_weights_in_top(rewards) @ valences) / (TAIL * len(valences))


def _weights_in_top(rewards: _Floats) -> _Floats:
    """Return each word's weight in the top `TAIL` of rewards, (n,): 1, 0, or a fraction at ties."""
    return among_highest(rewards, TAIL * len(rewards))


def _influences(rewards: _Floats, valences: _Floats) -> _Floats:
    """Return each word's influence on the mean valence of the top `TAIL`, shape (n,).

    It is that of `influences_on_top`, and on the scale, as valence is in sd.
    """
    share = _weights_in_top(rewards)
    value = float(share @ valences) / (TAIL * len(valences))
    moved = influences_on_top(share, rewards, valences, value, TAIL)
    return moved - valences - value * (valences**2 - 1) / 2


def _quantile_skewness(scores: _Floats) -> dict[str, float]:
    low, middle, high = np.quantile(scores, [TAIL, 0.5, 1 - TAIL]).tolist()
    if not high > low:
        return {}
    return {"quantile skewness": (high + low - 2 * middle) / (high - low)}


def _tail_evidence(
    ranked: ScoredWords, frame: pd.DataFrame, valences: _Floats, axis: str
) -> PositiveSkewEvidence:
    scores = frame["score"].dropna().to_numpy(float)
    rewards = ranked.rewards()[0]
    z = (group_means(ranked.scores, ranked.place) - scores.mean()) / scores.std()
    inside = np.flatnonzero(_weights_in_top(rewards) > 0)
    top = inside[np.lexsort((inside, -rewards[inside]))]
    words = (TailWord(str(ranked.words[i]), float(z[i]), float(valences[i])) for i in top[:_SHOWN])
    return PositiveSkewEvidence(axis=axis, n=len(inside), words=tuple(words))


def _panel_of_tail_words(prompt: str, evidence: PositiveSkewEvidence, *, domain: Domain) -> Points:
    rows = evidence.words[:_DRAWN]
    return Points(
        title=prompt,
        subtitle=(f"{len(rows)} of {evidence.n:,} words",),
        facts=tuple(
            Fact(terms=(row.word,), after=f" {row.valence:+.2f}") for row in rows[:_READ_OUT]
        ),
        axis=f"{evidence.axis}, sd, as asked",
        rows=tuple(row_of(row.word, row.valence) for row in rows),
        domain=domain,
    )
