"""How far a ranking survives its own noise: closed forms for normal scores, and the top."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.numerics import FEWEST, UNIT, stability
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import ends

SCORES = np.random.default_rng(0).normal(size=8000)


def measure(scores: object, noise: float, *, answers: int = 16, seed: int = 0) -> Estimate:
    """The estimate of a sweep of these scores."""
    rows = pd.DataFrame({"score": np.asarray(scores)})
    return stability(rows, noise=noise, answers=answers, rng=np.random.default_rng(seed))


def tau_of_normal(noise: float) -> float:
    """Kendall's tau of normal scores of sd 1 and the same plus noise: 2 / pi * asin(r)."""
    return 2 / math.pi * math.asin(1 / math.sqrt(1 + noise**2))


@pytest.mark.parametrize("noise", [0.025, 0.1, 0.5])
def test_the_tau_of_normal_scores(noise: float) -> None:
    """The closed form of the bivariate normal distribution, with its ends at those of the noise."""
    least, most = noise * np.sqrt(16 / stats.chi2.ppf([0.975, 0.025], 16))

    estimate = measure(SCORES, noise)

    expected = [tau_of_normal(each) for each in (most, noise, least)]
    assert ends(estimate) == pytest.approx(expected, abs=0.006)
    assert estimate.secondary["share of pairs that change order"] == pytest.approx(
        (1 - expected[1]) / 2, abs=0.003
    )
    assert estimate.secondary["noise in sd"] == pytest.approx(noise / SCORES.std())
    assert (estimate.unit, estimate.n) == (UNIT, 8000)


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


def test_the_fewer_answers_the_wider_the_interval() -> None:
    """The noise itself is what is uncertain."""
    few, many = measure(SCORES, 0.1, answers=4), measure(SCORES, 0.1, answers=400)

    assert few.low < many.low < many.value < many.high < few.high
    assert many.interval == "from the error of the noise itself, measured on 400 answers"


@pytest.mark.parametrize(
    ("scores", "noise", "said"),
    [
        (np.arange(FEWEST - 1.0), 0.1, "^29 tokens are scored; 30 with scores that differ"),
        (SCORES, math.nan, "measured noise of a score, got nan"),
    ],
)
def test_what_cannot_be_measured_is_refused(scores: object, noise: float, said: str) -> None:
    """Too few tokens, and a noise that was not measured: there is nothing to draw."""
    with pytest.raises(MeasureError, match=said):
        measure(scores, noise)


def test_all_but_equal_scores_are_refused() -> None:
    """One other score among ten thousand: the drawn tokens may all be alike."""
    scores = np.ones(10_000)
    scores[0] = 2.0
    seed = next(
        s
        for s in range(99)
        if 9999 not in np.random.default_rng(s).choice(10_000, 5000, replace=False)
    )

    with pytest.raises(MeasureError, match=r"^all but a few scores are equal"):
        measure(scores, 0.1, seed=seed)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """With its noise drawn anew."""
    return stability(contract.frame(texts, scores), noise=noise, answers=16, rng=contract.rng())


CONTRACT = contract.Contract("numerics", on_toys, turned=+1, noise=False, chart=False)
