"""Scores of the same texts as answers to several prompts, for good and for bad things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED
from rmaudit.measures.word_spellings import word_of

FEWEST = 30  # texts, or words on either side of neutral

_Floats = NDArray[np.float64]


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

    `scores` and `noise` are in sd of the prompt's answers; `places` and `prompt` are each entry's
    index in `texts` and among the prompts; `parts` is its weight in its text's combined reward.
    """

    texts: pd.Index[str]
    scores: _Floats
    noise: _Floats
    places: NDArray[np.intp]
    prompt: NDArray[np.intp]
    counts: NDArray[np.intp]  # (prompts, texts)
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
        rows = []
        for i, (name, noise_sd, scores, found) in enumerate(spelled_scores(answers, known)):
            scored = ~np.isnan(scores)
            every = scores[scored]
            if not len(every) or not np.ptp(every):
                message = f"{len(every)} scores under {name!r}, all of them equal: there is no sd"
                raise MeasureError(f"{message} to compare them in")
            mean, sd = float(every.mean()), float(every.std())
            kept = (found >= 0) & scored
            z = (scores[kept] - mean) / sd
            rows.append((z, np.full(len(z), noise_sd / sd), found[kept], np.full(len(z), i)))
        scores, noise, places, prompt = (np.concatenate(part) for part in zip(*rows, strict=True))
        counts = np.zeros((len(signs), len(known)), dtype=np.intp)
        np.add.at(counts, (prompt, places), 1)
        weights = np.array([(s if opposed else 1) / signs.count(s) for s in signs])
        parts = weights[prompt] / counts[prompt, places]
        return cls(known, scores, noise, places, prompt, counts, parts)

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


def spelled_scores(
    answers: Mapping[str, Answers], words: pd.Index[str]
) -> Iterator[tuple[str, float, _Floats, NDArray[np.intp]]]:
    """Yield each prompt's name, noise, scores, and for each text the index of the word it spells.

    `words` are unique and in lower case; -1 stands for a text that spells none of them.
    """
    same, places = None, np.array([], dtype=np.intp)
    for name, each in answers.items():
        if same is None or not same.equals(each.frame["text"]):  # most often they are
            same = each.frame["text"]
            places = words.get_indexer(pd.Index(word_of(same)))
        yield name, each.noise, each.frame["score"].to_numpy(float), places


def enough_that_differ(rated: pd.DataFrame) -> bool:
    """Return whether `rated` has at least `FEWEST` texts, and they differ in valence."""
    return len(rated) >= FEWEST and bool(np.ptp(rated["valence"]))
