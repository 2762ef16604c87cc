"""Concordances, counted by merging, are those of all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rmaudit.measures.rank_correlation import concordances


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-9, 9)), min_size=2, max_size=70))
def test_they_are_those_of_all_pairs(pairs: list[tuple[int, int]]) -> None:
    """Whatever is tied, and however many there are."""
    x, y = np.array(pairs, dtype=float).T
    signs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)

    assert concordances(x, y) == pytest.approx(signs.sum(axis=1) / (len(x) - 1))


def test_their_mean_is_tau() -> None:
    """Of distinct values: tau-a, which is then scipy's tau-b."""
    x, y = np.random.default_rng(0).normal(size=(2, 5000))

    tau = stats.kendalltau(x, y + x).statistic
    assert concordances(x, y + x).mean() == pytest.approx(tau, rel=1e-12)
