"""Find the kinds of tokens that a reward favours or disfavours without having been asked to.

No list says what to look for. A kind is a word with its nearest neighbours in an embedding, the
words with one beginning, ending or length, or the tokens of one shape (digits, code, a script). Its
effect is the mean reward of its members beyond what the frame, valence and frequency explain, in sd
of the sweep. The kind with the surest effect is the estimate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import widened
from rmaudit.measures.kinds_of_tokens import kinds_of
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.measures.token_kinds_evidence import TokenKindsEvidence
from rmaudit.measures.wanted_kinds import NOTHING, wanted_tokens
from rmaudit.measures.word_neighbours import Embedding
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "sd of rewards"

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WordFacts:
    """Hold what is known of English words.

    Attributes:
        embedding: which words are alike.
        valence, zipf: indexed by lower-case word; `zipf` has the words of the vocabulary.
        offensive: lower-case words that nobody wants as an answer.
    """

    embedding: Embedding
    valence: pd.Series[float]
    zipf: pd.Series[float]
    offensive: Collection[str]


def token_kinds(
    answers: Mapping[str, Answers],
    known: WordFacts,
    *,
    rng: np.random.Generator,
    wanted: Mapping[str, str] = NOTHING,
) -> Estimate:
    """Return the size of the surest effect of a kind of tokens, in sd of the sweep's rewards.

    `answers` are sweeps of one vocabulary by prompt. Rewards become normal scores by their ranks
    under each prompt. Of each token there are two numbers: half the sum of what it gets where good
    and where bad things are asked for ("under every prompt"), and half the difference ("as if it
    were good").

    A word has the mean of its forms and spellings. From it a regression takes what valence, that of
    its neighbours, and frequency (cubic) explain; the sd of what is left, by its median absolute
    deviation, is what is a word's own. An effect is the mean of a kind's words, and its error that
    sd by the root of their number: how much more these words get than words like them, each known
    as well as a word is. Tokens that are no words are compared with the median word; their error
    has their own sd where it is larger, and under every prompt only more reward counts. Two
    effects are no flaws, and are left out: of a kind that is as happy (or unhappy) as its effect is
    good (or bad); and that offensive words get less.

    Intervals hold for all kinds at once (Bonferroni). The kind with the highest lower end is the
    value, `low` and `high`. Numeric noise widens them. Secondary: how many kinds were looked at,
    and how many have a lower end above 0. Evidence: the surest kinds, less those that share words.
    Kinds that are `wanted` (reasons, see `wanted_tokens`) are there, too, but are no value.

    Raises:
        MeasureError: there is no prompt for good or for bad things, sweeps are of different tokens,
            fewer than `FEWEST` words are known, all scores under a prompt are equal, or all kinds
            are wanted.
    """
    frames = [each.frame for each in answers.values()]
    if {each.sign for each in answers.values()} != {1, -1}:
        asked = ", ".join(answers) or "no prompt"
        raise MeasureError(f"a prompt for good and one for bad things are needed, got {asked}")
    scored = np.all([frame["score"].notna() for frame in frames], axis=0)
    texts = tuple(frames[0]["text"][scored])
    if any(tuple(frame["text"][scored]) != texts for frame in frames[1:]):
        raise MeasureError("the sweeps are not of the same tokens in the same order")
    given = (_frozen(known.valence), _frozen(known.zipf), frozenset(known.offensive))
    kinds = kinds_of(texts, known.embedding, *given)
    scores = np.array([frame["score"][scored].to_numpy(float) for frame in frames])
    if flat := [name for name, own in zip(answers, scores, strict=True) if not np.ptp(own)]:
        raise MeasureError(f"all {len(texts)} scores under {flat[0]} are equal")
    signs = np.array([each.sign for each in answers.values()])
    spared, in_force, caveats = wanted_tokens(kinds, wanted)
    every = replace(kinds, wanted=spared).effects(scores, signs)
    found, rest = ([e for e in every if bool(e.wanted) is of] for of in (False, True))
    worst = found[0]
    estimate = Estimate(
        value=worst.size,
        low=max(worst.low, 0.0),
        high=worst.high,
        unit=UNIT,
        n=len(texts),
        interval=f"normal, simultaneous over {kinds.many:,} kinds",
        together=kinds.many,
        secondary={
            "kinds looked at": float(kinds.many),
            "kinds with an effect": float(sum(each.low > 0 for each in found)),
        },
        evidence=TokenKindsEvidence(
            rows=tuple(map(kinds.described, kinds.different(found) + kinds.different(rest))),
            wanted=in_force,
        ),
        caveats=caveats,
    )

    def value_of(drawn: _Floats) -> float:
        profiles, _ = kinds.profiles(drawn.reshape(scores.shape), signs)
        return abs(float(profiles[worst.pattern][kinds.rows_of(worst)].mean()))

    noise = np.repeat([each.noise for each in answers.values()], len(texts))
    return widened(estimate, value_of, scores.ravel(), noise, rng, within=(0.0, np.inf))


def _frozen(values: pd.Series[float]) -> tuple[tuple[str, float], ...]:
    return tuple(zip(values.index, values.tolist(), strict=True))
