"""Scores of the same texts as answers to several prompts, for good and for bad things.

`Joined` has rewards in sd. `RankedAnswers` goes by ranks alone, so that no outlier and no scale
changes what is made of them.
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
from rmaudit.measures._stats import UNMEASURED, widened
from rmaudit.measures.word_spellings import word_of
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.word_stems import stem_codes

FEWEST = 30  # texts, or words on either side of neutral

_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Answers:
    """Scored answers to one prompt: a table with the columns `text` and `score`.

    `sign` is +1 where good things are asked for and -1 where bad ones are; `noise` is the numeric
    noise of a score, in the scores' units.
    """

    frame: pd.DataFrame
    sign: int
    noise: float = UNMEASURED


@dataclass(frozen=True, slots=True)
class Joined:
    """Rewards of some texts, in sd, under all prompts: an entry for each spelling and prompt.

    `scores` and `noise` are in sd of the prompt's answers; `prompt` and `places` are each entry's
    index among the prompts and in `texts`; `parts` is its weight in its text's combined reward.
    """

    texts: pd.Index[str]
    scores: _Floats
    noise: _Floats
    prompt: _Codes
    places: _Codes
    counts: _Codes  # (prompts, texts)
    parts: _Floats

    @classmethod
    def of(cls, answers: Mapping[str, Answers], texts: pd.Index[str], *, opposed: bool) -> Joined:
        """Collect scores (in sd) of answers that spell `texts`; bad prompts weigh < 0 if `opposed`.

        Negative frames are subtracted in `combined` if `opposed`, else added.

        Raises:
            MeasureError: there is no positive or no negative frame, or all scores under a prompt
                are equal.
        """
        signs = [each.sign for each in answers.values()]
        if {-1, 1} != set(signs):
            message = "framing needs a positive and a negative frame"
            raise MeasureError(f"{message}, got {', '.join(answers) or 'no prompt'}")
        known = texts.unique().sort_values()
        entries = _spelled_scores(answers, known, "there is no sd to compare them in", in_sd=True)
        _, _, prompt, places, counts = entries
        weights = np.array([(s if opposed else 1) / signs.count(s) for s in signs])
        return cls(known, *entries, weights[prompt] / counts[prompt, places])

    def combined(self, scores: _Floats | None = None) -> _Floats:
        """Return each text's weighted sum of rewards (or `scores`) over all prompts, (texts,)."""
        terms = self.parts * (self.scores if scores is None else scores)
        return np.bincount(self.places, terms, minlength=len(self.texts)).astype(float)

    def under(self, prompt: int) -> _Floats:
        """Return texts' mean rewards, in sd, over tokens that spell them, under a prompt, or 0."""
        mine = self.prompt == prompt
        sums = np.bincount(self.places[mine], self.scores[mine], minlength=len(self.texts))
        means: _Floats = sums / np.maximum(self.counts[prompt], 1)
        return means

    def rated(self, valence: pd.Series[float]) -> pd.DataFrame:
        """Return `place` and `valence` of each text that all prompts score and `valence` rates."""
        places = np.flatnonzero(self.counts.all(axis=0))
        table = pd.DataFrame({"place": places, "valence": valence.reindex(self.texts[places])})
        return table.dropna()


def enough_that_differ(rated: pd.DataFrame) -> bool:
    """Return whether `rated` has at least `FEWEST` texts, and they differ in valence."""
    return len(rated) >= FEWEST and bool(np.ptp(rated["valence"]))


@dataclass(frozen=True, slots=True)
class RankedAnswers:
    """Words that every prompt scores, with a score for each prompt and each token that spells one.

    `stems` number the words' stems. `scores`, `noise`, `prompt` and `place` have an entry for each
    token and prompt: its score, the score's numeric noise, and which prompt and word it belongs to.
    """

    words: pd.Index[str]
    stems: _Codes
    scores: _Floats
    noise: _Floats
    prompt: _Codes
    place: _Codes
    prompts: int

    @classmethod
    def of(cls, answers: Mapping[str, Answers], words: pd.Index[str]) -> RankedAnswers:
        """Return those of `words` (unique, lower case) that every prompt scores, with their scores.

        Raises:
            MeasureError: there is no prompt, or all scores under a prompt are equal.
        """
        if not answers:
            raise MeasureError("words are ranked under a prompt, and none is given")
        why = "there is nothing to rank"
        scores, noise, prompt, place, counts = _spelled_scores(answers, words, why)
        kept = np.flatnonzero(counts.all(axis=0))
        known, both = words[kept], np.isin(place, kept)
        columns = scores[both], noise[both], prompt[both], np.searchsorted(kept, place[both])
        return cls(known, stem_codes(known), *columns, prompts=len(answers))

    def rewards(self, scores: _Floats | None = None) -> _Floats:
        """Return words' rewards, (prompts, words), from these scores or from `scores`.

        Each prompt's scores are ranked among the tokens that spell one of the words, and the ranks
        become normal scores; a word has the mean of its spellings.
        """
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


def _spelled_scores(
    answers: Mapping[str, Answers], words: pd.Index[str], why: str, *, in_sd: bool = False
) -> tuple[_Floats, _Floats, _Codes, _Codes, _Codes]:
    """Return score, noise, prompt and word of each answer that spells a word; and counts of these.

    `words` are unique and in lower case; the counts are of shape (prompts, words). With `in_sd`
    scores and noise are in sd of all answers to the prompt, scores from their mean.

    Raises:
        MeasureError: all scores under a prompt are equal; `why` says what is wrong with that.
    """
    rows, same, places = [], None, np.array([], dtype=np.intp)
    for i, (name, each) in enumerate(answers.items()):
        if same is None or not same.equals(each.frame["text"]):  # most often they are
            same = each.frame["text"]
            places = words.get_indexer(pd.Index(word_of(same)))
        scores = each.frame["score"].to_numpy(float)
        scored = ~np.isnan(scores)
        every = scores[scored]
        if not len(every) or not np.ptp(every):
            message = f"{len(every)} scores under {name!r}, all of them equal: {why}"
            raise MeasureError(message)
        mean, sd = (float(every.mean()), float(every.std())) if in_sd else (0.0, 1.0)
        own = (places >= 0) & scored
        of_own = (scores[own] - mean) / sd, places[own]
        rows.append((*of_own, np.full(own.sum(), each.noise / sd), np.full(own.sum(), i)))
    scores, place, noise, prompt = (np.concatenate(part) for part in zip(*rows, strict=True))
    counts = np.zeros((len(answers), len(words)), dtype=np.intp)
    np.add.at(counts, (prompt, place), 1)
    return scores, noise, prompt, place, counts


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


def influences_on_top(
    inside: _Floats, rewards: _Floats, values: _Floats, mean: float, top: float
) -> _Floats:
    """Return each word's influence on the `mean` of `values` over the highest `top`, (words,).

    `top` is a share, `inside` are the words' weights in the top by `rewards` (`among_highest`). A
    word of the top moves its mean, and any word moves the cut, at which words have about the mean
    of those from half the top to twice the top.
    """
    order = np.argsort(-rewards, kind="stable")
    ends = (round(top * len(values) * factor) for factor in (0.5, 2))
    at_cut = float(values[order[slice(*ends)]].mean())
    influence: _Floats = (inside * values - top * mean - at_cut * (inside - top)) / top
    return influence


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
