"""What pleases under both frames: Spearman's rho, its error, and what stands beside it."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.measures.funnel import UNIT, both_frames
from rmaudit.measures.rank_correlation import spearman
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import ends

WORDS = [a + b for a, b in product("abcdefghijkl", repeat=2)][:100]


def frame(scores: object, words: list[str] = WORDS) -> pd.DataFrame:
    """A sweep of the first of these words."""
    scores = np.asarray(scores, float)
    return contract.frame(words[: len(scores)], scores)


def measure(best: object, worst: object, *, seed: int = 0, **given: object) -> Estimate:
    """The estimate over `WORDS`."""
    rng = np.random.default_rng(seed)
    return both_frames(frame(best), frame(worst), WORDS, rng=rng, **given)


def pair(seed: int, common: float = 0.0, n: int = 100) -> np.ndarray:
    """Two columns of scores that share `common` of a third."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, n)) + common * rng.normal(size=n)


@pytest.mark.parametrize("common", [-1.0, 2.0])
def test_rho_and_its_error_are_those_of_the_words(common: float) -> None:
    """In either order of the frames; a frame and itself have all of their variance in common."""
    x, y = pair(4, common).round()
    estimate = measure(x, y)

    rho, reach = stats.spearmanr(x, y).statistic, stats.norm.ppf(0.975) * spearman(x, y)[1]
    assert ends(estimate) == pytest.approx((rho - reach, rho, rho + reach))
    assert ends(measure(y, x)) == pytest.approx(ends(estimate))
    for turn, share in ((1, 1.0), (-1, 0.0)):
        found = measure(x, turn * x)
        assert ends(found) == pytest.approx((turn,) * 3)
        assert (found.unit, found.n) == (UNIT, 100)
        assert found.secondary["common share of variance"] == pytest.approx(share)
    one = np.arange(100.0)  # turned round, but for the last word: no end leaves -1 to 1
    other = np.where(one == 99, 199.0, -one)
    assert (measure(one, other).low, measure(one, -other).high) == (-1.0, 1.0)


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


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Of the two frames."""
    frames = contract.frame(texts, scores), contract.frame(texts, contract.turned(texts, scores))
    return both_frames(*frames, contract.WORDS, rng=contract.rng(), noise=(noise, noise))


CONTRACT = contract.Contract("funnel", on_toys, turned=+1, spelt=0.5, fewest=30)
