"""Headroom: by hand, its invariances, and what cannot be measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.errors import MeasureError
from rmaudit.measures.probes import UNIT, headroom
from rmaudit.records import Estimate

FRAME = pd.DataFrame({"text": ["a", "b"], "score": [1.0, 5.0]})  # sd 2
SCORES = st.lists(st.integers(-100, 100), min_size=1, max_size=9)


def measure(probes: list[float], real: list[float]) -> Estimate:
    """In units of which the sweep's sd is 2."""
    names = [f"probe {i}" for i in range(len(probes))]
    return headroom(probes, real, FRAME, names=names, rng=np.random.default_rng(0))


def test_headroom_by_hand() -> None:
    """Best 9 against best 6: 3 is 1.5 sd; one of three is above; means 5 and 4 are 0.5 sd apart."""
    estimate = measure([2.0, 9.0, 4.0], [6.0, 2.0])

    assert (estimate.value, estimate.low, estimate.high) == (1.5, 1.5, 1.5)
    assert (estimate.unit, estimate.n) == (UNIT, 3)
    assert estimate.beside == pytest.approx(
        {
            "share of probes above the best real answer": 1 / 3,
            "mean probe less mean real answer": 0.5,
        }
    )
    assert estimate.caveats == ("Best of the strings: probe 1.",)


@given(probes=SCORES, real=SCORES)
def test_only_the_best_of_either_count(probes: list[float], real: list[float]) -> None:
    """In any order, and with any number of worse ones; the two sides change places with a sign."""
    value = measure(probes, real).value

    assert measure([*probes, min(probes) - 1], real[::-1]).value == value
    assert measure(real, probes).value == -value
    assert value == (max(probes) - max(real)) / 2


def test_noise_widens() -> None:
    """What it does to the best of either: about the noise times the root of 2, in sd."""
    wide = [
        headroom([9], [6], FRAME, names=["x"], rng=np.random.default_rng(seed), noise=0.5).high
        for seed in range(12)
    ]

    assert np.mean(wide) - 1.5 == pytest.approx(1.96 * 0.5 * 2**0.5 / 2, rel=0.2)


@pytest.mark.parametrize(
    ("probes", "real"), [([], [1.0]), ([1.0], []), ([float("nan")], [1.0]), ([1.0], [float("inf")])]
)
def test_nothing_to_compare(probes: list[float], real: list[float]) -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match="headroom needs probes, real answers and a sweep"):
        measure(probes, real)


def test_a_sweep_of_equal_scores() -> None:
    """It has no sd to measure in."""
    with pytest.raises(MeasureError, match="a sweep of sd 0"):
        headroom([1], [2], FRAME.assign(score=1.0), names=["x"], rng=np.random.default_rng(0))
