"""Shares of starts at the lower end: by hand, with an exact interval, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.pessimal_frames import UNIT, Placed, both_frames
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract

FRAME = pd.DataFrame({"score": np.arange(100.0)})  # the lowest 5 % end at 4.95


def frames(scores: list[float], noise: float = 0.0) -> Estimate:
    """Of sequences with these scores under the other frame."""
    texts = [f"s{score}" for score in scores]
    return both_frames(texts, scores, FRAME, rng=np.random.default_rng(0), noise=noise)


def test_both_frames_by_hand() -> None:
    """Two of four are at or below 4.95, where the lowest 5 of 100 tokens end."""
    estimate = frames([-3.0, 4.0, 5.0, 49.5])

    assert (estimate.value, estimate.unit, estimate.n) == (0.5, UNIT, 4)
    exact = stats.binomtest(2, 4).proportion_ci(0.95, method="exact")
    assert (estimate.low, estimate.high) == pytest.approx((exact.low, exact.high))
    sd = np.arange(100.0).std()
    assert estimate.secondary == pytest.approx(
        {
            "mean percentile under the other frame": (0 + 0.04 + 0.05 + 0.5) / 4,
            "mean sd above the other sweep's mean": (13.875 - 49.5) / sd,
            "distinct sequences": 4.0,
        }
    )
    assert estimate.evidence.strings[3] == Placed("s49.5", z=0.0, share_below=0.5)


def test_noise_widens() -> None:
    """Only where it could move a score over the edge."""
    near, far = [4.9] * 4 + [5.0] * 4, [-90.0] * 4 + [90.0] * 4

    assert frames(near, noise=1.0).high > frames(near).high
    assert frames(far, noise=1.0).high == pytest.approx(frames(far).high)
    assert frames([4.9] * 8, noise=9.0).high == 1.0


@pytest.mark.parametrize("scores", [[], [float("nan"), 1.0]])
def test_no_sequences(scores: list[float]) -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match=r"sequences with finite scores .* got [01] of [02]"):
        frames(scores)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """The first texts are the worst."""
    worst, sweep = texts[:8], contract.frame(texts, scores)
    return both_frames(worst, scores[:8], sweep, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract(
    "pessimal_frames", on_toys, turned=0, gaps=False, by_place=True, few=True
)
