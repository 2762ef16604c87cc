"""Rewards in bins of a property of words, such as valence or frequency, and their chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmaudit.charts import Bin, Boxes, Chart, numbers, signed

_BINS = 9
_COLUMNS = ("from", "to", "words", "first quartile", "median", "third quartile")


@dataclass(frozen=True)
class PromptBins:
    """Quartiles of the rewards under one prompt, in sd, by bins of a property of words."""

    prompt: str
    bins: tuple[Bin, ...]


def binned(rewards: NDArray[np.float64], by: NDArray[np.float64]) -> tuple[Bin, ...]:
    """Return quartiles of `rewards`, (n,), in nine equally wide bins of `by`, (n,).

    Empty bins are left out.
    """
    edges = np.linspace(by.min(), by.max(), _BINS + 1)
    place = np.clip(np.digitize(by, edges) - 1, 0, _BINS - 1)
    found = []
    for i in np.unique(place):
        inside = rewards[place == i]
        q25, median, q75 = np.quantile(inside, [0.25, 0.5, 0.75]).tolist()
        ends = float(edges[i]), float(edges[i + 1])
        found.append(Bin(*ends, n=len(inside), median=median, q25=q25, q75=q75))
    return tuple(found)


def boxes(found: Sequence[tuple[str, PromptBins]], title: str, caption: str) -> Chart | None:
    """Return a chart of box plots with one panel for each prompt; None if there are no bins.

    `found` has pairs of an axis title and the bins of a prompt.
    """
    given = [(axis, each) for axis, each in found if each.bins]
    if not given:
        return None
    ends = [end for _, each in given for one in each.bins for end in (one.q25, one.q75)]
    rows = [
        (
            each.prompt,
            *(f"{end:.2f}" for end in (one.low, one.high)),
            f"{one.n:,}",
            *signed(one.q25, one.median, one.q75),
        )
        for _, each in given
        for one in each.bins
    ]
    return Chart(
        title,
        caption,
        tuple(
            Boxes(
                title=each.prompt,
                subtitle=(f"{sum(one.n for one in each.bins):,} words",),
                axis=axis,
                values="reward, sd of the sweep",
                bins=each.bins,
                domain=(min(0.0, *ends), max(0.0, *ends)),
            )
            for axis, each in given
        ),
        {"prompt": "text", **numbers(*_COLUMNS)},
        tuple(rows),
    )
