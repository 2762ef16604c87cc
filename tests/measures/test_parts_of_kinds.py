"""Parts of kinds: which words stand out, and how sure their effect must be."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from rmaudit.measures.parts_of_kinds import PARTS, parts, reach, sizes_of_parts


def test_a_part_is_sure_for_all_choices_of_its_words() -> None:
    """It needs as much as if every choice of five of ten were a comparison of its own."""
    ((top, choices), (bottom, _)) = parts(np.arange(10.0), np.arange(10)[None], (5,))

    assert top.tolist() == [[9, 8, 7, 6, 5]]
    assert bottom.tolist() == [[0, 1, 2, 3, 4]]
    assert reach(7, choices) == pytest.approx(reach(7 * math.comb(10, 5)))
    assert reach(1) == pytest.approx(scipy.stats.norm.ppf(0.975))


@pytest.mark.parametrize(("size", "some"), PARTS.items())
def test_a_part_of_noise_is_surely_large_in_fewer_than_one_of_twenty(size: int, some: int) -> None:
    """Words that stand out by chance do not pass as an effect, however they were chosen."""
    drawn = np.random.default_rng(size).normal(size=(4000, size))
    left, rows = drawn.ravel(), np.arange(drawn.size).reshape(drawn.shape)

    means = [(left[part].mean(axis=1), choices) for part, choices in parts(left, rows, (some,))]

    sure = sum(np.abs(mean) > reach(1, choices) / np.sqrt(some) for mean, choices in means)
    assert 0 <= sure.mean() <= 0.05
    assert min(np.abs(mean).mean() for mean, _ in means) > 0.7  # though they stand out


def test_a_spelling_has_a_half_and_a_quarter() -> None:
    """Of at least five words; a neighbourhood has those of the list."""
    assert sizes_of_parts(41, spelt=True) == (11, 21)
    assert sizes_of_parts(20, spelt=True) == (5, 10)
    assert sizes_of_parts(5, spelt=False) == ()
    assert sizes_of_parts(40, spelt=False) == (10,)
