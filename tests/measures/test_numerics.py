"""How far a ranking survives its own noise: closed forms for normal scores, and the top."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.numerics import UNIT, stability
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import ends

SCORES = np.random.default_rng(0).normal(size=8000)
UNLUCKY = next(  # a generator that draws the other 9,999 of 10,000 tokens only
    seed
    for seed in range(99)
    if 9999 not in np.random.default_rng(seed).choice(10_000, 5000, replace=False)
)


def measure(scores: object, noise: float, *, answers: int = 16, seed: int = 0) -> Estimate:
    """The estimate of a sweep of these scores."""
    rows = pd.DataFrame({"score": np.asarray(scores)})
    return stability(rows, noise=noise, answers=answers, rng=np.random.default_rng(seed))


def tau_of_normal(noise: float) -> float:
    """Kendall's tau of normal scores of sd 1 and the same plus noise: 2 / pi * asin(r)."""
    return 2 / math.pi * math.asin(1 / math.sqrt(1 + noise**2))


@pytest.mark.parametrize(("noise", "answers"), [(0.025, 16), (0.1, 4), (0.5, 400)])
def test_the_tau_of_normal_scores(noise: float, answers: int) -> None:
    """The closed form of the bivariate normal distribution, with its ends at those of the noise."""
    least, most = noise * np.sqrt(answers / stats.chi2.ppf([0.975, 0.025], answers))

    estimate = measure(SCORES, noise, answers=answers)

    expected = [tau_of_normal(each) for each in (most, noise, least)]
    assert ends(estimate) == pytest.approx(expected, abs=0.006)
    assert estimate.secondary["share of pairs that change order"] == pytest.approx(
        (1 - expected[1]) / 2, abs=0.003
    )
    assert estimate.secondary["noise in sd"] == pytest.approx(noise / SCORES.std())
    assert (estimate.unit, estimate.n) == (UNIT, 8000)
    assert estimate.interval.endswith(f"of the noise itself, measured on {answers} answers")


def test_without_noise_nothing_changes() -> None:
    """Tau-b of a ranking with itself is 1, ties or not."""
    estimate = measure(SCORES.round(1), 0.0)

    assert ends(estimate) == pytest.approx((1, 1, 1))
    assert estimate.secondary["share of the top 100 that stays"] == 1


def test_ties_are_counted() -> None:
    """Four scores of which two are alike, a thousand times: three distinct among 4,000."""
    estimate = measure(np.tile([0.0, 1.0, 1.0, 2.0], 1000), 1e-6)

    assert estimate.secondary["distinct scores"] == 3
    assert estimate.secondary["tie share"] == pytest.approx(1 - 3 / 4000)
    # of 16 pairs of values 6 are ties: what breaks them lowers tau-b, but changes no order
    assert estimate.value == pytest.approx(math.sqrt(10 / 16), abs=0.01)
    assert estimate.secondary["share of pairs that change order"] == pytest.approx(0, abs=1e-3)


def test_a_top_that_stands_apart_stays_and_one_that_is_noise_goes() -> None:
    """Ten sds above the rest; where noise is all there is, a tenth of 1,000 stays by chance."""
    apart = np.concatenate([np.linspace(0, 1, 900), 2 + np.linspace(0, 0.01, 100)])
    stays, goes = (
        measure(scores, noise).secondary["share of the top 100 that stays"]
        for scores, noise in ((apart, 0.1), (np.linspace(0, 1e-3, 1000), 1.0))
    )

    assert stays == 1
    assert goes == pytest.approx(0.1, abs=0.04)


@pytest.mark.parametrize(
    ("scores", "noise", "seed", "said"),
    [
        (SCORES, math.nan, 0, "measured noise of a score, got nan"),
        (np.r_[2.0, np.ones(9999)], 0.1, UNLUCKY, "^all but a few scores are equal"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    scores: object, noise: float, seed: int, said: str
) -> None:
    """A noise that was not measured, and drawn tokens that are all alike."""
    with pytest.raises(MeasureError, match=said):
        measure(scores, noise, seed=seed)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """With its noise drawn anew."""
    return stability(contract.frame(texts, scores), noise=noise, answers=16, rng=contract.rng())


CONTRACT = contract.Contract("numerics", on_toys, turned=+1, noise=False, chart=False, fewest=30)
