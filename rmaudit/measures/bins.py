"""Rewards by bins of what a word is, such as its valence or its frequency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BINS = 9


@dataclass(frozen=True)
class Bin:
    """The words between `low` and `high`: how many, and the quartiles of their rewards in sd."""

    low: float
    high: float
    n: int
    median: float
    q25: float
    q75: float


@dataclass(frozen=True)
class Panel:
    """Rewards under one prompt, in sd, by bins of what a word is."""

    prompt: str
    bins: tuple[Bin, ...]


def binned(rewards: NDArray[np.float64], by: NDArray[np.float64]) -> tuple[Bin, ...]:
    """The rewards in nine bins of equal width of `by`, without the empty ones; shapes (n,)."""
    edges = np.linspace(by.min(), by.max(), _BINS + 1)
    place = np.clip(np.digitize(by, edges) - 1, 0, _BINS - 1)
    found = []
    for i in np.unique(place):
        inside = rewards[place == i]
        q25, median, q75 = np.quantile(inside, [0.25, 0.5, 0.75]).tolist()
        ends = float(edges[i]), float(edges[i + 1])
        found.append(Bin(*ends, n=len(inside), median=median, q25=q25, q75=q75))
    return tuple(found)
