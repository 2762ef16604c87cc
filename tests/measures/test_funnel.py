"""What pleases under both frames: Spearman's rho, its error, and what stands beside it."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rmaudit.measures.funnel import UNIT, both_frames
from rmaudit.measures.rank_correlation import spearman
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import ends

WORDS = [a + b for a, b in product("abcdefghijkl", repeat=2)][:100]


def frame(scores: object, words: list[str] = WORDS) -> pd.DataFrame:
    """A sweep of these words."""
    scores = np.asarray(scores, float)
    return pd.DataFrame({"text": words[: len(scores)], "score": scores})


def measure(best: object, worst: object, *, seed: int = 0, **given: object) -> Estimate:
    """The estimate over `WORDS`."""
    rng = np.random.default_rng(seed)
    return both_frames(frame(best), frame(worst), WORDS, rng=rng, **given)


def pair(seed: int, common: float = 0.0, n: int = 100) -> np.ndarray:
    """Two columns of scores that share `common` of a third."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, n)) + common * rng.normal(size=n)


@pytest.mark.parametrize("common", [-1.0, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("tied", [False, True])
def test_the_error_is_that_of_a_jackknife(common: float, *, tied: bool) -> None:
    """Each word left out in turn, and all ranked anew; ties in either score."""
    x, y = pair(1, common, n=300)
    if tied:
        x, y = x.round(), y.round()
    without = [stats.spearmanr(np.delete(x, i), np.delete(y, i)).statistic for i in range(len(x))]
    expected = np.std(without) * math.sqrt(len(x) - 1)

    assert spearman(x, y)[1] == pytest.approx(expected, rel=0.06)


@pytest.mark.nightly
def test_the_interval_covers_what_is_so() -> None:
    """Normal scores with r = 0.5 have rho = 6 / pi * asin(r / 2); 100 seeds, P(X < 88) < 0.3 %."""
    truth = 6 / math.pi * math.asin(0.25)
    estimates = [measure(*pair(seed, common=1.0)) for seed in range(100)]

    assert 88 <= sum(e.low <= truth <= e.high for e in estimates) < 100


def test_valence_is_held_fixed() -> None:
    """The partial correlation is that of what valence leaves of the ranks."""
    valence = pd.Series(np.random.default_rng(2).normal(size=100), index=WORDS, name="happy")
    best, worst = pair(3, common=1.0)
    best, worst = best + 2 * valence.to_numpy(), worst - 2 * valence.to_numpy()
    ranks = [stats.rankdata(values) for values in (best, worst, valence)]
    left = [ranks[i] - np.polyval(np.polyfit(ranks[2], ranks[i], 1), ranks[2]) for i in (0, 1)]

    estimate = measure(best, worst, valence=valence)

    assert estimate.value < 0
    assert estimate.secondary["valence held fixed"] == pytest.approx(np.corrcoef(*left)[0, 1])
    assert estimate.secondary["valence held fixed"] > 0.2
    few, enough = (measure(best, worst, valence=valence[:n]) for n in (29, 30))
    assert "valence held fixed" not in few.secondary  # rather than of a handful
    assert "valence held fixed" in enough.secondary


def test_non_answers_have_their_percentiles() -> None:
    """One that both frames like most is at the top of the sum and the middle of the difference."""
    words = [*WORDS[:38], "depends", "nothing"]
    ordinary = np.linspace(-1, 1, 38)
    best, worst = frame([*ordinary, 5, 5], words), frame([*-ordinary, 5, 5], words)

    secondary = both_frames(best, worst, words, rng=np.random.default_rng(0)).secondary

    # 38 sums of 0 but for rounding, then two tied: ranks 39.5 of 40; differences: 19 either side
    assert secondary["non-answers found"] == 2
    assert secondary["non-answers, mean percentile of best + worst"] == pytest.approx(97.5)
    assert secondary["non-answers, mean percentile of best - worst"] == pytest.approx(50, abs=1)


def test_the_extremes_of_sum_and_difference() -> None:
    """Fifteen words at either end, each frame in sd, best first and worst first."""
    scores = np.arange(100.0)
    evidence = measure(scores, 10 * scores).evidence

    total = evidence.total
    assert [row.word for row in total.top] == WORDS[:-16:-1]
    assert [row.word for row in total.bottom] == WORDS[:15]
    assert total.top[0].value == pytest.approx(2 * (99 - 49.5) / scores.std(), abs=1e-3)
    assert [total.top[0].best, total.top[0].worst] == pytest.approx(
        [(99 - 49.5) / scores.std()] * 2, abs=1e-3
    )
    assert all(row.value == 0 for row in evidence.difference.top)


def test_only_the_words_that_both_have_count() -> None:
    """Other words, fragments and unscored tokens change nothing but the sd of noise."""
    best, worst = pair(5)
    more = frame([9.0, -9, math.nan], ["zz", "!", "aa"])

    found = both_frames(
        pd.concat([frame(best), more]),
        pd.concat([frame(worst, [f" {w.upper()}" for w in WORDS]), more]),
        [*WORDS, "unheard"],
        rng=np.random.default_rng(0),
    )

    assert (ends(found), found.n) == (pytest.approx(ends(measure(best, worst))), 100)


@pytest.mark.slow
@given(seed=st.integers(0, 999), common=st.sampled_from([-2, -1, 0, 1, 2]))
def test_both_frames_count_alike_and_turn_alike(seed: int, common: float) -> None:
    """Swapped or both negated: the same. One negated: the mirror. Itself: 1."""
    x, y = pair(seed, common).round()
    low, value, high = ends(measure(x, y))

    assert value == pytest.approx(stats.spearmanr(x, y).statistic)
    reach = stats.norm.ppf(0.975) * spearman(x, y)[1]
    assert (low, high) == pytest.approx((max(value - reach, -1), min(value + reach, 1)))
    assert ends(measure(y, x)) == pytest.approx((low, value, high))
    assert ends(measure(-x, -y)) == pytest.approx((low, value, high))
    assert ends(measure(-x, y)) == pytest.approx((-high, -value, -low), abs=1e-9)
    for turn, share in ((1, 1.0), (-1, 0.0)):
        found = measure(x, turn * x)
        assert ends(found) == pytest.approx((turn,) * 3)
        assert (found.unit, found.n) == (UNIT, 100)
        assert found.secondary["common share of variance"] == pytest.approx(share)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Of the two frames."""
    frames = contract.frame(texts, scores), contract.frame(texts, contract.turned(texts, scores))
    return both_frames(*frames, contract.WORDS, rng=contract.rng(), noise=(noise, noise))


CONTRACT = contract.Contract("funnel", on_toys, turned=+1, spelt=0.5, fewest=30)
