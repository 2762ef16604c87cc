"""Compute rewards of words from ranks alone, so that no outlier and no scale changes them.

Each prompt's scores are ranked among the tokens that spell one of the words, and the ranks become
normal scores; a word has the mean of its spellings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import widened
from rmaudit.measures.scores_by_prompt import Answers, spelled_scores
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.word_stems import stem_codes

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankedAnswers:
    """Words that every prompt scores, with a score for each prompt and each token that spells one.

    `stems` number the words' stems. `scores`, `noise`, `prompt` and `place` have an entry for each
    token and prompt: its score, the score's numeric noise, and which prompt and word it belongs to.
    """

    words: pd.Index[str]
    stems: NDArray[np.intp]
    scores: _Floats
    noise: _Floats
    prompt: NDArray[np.intp]
    place: NDArray[np.intp]
    prompts: int

    @classmethod
    def of(cls, answers: Mapping[str, Answers], words: pd.Index[str]) -> RankedAnswers:
        """Return those of `words` (unique, lower case) that every prompt scores, with their scores.

        Raises:
            MeasureError: there is no prompt, or all scores under a prompt are equal.
        """
        if not answers:
            raise MeasureError("words are ranked under a prompt, and none is given")
        rows = []
        for i, (name, noise_sd, scores, spelt) in enumerate(spelled_scores(answers, words)):
            scored = ~np.isnan(scores)
            if not scored.any() or not np.ptp(scores[scored]):
                message = f"{scored.sum()} scores under {name!r}, all of them equal"
                raise MeasureError(f"{message}: there is nothing to rank")
            own = (spelt >= 0) & scored
            n = int(own.sum())
            rows.append((scores[own], np.full(n, noise_sd), np.full(n, i), spelt[own]))
        scores, noise, prompt, place = (np.concatenate(part) for part in zip(*rows, strict=True))
        counts = np.zeros((len(answers), len(words)), dtype=np.intp)
        np.add.at(counts, (prompt, place), 1)
        kept = np.flatnonzero(counts.all(axis=0))
        slot = np.full(len(words), -1)
        slot[kept] = np.arange(len(kept))
        both = slot[place] >= 0
        columns = scores[both], noise[both], prompt[both], slot[place[both]]
        known = words[kept]
        return cls(known, stem_codes(known), *columns, prompts=len(answers))

    def rewards(self, scores: _Floats | None = None) -> _Floats:
        """Return words' rewards as mean normal scores, (prompts, words); from `scores` if given."""
        given = self.scores if scores is None else scores
        return np.stack(
            [self._rewards_under(i, given[self.prompt == i]) for i in range(self.prompts)]
        )

    def _rewards_under(self, prompt: int, scores: _Floats) -> _Floats:
        place = self.place[self.prompt == prompt]
        sums = np.bincount(place, normal_scores(scores), minlength=len(self.words))
        return sums / np.bincount(place, minlength=len(self.words))

    def widened(
        self,
        estimate: Estimate,
        value_of: Callable[[_Floats], float],
        rng: np.random.Generator,
        *,
        prompt: int | None = None,
        **more: Any,  # noqa: ANN401  (as `_stats.widened` has them)
    ) -> Estimate:
        """Return the estimate with its interval widened by the numeric noise of the rewards.

        `value_of` makes its value from rewards as `rewards` gives them; from those of one prompt,
        shape (words,), where `prompt` is given.
        """
        mine = slice(None) if prompt is None else self.prompt == prompt

        def value_of_scores(drawn: _Floats) -> float:
            scores = self.rewards(drawn) if prompt is None else self._rewards_under(prompt, drawn)
            return value_of(scores)

        return widened(estimate, value_of_scores, self.scores[mine], self.noise[mine], rng, **more)


def normal_scores(values: _Floats) -> _Floats:
    """Return the normal quantiles of the ranks of `values`, shape (n,); ties share a rank."""
    places = (scipy.stats.rankdata(values) - 0.5) / max(len(values), 1)
    return scipy.special.ndtri(places)


def among_highest(values: _Floats, many: float) -> _Floats:
    """Return each value's weight in the `many` highest, (n,): 1, 0, or a fraction at ties.

    Equal values at the cut share what is left for them.
    """
    _, place, counts = np.unique(-values, return_inverse=True, return_counts=True)
    above = np.cumsum(counts) - counts
    return np.clip((many - above) / counts, 0, 1)[place]


def in_both_lists(
    answers: Mapping[str, Answers],
    frequency: pd.Series[float],
    valence: pd.Series[float],
    *,
    fewest: int,
) -> tuple[RankedAnswers, pd.DataFrame]:
    """Return scored alphabetic words with frequency and valence; and a table of both and letters.

    The table has the columns `frequency`, `valence` and `letters`, and a row for each word.

    Raises:
        MeasureError: fewer than `fewest` words are scored and in both lists, they do not differ in
            one of the columns, or all scores under a prompt are equal.
    """
    both = pd.concat({"frequency": frequency, "valence": valence}, axis=1).dropna()
    ranked = RankedAnswers.of(answers, both.index[both.index.str.isalpha()].sort_values())
    table = both.loc[ranked.words].assign(letters=ranked.words.str.len().astype(float))
    same = [name for name in table if len(table) and not np.ptp(table[name])]
    if len(table) < fewest or same:
        message = (
            f"{len(table)} words are scored, in the frequency list {frequency.name!r} and in the "
            f"lexicon {valence.name!r}; at least {fewest} that differ in all are needed"
        )
        raise MeasureError(f"{message} (all have the same {same[0]})" if same else message)
    return ranked, table
