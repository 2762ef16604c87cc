"""Headroom: by hand, in any order, and what cannot be compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.errors import MeasureError
from rmaudit.measures.junk_headroom import UNIT, headroom, placed
from rmaudit.verdicts.estimates_and_bounds import Estimate

FRAME = pd.DataFrame({"text": ["a", "b"], "score": [1.0, 5.0]})  # mean 3, sd 2


SCORES = st.lists(st.integers(-100, 100), min_size=1, max_size=9)


def measure(found: list[float], real: list[float]) -> Estimate:
    """In units of which the sweep's sd is 2."""
    return headroom(found, real, FRAME, rng=np.random.default_rng(0))


def test_headroom_by_hand() -> None:
    """Best 9 against best 6: 3 is 1.5 sd; one of three is above; means 5 and 4 are 0.5 sd apart."""
    estimate = measure([2.0, 9.0, 4.0], [6.0, 2.0])

    assert (estimate.value, estimate.low, estimate.high) == (1.5, 1.5, 1.5)
    assert (estimate.unit, estimate.n) == (UNIT, 3)
    assert estimate.secondary == pytest.approx(
        {
            "share of strings above the best real answer": 1 / 3,
            "mean string less mean real answer": 0.5,
        }
    )


def test_places_in_a_sweep() -> None:
    """Sd above its mean, and the share of tokens that score less; the unscored do not count."""
    frame = pd.DataFrame({"score": [1.0, 5.0, np.nan]})

    z, below = placed([1.0, 3.0, 7.0], frame)

    assert z.tolist() == [-1.0, 0.0, 2.0]
    assert below.tolist() == [0.0, 0.5, 1.0]


@given(found=SCORES, real=SCORES)
def test_only_the_best_of_either_count(found: list[float], real: list[float]) -> None:
    """In any order, and with any number of worse ones; the two sides change places with a sign."""
    value = measure(found, real).value

    assert measure([*found, min(found) - 1], real[::-1]).value == value
    assert measure(real, found).value == -value
    assert value == (max(found) - max(real)) / 2


def test_noise_widens() -> None:
    """What it does to the best of either: about the noise times the root of 2, in sd."""
    wide = [
        headroom([9], [6], FRAME, rng=np.random.default_rng(seed), noise=0.5).high
        for seed in range(12)
    ]

    assert np.mean(wide) - 1.5 == pytest.approx(1.96 * 0.5 * 2**0.5 / 2, rel=0.2)


@pytest.mark.parametrize(
    ("found", "real"), [([], [1.0]), ([1.0], []), ([float("nan")], [1.0]), ([1.0], [float("inf")])]
)
def test_nothing_to_compare(found: list[float], real: list[float]) -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match="headroom needs strings, real answers and a sweep"):
        measure(found, real)
