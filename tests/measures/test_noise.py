"""What noise does to an estimate: known widths, nothing where there is none, and the measures."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.measures import elo_agreement, framing_inversion, positive_skew
from rmaudit.measures._stats import NOISE, widened
from rmaudit.measures.joined import Answers
from rmaudit.verdicts.records import Estimate

LETTERS = "abcdefghij"
WORDS = [a + b + c for a in LETTERS for b in LETTERS for c in LETTERS]
RATINGS = pd.Series(np.arange(1000.0), index=WORDS, name="toy")
MEAN = Estimate(0.0, -3.0, 3.0, "points", 100, "made up", secondary={"other": 1.0})


def mean(scores: NDArray[np.float64]) -> float:
    """A value whose noise is known: that of the scores over √n."""
    return float(scores.mean())


def rng(seed: int = 0) -> np.random.Generator:
    """A generator."""
    return np.random.default_rng(seed)


def test_the_interval_is_widened_in_quadrature() -> None:
    """On either side by 1.96 sd of the values, which stands beside the estimate."""
    estimate = widened(MEAN, mean, np.zeros(100), 20.0, rng())

    sd = estimate.secondary[NOISE]
    end = math.hypot(3.0, 1.96 * sd)
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((-end, 0.0, end))
    assert estimate.secondary["other"] == 1.0
    assert estimate.interval == "made up, and numeric noise"


def test_the_sd_is_that_of_the_value() -> None:
    """Of a mean of 100 scores, a tenth of a score's; twenty draws tell it to a sixth or so."""
    found = [widened(MEAN, mean, np.zeros(100), 20.0, rng(i)).secondary[NOISE] for i in range(50)]

    assert np.mean(found) == pytest.approx(2.0, rel=0.1)


def test_the_scores_are_drawn_around() -> None:
    """Not around zero: what depends on them stays what it is."""
    seen: list[NDArray[np.float64]] = []

    def value_of(scores: NDArray[np.float64]) -> float:
        seen.append(scores)
        return mean(scores)

    estimate = widened(MEAN, value_of, np.arange(1000.0), 0.5, rng())

    assert estimate.secondary[NOISE] == np.std([mean(scores) for scores in seen], ddof=1)
    off = np.array(seen) - np.arange(1000.0)
    assert off.shape == (20, 1000)
    assert (off.mean(), off.std()) == pytest.approx((0.0, 0.5), abs=0.02)


def test_no_noise_draws_nothing() -> None:
    """The estimate is the very same one, and the generator is where it was."""
    generator = rng()

    assert widened(MEAN, mean, np.zeros(100), 0.0, generator) is MEAN
    assert generator.random() == rng().random()
    assert widened(MEAN, mean, np.zeros(100), 0.0, None) is MEAN


def test_no_end_leaves_the_range() -> None:
    """Of a correlation, for example."""
    estimate = widened(MEAN, mean, np.zeros(100), 20.0, rng(), within=(-3.5, 3.0))

    assert (estimate.low, estimate.high) == (-3.5, 3.0)


def test_noise_needs_a_generator() -> None:
    """Nothing is drawn from nowhere."""
    with pytest.raises(ValueError, match=r"^noise of up to 0\.5 needs a generator: give rng$"):
        widened(MEAN, mean, np.zeros(100), 0.5, None)


# The measures


def measure(
    name: str, noise: float, *, spellings: int = 1, n: int = 500, seed: int = 1
) -> Estimate:
    """An estimate of scores that follow their ratings."""
    drawn = rng(seed)
    scores = np.arange(n) + drawn.gamma(2, scale=n / 4, size=n)
    ratings = pd.Series(np.arange(float(n)), index=WORDS[:n], name="toy")
    frame = pd.concat(
        pd.DataFrame({"text": [" " * i + word for word in WORDS[:n]], "score": scores})
        for i in range(spellings)
    )
    if name == "skewness":
        return positive_skew.skewness(frame, rng=rng(), noise=noise)
    if name == "kendall":
        return elo_agreement.kendall(scores, np.arange(n), rng=rng(), noise=noise)
    return _inversion(frame, ratings, rng=rng(), noise=noise)


@pytest.mark.parametrize("name", ["skewness", "kendall", "frame"])
def test_noise_widens_and_changes_nothing_else(name: str) -> None:
    """The value, what stands beside it and the interval without noise are as they were."""
    quiet, noisy = measure(name, 0.0), measure(name, 300.0)

    sd = noisy.secondary[NOISE]
    assert sd > 0
    assert noisy.value == quiet.value
    assert noisy.low == pytest.approx(quiet.value - math.hypot(quiet.value - quiet.low, 1.96 * sd))
    assert noisy.high == pytest.approx(
        quiet.value + math.hypot(quiet.high - quiet.value, 1.96 * sd)
    )
    assert {**quiet.secondary, NOISE: sd} == noisy.secondary
    assert noisy.evidence == quiet.evidence


@pytest.mark.parametrize("name", ["skewness", "kendall", "frame"])
def test_the_noise_of_float32_hardly_matters(name: str) -> None:
    """A millionth of the sd moves no end by a thousandth."""
    quiet, noisy = measure(name, 0.0), measure(name, 5e-4)

    assert 0 <= noisy.secondary[NOISE] < 1e-3
    assert (noisy.low, noisy.high) == pytest.approx((quiet.low, quiet.high), abs=1e-3)


def test_spellings_average_noise_out() -> None:
    """The noise of nine spellings is a third of that of one."""
    one = np.mean([measure("frame", 100.0, seed=i).secondary[NOISE] for i in range(8)])
    nine = [measure("frame", 100.0, spellings=9, seed=i).secondary[NOISE] for i in range(8)]

    assert np.mean(nine) / one == pytest.approx(1 / 3, rel=0.35)


@pytest.mark.parametrize("name", ["skewness", "kendall", "frame"])
def test_the_same_generator_gives_the_same_interval(name: str) -> None:
    """Noise is drawn with it."""
    assert measure(name, 300.0) == measure(name, 300.0)


def test_unscored_tokens_have_no_noise() -> None:
    """They are left out as before."""
    texts = [*WORDS, *(f" {word}" for word in WORDS)]
    frame = pd.DataFrame({"text": texts, "score": np.arange(2000.0) ** 2})
    frame.loc[::3, "score"] = np.nan
    kept = frame[frame["score"].notna()]

    for made in (positive_skew.skewness, _inversion):
        assert made(frame, rng=rng(), noise=1e4) == made(kept, rng=rng(), noise=1e4)


def _inversion(
    frame: pd.DataFrame,
    ratings: pd.Series[float] = RATINGS,
    *,
    rng: np.random.Generator,
    noise: float,
) -> Estimate:
    worst = frame.assign(score=-(frame["score"] ** 2))
    answers = {"best": Answers(frame, +1, noise), "worst": Answers(worst, -1, noise)}
    return framing_inversion.inversion(answers, ratings, rng=rng)
