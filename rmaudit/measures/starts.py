"""Starts of a search, over which shares are counted.

A start is one observation, however many sequences it tried: starts are drawn at random and
independently, so the share of them that come to a sequence of some kind has an exact binomial
interval, whether or not several come to the same sequence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

TITLE = "What the model hates most: an artefact of this model"
UNIT = "share of starts"


def power(sequences: Sequence[str], chance: float) -> str:
    """Return a sentence on how large a share these starts can distinguish from chance."""
    starts = len(sequences)
    hits = np.arange(1, starts + 1)
    lowest = scipy.stats.beta.ppf(0.025, hits, starts - hits + 1)
    enough = hits[lowest > chance]
    told = f"tell no share of them from chance ({chance:.2g})"
    if len(enough):
        share = float(scipy.stats.beta.ppf(0.8, enough[0], starts - enough[0] + 1))
        told = f"tell a share of {share:.2f} or more from chance ({chance:.2g}) 4 times of 5"
    return f"Starts: {starts}; distinct sequences: {len(set(sequences))}. So many starts {told}."
