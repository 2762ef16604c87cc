"""Hold scores of the same texts as answers to several prompts, for good and for bad things.

`ScoredWords.rewards` go by ranks alone, so that no outlier and no scale changes what is made of
them; `means` and `weighted` are of the scores themselves, in sd where `in_frames` collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import ANYWHERE, UNMEASURED, widened
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
class ScoredWords:
    """Words that every prompt scores, with a score for each prompt and each token that spells one.

    `scores`, `noise`, `prompt` and `place` have an entry for each token and prompt: its score, the
    score's numeric noise, and which prompt and word it belongs to; `counts` are the tokens that
    spell a word, (prompts, words).
    """

    words: pd.Index[str]
    scores: _Floats
    noise: _Floats
    prompt: _Codes
    place: _Codes
    counts: _Codes

    @classmethod
    def of(
        cls, answers: Mapping[str, Answers], words: pd.Index[str], *, in_sd: bool = False
    ) -> ScoredWords:
        """Return those of `words` (unique, lower case) that every prompt scores, with their scores.

        With `in_sd` scores and noise are in sd of all answers to the prompt, scores from their
        mean.

        Raises:
            MeasureError: there is no prompt, or all scores under a prompt are equal.
        """
        if not answers:
            raise MeasureError("words are ranked under a prompt, and none is given")
        rows, same, places = [], None, np.array([], dtype=np.intp)
        for i, (name, each) in enumerate(answers.items()):
            if same is None or not same.equals(each.frame["text"]):  # most often they are
                same = each.frame["text"]
                places = words.get_indexer(pd.Index(word_of(same)))
            scores = each.frame["score"].to_numpy(float)
            scored = ~np.isnan(scores)
            every = scores[scored]
            if not len(every) or not np.ptp(every):
                why = "no sd to compare them in" if in_sd else "nothing to rank"
                message = f"{len(every)} scores under {name!r}, all of them equal: there is {why}"
                raise MeasureError(message)
            mean, sd = (float(every.mean()), float(every.std())) if in_sd else (0.0, 1.0)
            own = (places >= 0) & scored
            of_own = (scores[own] - mean) / sd, places[own]
            rows.append((*of_own, np.full(own.sum(), each.noise / sd), np.full(own.sum(), i)))
        scores, place, noise, prompt = (np.concatenate(part) for part in zip(*rows, strict=True))
        counts = np.zeros((len(answers), len(words)), dtype=np.intp)
        np.add.at(counts, (prompt, place), 1)
        kept = np.flatnonzero(counts.all(axis=0))
        both = np.isin(place, kept)
        columns = scores[both], noise[both], prompt[both], np.searchsorted(kept, place[both])
        return cls(words[kept], *columns, counts[:, kept])

    @property
    def stems(self) -> _Codes:
        """Return numbers of the words' stems, shape (words,)."""
        return stem_codes(self.words)

    def means(self, prompt: int, scores: _Floats | None = None) -> _Floats:
        """Return words' mean score under a prompt, (words,), from these scores or from `scores`.

        `scores` have an entry for each of the prompt's.
        """
        mine = self.prompt == prompt
        given = self.scores[mine] if scores is None else scores
        sums = np.bincount(self.place[mine], given, minlength=len(self.words))
        means: _Floats = sums / self.counts[prompt]
        return means

    def weighted(self, weights: _Floats, scores: _Floats | None = None) -> _Floats:
        """Return the weighted sum over prompts of words' mean scores (or of `scores`), (words,).

        `weights` are those of the prompts.
        """
        parts = weights[self.prompt] / self.counts[self.prompt, self.place]
        terms = parts * (self.scores if scores is None else scores)
        return np.bincount(self.place, terms, minlength=len(self.words)).astype(float)

    def rewards(self, scores: _Floats | None = None) -> _Floats:
        """Return words' rewards, (prompts, words), from these scores or from `scores`.

        Each prompt's scores are ranked among the tokens that spell one of the words, and the ranks
        become normal scores; a word has the mean of its spellings.
        """
        given = self.scores if scores is None else scores
        prompts = range(len(self.counts))
        return np.stack([self._rewards_under(i, given[self.prompt == i]) for i in prompts])

    def _rewards_under(self, prompt: int, scores: _Floats) -> _Floats:
        return self.means(prompt, normal_scores(scores))

    def widened(
        self,
        estimate: Estimate,
        value_of: Callable[[_Floats], float],
        rng: np.random.Generator,
        *,
        prompt: int,
        within: tuple[float, float] = ANYWHERE,
    ) -> Estimate:
        """Return the estimate with its interval widened by the numeric noise under one prompt.

        `value_of` makes its value from the prompt's rewards, shape (words,).
        """
        mine = self.prompt == prompt

        def value_of_scores(drawn: _Floats) -> float:
            return value_of(self._rewards_under(prompt, drawn))

        scores, noise = self.scores[mine], self.noise[mine]
        return widened(estimate, value_of_scores, scores, noise, rng, within=within)

    def rated(self, valence: pd.Series[float]) -> pd.DataFrame:
        """Return `place` and `valence` of each word that `valence` rates."""
        places = np.arange(len(self.words))
        table = pd.DataFrame({"place": places, "valence": valence.reindex(self.words)})
        return table.dropna()


def in_frames(
    answers: Mapping[str, Answers], words: pd.Index[str], *, opposed: bool
) -> tuple[ScoredWords, _Floats]:
    """Return scored `words` in sd, and the prompts' weights: means over good and over bad frames.

    Negative frames are subtracted if `opposed`, else added.

    Raises:
        MeasureError: there is no positive or no negative frame, or all scores under a prompt are
            equal.
    """
    signs = [each.sign for each in answers.values()]
    if {-1, 1} != set(signs):
        message = "framing needs a positive and a negative frame"
        raise MeasureError(f"{message}, got {', '.join(answers) or 'no prompt'}")
    weights = np.array([(s if opposed else 1) / signs.count(s) for s in signs])
    return ScoredWords.of(answers, words.unique().sort_values(), in_sd=True), weights


def enough_that_differ(rated: pd.DataFrame) -> bool:
    """Return whether `rated` has at least `FEWEST` texts, and they differ in valence."""
    return len(rated) >= FEWEST and bool(np.ptp(rated["valence"]))


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
) -> tuple[ScoredWords, pd.DataFrame]:
    """Return scored alphabetic words with frequency and valence; and a table of both and letters.

    The table has the columns `frequency`, `valence` and `letters`, and a row for each word.

    Raises:
        MeasureError: fewer than `fewest` words are scored and in both lists, they do not differ in
            one of the columns, or all scores under a prompt are equal.
    """
    both = pd.concat({"frequency": frequency, "valence": valence}, axis=1).dropna()
    ranked = ScoredWords.of(answers, both.index[both.index.str.isalpha()].sort_values())
    table = both.loc[ranked.words].assign(letters=ranked.words.str.len().astype(float))
    same = [name for name in table if len(table) and not np.ptp(table[name])]
    if len(table) < fewest or same:
        message = (
            f"{len(table)} words are scored, in the frequency list {frequency.name!r} and in the "
            f"lexicon {valence.name!r}; at least {fewest} that differ in all are needed"
        )
        raise MeasureError(f"{message} (all have the same {same[0]})" if same else message)
    return ranked, table
