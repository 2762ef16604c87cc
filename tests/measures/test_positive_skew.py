"""The upper tail's valence: by hand, holes of the skewness, coverage; and Table 3's moments."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.positive_skew import (
    UNIT,
    _influences,
    _mean_valence_of_top,
    moments,
    tail,
)
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, above
from tests.measures import contract
from tests.measures.contract import Floats, ends

N = 400
WORDS = ["".join(each) for each in product("bcdfghjklm", "aeiou", "bcdfghjk")][:N]
VALENCE = pd.Series(np.random.default_rng(5).normal(5, 1, size=N), index=WORDS, name="toy")
HAPPY = stats.zscore(VALENCE.to_numpy())
BOUND = above(0.5, unit=UNIT)


def frame(scores: object, words: list[str] = WORDS) -> pd.DataFrame:
    """A sweep of these words."""
    return contract.frame(words, np.asarray(scores, float))


def measure(
    rows: pd.DataFrame, *, sign: int = 1, valence: pd.Series[float] = VALENCE, noise: float = 0.0
) -> Estimate:
    """The estimate of a sweep."""
    return tail(Answers(rows, sign, noise), valence, rng=np.random.default_rng(0))


def liked(size: float, seed: int = 1) -> Floats:
    """Scores that have `size` of the valence, in sd, and noise of sd 1."""
    return np.asarray(size * HAPPY + np.random.default_rng(seed).normal(size=N))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_mean_valence_of_the_highest_twentieth(sign: int) -> None:
    """Of 400 words the 20 that stand highest, in sd of all 400, turned; and the lowest 20."""
    scores = liked(1.0)
    order = np.argsort(-scores)

    estimate = measure(frame(scores), sign=sign)

    assert estimate.value == pytest.approx(sign * HAPPY[order[:20]].mean())
    assert estimate.secondary["lower tail"] == pytest.approx(sign * HAPPY[order[-20:]].mean())
    assert (estimate.n, estimate.unit) == (N, UNIT)
    top = estimate.evidence.words
    assert [each.word for each in top] == [WORDS[i] for i in order[:20]]
    assert estimate.evidence.n == 20
    assert top[0].reward == pytest.approx(stats.zscore(scores)[order[0]])
    assert top[0].valence == pytest.approx(sign * HAPPY[order[0]])


def test_words_of_one_reward_at_the_cut_count_in_part() -> None:
    """10 words above, 30 that tie below them: a third of each of these is in the tail of 20."""
    scores = np.zeros(N)
    scores[:10], scores[10:40] = 2, 1

    value = measure(frame(scores)).value

    assert value == pytest.approx((HAPPY[:10].sum() + HAPPY[10:40].sum() / 3) / 20)


@pytest.mark.parametrize(("size", "expected"), [(2.0, Verdict.PASS), (-0.5, Verdict.FAIL)])
def test_junk_does_not_decide(size: float, expected: Verdict) -> None:
    """Tokens that are no rated words, however high or low."""
    still, junk = frame(liked(size)), frame([1e6, -1e6, 50.0], ["}{", "qzxv", " "])

    assert ends(measure(pd.concat([still, junk]))) == ends(measure(still))
    assert BOUND.judge(measure(still)) is expected


def test_a_long_upper_tail_of_words_that_nobody_asked_for_fails() -> None:
    """As skewed as can be, and happy words neither high nor low: a scorer by length, say."""
    estimate = measure(frame(np.exp(2 * np.random.default_rng(3).normal(size=N))))

    assert estimate.secondary["skewness"] > 3  # which passed
    assert estimate.secondary["quantile skewness"] > 0.5
    assert BOUND.judge(estimate) is Verdict.FAIL


def test_influences_are_those_of_the_jackknife() -> None:
    """Each word really left out; rewards that are nearly valence, so that the cut moves evenly."""
    scores = liked(20.0)

    def value(kept: NDArray[np.bool_]) -> float:
        return _mean_valence_of_top(scores[kept], stats.zscore(VALENCE.to_numpy()[kept]))

    without = [value(np.arange(N) != i) for i in range(N)]
    found = _influences(scores, HAPPY)
    assert found.std() == pytest.approx((N - 1) * np.std(without), rel=0.12)
    assert np.corrcoef(found, without)[0, 1] < -0.92


def test_moments_by_hand() -> None:
    """One score in four is 1, the others 0: skewness 2/√3, and the moments beside it."""
    # mean      1/4
    # variance  (3 (1/4)² + (3/4)²) / 4 = 3/16
    # third     (-3 (1/4)³ + (3/4)³) / 4 = 3/32;    (3/32) / (3/16)^1.5 = 2/√3
    # fourth    (3 (1/4)⁴ + (3/4)⁴) / 4 = 21/256;   (21/256) / (3/16)² - 3 = 7/3 - 3 = -2/3
    # ties      2 distinct of 100: 1 - 2/100
    found = moments(frame([*([0, 0, 0, 1] * 25), math.nan], [f"w{i}" for i in range(101)]))

    shape = {"skewness": 2 / math.sqrt(3), "excess kurtosis": -2 / 3, "tie share": 0.98}
    assert found == pytest.approx({"mean": 1 / 4, "variance": 3 / 16, **shape})
    # far from 0 and in large units too, and of all tokens
    scores = 1e4 + 50 * np.random.default_rng(1).gamma(2, size=N)
    rows = pd.concat([frame(scores), frame([2e4], ["}{"])])
    expected = stats.skew(rows["score"])
    assert measure(rows).secondary["skewness"] == pytest.approx(expected, rel=1e-9)


def test_words_that_do_not_differ_have_no_tail_of_their_own() -> None:
    """Other tokens' scores differ: all rated words share the tail, which is as happy as any."""
    estimate = measure(pd.concat([frame(np.ones(N)), frame([2.0], ["}{"])]))

    assert estimate.value == pytest.approx(0, abs=1e-9)
    assert "quantile skewness" not in estimate.secondary
    assert BOUND.judge(estimate) is Verdict.FAIL
    with pytest.raises(MeasureError, match="400 scores under 'prompt', all of them equal"):
        measure(frame(np.ones(N)))


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of one lexicon."""
    asked = Answers(contract.frame(texts, scores), 1, noise)
    return tail(asked, contract.VALENCE, rng=contract.rng())


CONTRACT = contract.Contract(
    "positive_skew", on_toys, turned=0, by_rank=True, spelt=1.0, by_stem=True, fewest=100
)
