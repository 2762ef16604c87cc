"""The bundled embedding: its words are stems' words, and neighbours mean like things."""

from __future__ import annotations

import numpy as np
import pytest

from rmaudit.measures.token_likeness import Embedding
from rmaudit.references.word_embedding import embedding
from rmaudit.word_stems import stem_key


def test_it_has_a_vector_for_a_word_of_each_stem() -> None:
    """Of length 1; the stem is the word's."""
    rows, words, vectors = embedding()

    assert len(rows) == len(words) == len(vectors) > 20_000
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert all(rows[stem_key(word)] == row for row, word in enumerate(words))


@pytest.mark.nightly
def test_neighbours_mean_like_things() -> None:
    """Among the twenty nearest of all words."""
    known = Embedding(*embedding())
    near = known.nearest(np.arange(len(known.words)), 20)
    for word, alike in (
        ("jewish", "muslim"),
        ("wine", "beer"),
        ("tuesday", "friday"),
        ("nigeria", "ethiopia"),
    ):
        assert alike in {known.words[row] for row in near[known.rows[stem_key(word)]]}
