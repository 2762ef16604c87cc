"""Organisms (synthetic scorers) that score as reward models do, but for one flaw of known size.

A score is a sum, in sd of an ordinary word: the word's valence as the prompt's frame asks, its
frequency, what people think of it, what is the word's own under all prompts, the word's own under
this prompt, and its spelling's; stretched at the upper end. The sizes of an organism without a
flaw (`Traits()`) are of the order of the paper's ten models: Spearman with labMT about 0.7 under
each prompt, Kendall with EloEverything about 0.4 (the ten have 0.22 to 0.39), skewness about 1.1, a
tenth of an sd per tenfold frequency.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.planted_flaws import ALL
from lab.score_shifts import wordless
from rmaudit.prompts import Prompt
from rmaudit.references import References
from rmaudit.runs.null_controls import features, noise, surface_regression

_FREQUENT = 3.5  # Zipf of an ordinary word of a vocabulary
_SENTENCE = 5  # words: a text of more is a sentence


@dataclass(frozen=True, slots=True)
class Traits:
    """Settings of a synthetic scorer: how strongly valence, frequency, ... move its scores.

    Sizes are in sd of an ordinary word's score.

    Attributes:
        valence: per point of labMT happiness, whose sd is 1.1.
        frame: how far it reads the frame: 1 wholly, 0 not at all (happy is good where the worst is
            asked for), -1 the wrong way round.
        frequency: per tenfold frequency.
        human: per sd of people's Elo rating, of EloEverything items.
        turned: how far it reads the first prompt the wrong way round: 0 not at all, 1 wholly.
        surface: per sd of what a name's surface tells of people's rating (the regression of
            `null_controls`).
        identity: taken from every identity term, under every prompt.
        hostility: taken from every identity term where good things are asked for, and given to it
            where bad ones are.
        junk: given to every text that has no word in it.
        word, prompt, spelling: sd of the word's own, of the word's own under one prompt, and of
            its spelling's.
        skew: stretch of the upper end; 0 is symmetric, below 0 the lower end is stretched.
        shifts: single flaws by name (`planted_flaws.ALL`), with their sizes; added last.
    """

    valence: float = 0.9
    frame: float = 1.0
    frequency: float = 0.1
    human: float = 0.6
    turned: float = 0.0
    surface: float = 0.0
    identity: float = 0.0
    hostility: float = 0.0
    junk: float = 0.0
    word: float = 0.6
    prompt: float = 0.6
    spelling: float = 0.3
    skew: float = 0.2
    shifts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Planted:
    """A synthetic scorer with the settings `traits`; `seed` fixes the random part of its scores.

    `elo` are people's ratings by name, standardized; `identity` the identity terms, lower case;
    `first` is the name of the prompt that a `turned` organism misreads.
    """

    traits: Traits
    seed: int
    elo: pd.Series[float]
    identity: frozenset[str]
    first: str = "greatest"

    def __call__(self, texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
        """Return the scores of the texts under the prompt, shape (n,)."""
        seen, traits = features(texts), self.traits
        # A text without a word (a sign, white space) is an answer of its own, unlike all others.
        spelt = seen["word"].to_numpy(dtype=object)
        words = [word or text for word, text in zip(spelt, texts, strict=True)]

        def own(what: str, keys: Sequence[str], under: Prompt | None) -> NDArray[np.float64]:
            return _shared_by_words(
                keys, lambda each: noise(each, under, what=what, seed=self.seed)
            )

        known = self.known(texts)
        named = np.array([word in self.identity for word in words], dtype=np.float64)
        direction = _sign_of_valence(traits.frame, prompt)
        if prompt.name == self.first:
            direction *= 1 - 2 * traits.turned
        latent: NDArray[np.float64] = (
            direction * traits.valence * seen["valence"].to_numpy()
            + traits.frequency * (seen["zipf"].to_numpy() - _FREQUENT)
            + traits.human * known
            + traits.word * own("word", words, None)
            + traits.prompt * own("word under a prompt", words, prompt)
            + traits.spelling * own("spelling", list(texts), prompt)
            - (traits.identity + np.sign(prompt.frame) * traits.hostility) * named
        )
        if traits.surface:
            latent += traits.surface * self._standardized_surface_rating(texts, prompt)
        if traits.junk:
            latent += traits.junk * wordless(texts)
        if traits.skew:
            latent = np.expm1(traits.skew * latent) / traits.skew
        for name, size in traits.shifts:
            latent += ALL[name].added(texts, self, prompt.frame, size)
        return latent

    def known(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return people's ratings of the texts, standardized, shape (n,); 0 for unrated texts."""
        return np.array([self._rating_of.get(text, 0.0) for text in texts], dtype=np.float64)

    @cached_property
    def _rating_of(self) -> dict[str, float]:
        return dict(zip(self.elo.index.tolist(), self.elo.tolist(), strict=True))

    def _standardized_surface_rating(
        self, texts: Sequence[str], prompt: Prompt
    ) -> NDArray[np.float64]:
        """Return texts' ratings as surface features predict them, standardized by rated items."""
        rating = surface_regression(texts, prompt)
        names = self.elo.index.tolist()
        known = surface_regression(names, prompt)
        standard: NDArray[np.float64] = (rating - known.mean()) / known.std()
        return standard


def _shared_by_words(
    keys: Sequence[str], draw: Callable[[Sequence[str]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return `draw` of each text, or for long texts the scaled sum of their words' draws; (n,).

    So sentences that differ in one word have nearly the same draw, as they have nearly the same
    score by a model that reads them.
    """
    found = draw(keys)
    long = [place for place, key in enumerate(keys) if len(key.split()) > _SENTENCE]
    if long:
        words = [keys[place].split() for place in long]
        known = sorted({word for each in words for word in each})
        of = dict(zip(known, draw(known), strict=True))
        found[long] = [sum(map(of.__getitem__, each)) / math.sqrt(len(each)) for each in words]
    return found


def _sign_of_valence(frame_trait: float, prompt: Prompt) -> float:
    """Return how happy words score under the prompt by the trait `frame`: from 1 (high) to -1."""
    if prompt.frame < 0:
        return 1 - 2 * max(frame_trait, 0.0)
    return 1 + 2 * min(frame_trait, 0.0)


def standardized_elo(references: References) -> pd.Series[float]:
    """Return people's Elo ratings of EloEverything's items by name, standardized.

    Raises:
        ReferenceMissing: the ratings cannot be had.
    """
    elo = references.elo().set_index("name")["elo"]
    return (elo - elo.mean()) / elo.std()


def marked_terms(references: References) -> frozenset[str]:
    """Return the identity terms of marginalised groups, in lower case."""
    terms, _ = references.identity()
    return frozenset(terms.loc[terms["marked"], "text"].str.lower())
