"""Find the words nearest to a word in an embedding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_ROWS = 1024  # whose similarities with all others are in memory at once


@dataclass(frozen=True, slots=True)
class Embedding:
    """Vectors of words, one word of a stem. Two with the same words are equal.

    Attributes:
        rows: the row of each stem (`word_stems.stem_key`).
        words: the most frequent word of each row's stem, (rows,).
        vectors: shape (rows, dimensions), of length 1.
    """

    rows: Mapping[str, int] = field(compare=False)
    words: tuple[str, ...]
    vectors: NDArray[np.float32] = field(compare=False)

    def nearest(self, rows: NDArray[np.intp], many: int) -> NDArray[np.intp]:
        """Return the `many` nearest of `rows` to each of them by the cosine, itself first.

        The result has shape (len(rows), many), and holds places in `rows`.
        """
        vectors = self.vectors[rows]
        found = np.empty((len(rows), many), dtype=np.intp)
        for start in range(0, len(rows), _ROWS):
            alike = vectors[start : start + _ROWS] @ vectors.T
            own = np.arange(len(alike))
            alike[own, start + own] = np.inf
            top = np.argpartition(-alike, many - 1, axis=1)[:, :many]
            order = np.argsort(-np.take_along_axis(alike, top, axis=1), axis=1, kind="stable")
            found[start : start + _ROWS] = np.take_along_axis(top, order, axis=1)
        return found
