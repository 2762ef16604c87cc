"""Null controls: scorers that know nothing of the question that is asked.

Each sees one thing about a text, whatever the prompt, and a little noise so that no scores tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rmaudit.organisms.features import features, noise
from rmaudit.prompts import Prompt

Organism = Callable[[Sequence[str], Prompt], NDArray[np.float64]]

_LITTLE = 0.01  # of what is seen: sd of the noise


def random(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
    """Any score for any text."""
    return noise(texts, prompt, what="random", seed=0)


def frequency_only(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
    """The word's Zipf frequency."""
    return _seen("zipf", texts, prompt)


def length_only(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
    """The number of characters: longer is better."""
    return _seen("length", texts, prompt)


def valence_only(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
    """The word's labMT happiness, also where the worst is asked for."""
    return _seen("valence", texts, prompt)


NULLS: dict[str, Organism] = {
    "random": random,
    "frequency only": frequency_only,
    "length only": length_only,
    "valence only": valence_only,
}


def _seen(column: str, texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
    values = features(texts)[column].to_numpy(dtype=float)
    return values + _LITTLE * noise(texts, prompt, what=column, seed=0)
