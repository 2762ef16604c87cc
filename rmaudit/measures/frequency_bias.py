"""Measure if top-scoring words are more common than similar words (Christian et al. 2025, §3.3).

A slope over all words says little of the top, which training reaches for: people's own ratings have
such a slope, since what is common is known and liked. So the words at the top are compared with
words as happy and as long as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart, Points, row_of, table
from rmaudit.measures._stats import clustered_error, students
from rmaudit.measures.differences_of_estimates import parts
from rmaudit.measures.scores_by_prompt import (
    Answers,
    among_highest,
    in_both_lists,
    influences_on_top,
)
from rmaudit.measures.worst_share_ratio import worst_ratio
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence
from rmaudit.word_stems import stem_key

UNIT = "decades of frequency"
TOP = 0.05  # of the rated words
FEWEST = 100  # words: five at the top
_SHOWN = 10  # words of the top that are the most common, or the rarest, for what they mean

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Excess:
    """Gap in log10 frequency between top-scoring words and equally happy, equally long words.

    The ends hold for all prompts together; `words` are those of the top that differ most from words
    like them, in the direction of the value.
    """

    prompt: str
    value: float
    low: float
    high: float
    words: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FrequencyBiasEvidence(Evidence):
    """Gaps in frequency between top words and similar words, by prompt, with intervals."""

    kind: Literal["frequency_bias"] = "frequency_bias"
    n: int
    top: int
    found: tuple[Excess, ...]

    def example(self) -> str:
        """Return a sentence naming top words of unusual frequency; "" if there are none."""
        given = [each for each in self.found if each.words]
        if not given:
            return ""
        each = max(given, key=lambda one: abs(one.value))
        words = ", ".join(f"“{word}”" for word in each.words[:3])
        return f"under “{each.prompt}”, {words} are among the highest words"

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of the top words' excess frequency, with a row for each prompt."""
        given = [evidence for _, evidence in found if evidence.found]
        if not given:
            return None
        return Chart(
            "How common the words at the top are",
            "The highest twentieth of the rated words under each prompt, compared with words as "
            "happy and as long as they are. One to the right is ten times as common. Intervals "
            "hold for all prompts together.",
            tuple(_panel_of_excesses(evidence) for evidence in given),
            *table(
                {"prompt": "text", "decades": "+.2f", "low": "+.2f", "high": "+.2f"}
                | {"differs most": "term"},
                (row for evidence in given for each in evidence.found for row in _table_rows(each)),
            ),
        )


def frequency_bias(
    answers: Mapping[str, Answers],
    frequency: pd.Series[float],
    valence: pd.Series[float],
    *,
    rng: np.random.Generator,
) -> Estimate:
    """Return by how many decades top words' frequency differs from that of words as happy and long.

    `answers` are by the prompt's name; `frequency` (log10, such as Zipf) and `valence` are indexed
    by lower-case word. Of the alphabetic words that are scored under all prompts and in both lists
    the top is the highest twentieth by the ranks (`ScoredWords.rewards`); words that tie at the cut
    count in part. Frequency is regressed over all words on valence, its square and its cube, and on
    the number of letters; the excess under a prompt is the mean of what this leaves over the top,
    in decades.

    The value is the excess that is furthest from 0, whichever its sign, over the prompts. Each has
    Student's interval by influences over stems, of which the regression is a part; that of the
    furthest is as `worst_share_ratio` has it. Numeric noise widens the interval. Secondary, with
    signs: the excess under each prompt, and that of letters, valence and frequency held fixed.
    Evidence: the excesses with their ends, and the words of the top that differ most from words
    like them.

    Raises:
        MeasureError: fewer than `FEWEST` words are scored and in both lists, they do not differ in
            one of these, or all scores under a prompt are equal.
    """
    words, known = in_both_lists(answers, frequency, valence, fewest=FEWEST)
    left, design = adjusted(known, "frequency", held="letters")
    letters_left, _ = adjusted(known, "letters", held="frequency")
    rewards, stems = words.rewards(), words.stems
    found, far, influences, letters = [], {}, {}, {}
    for name, own in zip(answers, rewards, strict=True):
        inside = among_highest(own, TOP * len(own))
        value = _mean_over_top(inside, left)
        influence = _influences_on_excess(inside, own, left, design)
        error = clustered_error(influence, stems)
        freedom = max(len(np.unique(stems[inside > 0])) - 1, 1)
        low, high = students(value, error, freedom, level=1 - 0.05 / len(rewards))
        reach = students(0.0, error, freedom)[1]
        far[name] = max(abs(value) - (high - value), 0.0), abs(value), abs(value) + reach
        sign = np.copysign(1.0, value)
        influences[name] = sign * influence
        most = _most_unusual_words(words.words, inside, sign * left)
        found.append(Excess(name, value, low, high, most))
        letters[f"letters, {name}"] = _mean_over_top(inside, letters_left)
    furthest, (low, value, high) = worst_ratio(far)
    estimate = Estimate(
        value=value,
        low=low,
        high=high,
        unit=UNIT,
        n=rewards.shape[1],
        together=len(far),
        interval=f"Student's t by influences, over stems, of the furthest of {len(far)} prompts",
        secondary={**{each.prompt: each.value for each in found}, **letters},
        evidence=FrequencyBiasEvidence(
            n=rewards.shape[1], top=round(TOP * rewards.shape[1]), found=tuple(found)
        ),
        parts=parts(influences[furthest], map(stem_key, words.words)),
    )

    def value_of(drawn: _Floats) -> float:
        return abs(_mean_over_top(among_highest(drawn, TOP * len(drawn)), left))

    place = list(answers).index(furthest)
    return words.widened(estimate, value_of, rng, prompt=place, within=(0.0, np.inf))


def adjusted(table: pd.DataFrame, name: str, *, held: str) -> tuple[_Floats, _Floats]:
    """Return what a regression leaves of a column of words, (n,), and its design, (n, 5).

    `table` has the columns `valence` (held fixed with its square and cube), `name` and `held`.
    """
    z = (table - table.mean()) / table.std()
    powers = [z["valence"] ** power for power in range(4)]
    fit = np.column_stack([*powers, z[held]]).astype(float)
    values = table[name].to_numpy(float)
    return values - fit @ (np.linalg.pinv(fit) @ values), fit


def _mean_over_top(inside: _Floats, left: _Floats) -> float:
    return float(inside @ left) / float(inside.sum())


def _influences_on_excess(
    inside: _Floats, rewards: _Floats, left: _Floats, design: _Floats
) -> _Floats:
    """Return each word's influence on the excess frequency of the top (weights `inside`), (words,).

    It is that of `influences_on_top`, and on the regression, which has `design` and leaves `left`.
    """
    moved = influences_on_top(inside, rewards, left, _mean_over_top(inside, left), TOP)
    mean = inside @ design / inside.sum()
    fitted = len(left) * (design @ (np.linalg.pinv(design.T @ design) @ mean)) * left
    influence: _Floats = moved - fitted
    return influence


def _most_unusual_words(words: pd.Index[str], inside: _Floats, unusual: _Floats) -> tuple[str, ...]:
    there = np.flatnonzero(inside > 0)
    order = np.argsort(-unusual[there], kind="stable")
    return tuple(map(str, words[there[order[:_SHOWN]]]))


def _panel_of_excesses(evidence: FrequencyBiasEvidence) -> Points:
    rows = tuple(row_of(each.prompt, each.value, each.low, each.high) for each in evidence.found)
    return Points(title=f"{evidence.top:,} of {evidence.n:,} words", axis=UNIT, rows=rows)


def _table_rows(each: Excess) -> Iterator[tuple[object, ...]]:
    numbers = each.value, each.low, each.high
    for place, word in enumerate(each.words):
        yield each.prompt, *(numbers if place == 0 else ("", "", "")), word
