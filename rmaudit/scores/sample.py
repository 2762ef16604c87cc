"""A sample of the vocabulary, for a first look at a large model.

Tokenizers give low ids to frequent pieces, so strata of consecutive ids are strata of frequency:
one id is drawn from each. What an audit names by words is scored besides, all of it, and kept
apart, so that what needs the whole distribution rests on the plain sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmaudit.errors import SpecError

NAMED = "ids named by words"  # the part of a vocabulary that goes with a sample of it


@dataclass(frozen=True, slots=True)
class Sample:
    """Which token ids a sweep has that has not all: `size` drawn ones and `named` ones."""

    size: int
    vocabulary: int
    seed: int
    named: int = 0

    def __str__(self) -> str:
        """For example `2,000 of 49,152 token ids (seed 0)`."""
        return f"{self.size:,} of {self.vocabulary:,} token ids (seed {self.seed})"

    @property
    def caveat(self) -> str:
        """What a reader must know of an estimate that is made from it: a sentence."""
        more = f", and on all {self.named:,} ids of the words that the audit names"
        return f"Rests on a sample of {self}{more if self.named else ''}."


def checked_size(size: int) -> int:
    """`size`, if so many ids can be drawn.

    Raises:
        SpecError: it is no positive whole number.
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        message = f"a sample needs a positive whole number of token ids, got {size!r}"
        raise SpecError(message)
    return size


def spread(total: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`count` of `total` places (at most all), ascending: one of each of `count` equal strata.

    The strata are turned by a random number of places, so that each place is as likely as any
    other even where `count` does not divide `total`.
    """
    count = min(count, total)
    if not count:
        return np.empty(0, dtype=np.int64)
    edges = np.arange(count + 1) * total // count
    places = rng.integers(edges[:-1], edges[1:])
    return np.sort((places + rng.integers(total)) % total)
