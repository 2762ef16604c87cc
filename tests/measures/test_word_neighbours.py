"""The nearest words: as one by one, in blocks of rows, and each word first its own."""

from __future__ import annotations

import numpy as np

from rmaudit.measures import word_neighbours
from rmaudit.measures.word_neighbours import Embedding


def test_the_nearest_are_those_of_a_full_sort() -> None:
    """Also over the edge of a block of rows, and of some of all rows."""
    rng = np.random.default_rng(0)
    many = word_neighbours._ROWS + 50  # over the edge of a block
    vectors = rng.normal(size=(many + 100, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = rng.choice(len(vectors), many, replace=False)

    found = Embedding({}, (), vectors).nearest(rows, 5)

    alike = vectors[rows] @ vectors[rows].T
    np.fill_diagonal(alike, np.inf)
    assert (found == np.argsort(-alike, axis=1)[:, :5]).mean() > 0.999  # rounding of a product
    assert (found[:, 0] == np.arange(many)).all()
