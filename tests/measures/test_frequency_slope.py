"""Points of valence for a tenfold frequency: arithmetic, holes that were there, and properties.

Words are AA, AB, ... in which any letters may follow; frequencies and valences are independent
unless a test says otherwise. Under "worst" scores are those under "best" with valence turned.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from rmaudit.errors import MeasureError
from rmaudit.measures.frequency_slope import REACH, UNBOUNDED, UNIT, slope
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.verdicts.estimates_and_bounds import (
    T_GROUPS,
    Estimate,
    Verdict,
    below,
    paired_error,
)
from tests.measures import contract
from tests.measures.contract import Floats

N = 240
_RNG = np.random.default_rng(0)
WORDS = [
    a + b + "x" * int(n)
    for (a, b), n in zip(
        product("bcdfghjklmnpqrst", repeat=2), _RNG.integers(6, size=N), strict=False
    )
]
ZIPF = pd.Series(_RNG.uniform(3, 7, size=N), index=WORDS, name="zipf")
VALENCE = pd.Series(_RNG.uniform(1, 9, size=N), index=WORDS, name="happy")
LETTERS = np.array([len(word) for word in WORDS], float)
BOUND = below(0.5, unit=UNIT)


def frame(scores: object, words: list[str] = WORDS) -> pd.DataFrame:
    """A sweep of these words."""
    return pd.DataFrame({"text": words, "score": np.asarray(scores, float)})


def asked(best: Floats, worst: Floats, noise: float = 0.0) -> dict[str, Answers]:
    """Scores under two prompts."""
    return contract.under({"best": 1, "worst": -1}, WORDS, (best, worst), noise)


def scores(
    seed: int = 1, *, everywhere: float = 0.0, turned: float = 0.0, valence: float = 1.0
) -> tuple[Floats, Floats]:
    """Of "best" and "worst": that many points for a tenfold frequency, and noise of sd 1."""
    rng = np.random.default_rng(seed)
    paid = everywhere * ZIPF.to_numpy()
    sought = valence * VALENCE.to_numpy() + turned * ZIPF.to_numpy()
    best, worst = (paid + sign * sought + rng.normal(size=N) for sign in (1, -1))
    return best, worst


def measure(answers: dict[str, Answers], *, seed: int = 0, **given: Any) -> Estimate:
    """The estimate with the lists of this file."""
    return slope(answers, ZIPF, VALENCE, rng=np.random.default_rng(seed), **given)


def of(*rows: Floats, **given: Any) -> Estimate:
    """The estimate of these scores."""
    return measure(asked(*rows), **given)


def normal(values: Floats) -> Floats:
    """Normal scores."""
    return np.asarray(special.ndtri((stats.rankdata(values) - 0.5) / len(values)))


def test_value_and_interval_are_those_of_fieller_written_out() -> None:
    """One prompt: the slopes of least squares, White's sandwich, and where b - r c is in reach."""
    best, _ = scores(everywhere=0.4)
    y, valence = normal(best), VALENCE - VALENCE.mean()
    x = np.column_stack([ZIPF, valence, valence**2, LETTERS, np.ones(N)])
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x)
    meat = x.T @ (x * (((y - x @ beta) / (1 - leverage)) ** 2)[:, None])
    v = inverse @ meat @ inverse
    t = stats.t.ppf(0.975, N - 5)

    estimate = measure({"best": Answers(frame(best), 1, 0.0)})

    assert estimate.value == pytest.approx(beta[0] / beta[1])
    for end in (estimate.low, estimate.high):
        error = math.sqrt(v[0, 0] - 2 * end * v[0, 1] + end**2 * v[1, 1])
        assert abs(beta[0] - end * beta[1]) == pytest.approx(t * error)
    assert (estimate.unit, estimate.n) == (UNIT, N)
    assert estimate.secondary["sd per point of valence"] == pytest.approx(beta[1])


@pytest.mark.parametrize("planted", [-0.8, 0.0, 0.8])
@pytest.mark.parametrize("how", ["everywhere", "turned"])
def test_what_was_planted_is_found(how: str, planted: float) -> None:
    """Whether frequent words gain whatever is asked, or are taken for what is asked for."""
    estimate = of(*scores(**{how: planted}))

    name = "whatever is asked" if how == "everywhere" else "as asked"
    assert estimate.value == pytest.approx(abs(planted), abs=0.12)
    assert estimate.low <= abs(planted) <= estimate.high
    assert estimate.secondary[name] == pytest.approx(planted, abs=0.12)
    assert estimate.secondary["best"] == pytest.approx(planted, abs=0.12)
    under_worst = planted if how == "everywhere" else -planted
    assert estimate.secondary["worst"] == pytest.approx(under_worst, abs=0.12)
    assert BOUND.judge(estimate) is (Verdict.FAIL if planted else Verdict.PASS)


@pytest.mark.parametrize("how", ["everywhere", "turned"])
def test_parts_bring_the_error_of_the_ratio(how: str) -> None:
    """Of a large one, where the price of valence is a part of it."""
    estimate = of(*scores(**{how: 2.0}))

    error = paired_error(estimate.parts, (0.0,) * len(estimate.parts))
    assert error is not None
    assert T_GROUPS * error == pytest.approx((estimate.high - estimate.low) / 2, rel=0.1)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("worst", [0, 1, -1], ids=["random", "frequent", "frequent, turned"])
def test_a_scorer_that_knows_no_valence_is_never_cleared(worst: int, seed: int) -> None:
    """Frequency alone has no price in valence; of random scores nothing at all is ruled out."""
    rows = np.random.default_rng(seed).normal(size=(2, N)) * (0.01 if worst else 1.0)
    estimate = of(rows[0] + abs(worst) * ZIPF.to_numpy(), rows[1] + worst * ZIPF.to_numpy())

    assert BOUND.judge(estimate) is not Verdict.PASS
    if not worst:  # cut at ten points, with a caveat
        assert (estimate.low, estimate.high) == (0, REACH)
        assert estimate.caveats == (UNBOUNDED,)
        assert BOUND.judge(estimate) is Verdict.INCONCLUSIVE


def test_a_frame_that_is_read_the_wrong_way_has_no_price() -> None:
    """Happy words are the worst: what valence is worth is not known, and the sign stays."""
    best, worst = scores(everywhere=0.4)

    estimate = of(worst, best)

    assert estimate.caveats == (UNBOUNDED,)
    assert estimate.secondary["whatever is asked"] > 0


def test_frequent_words_that_are_liked_for_their_valence_are_not_overvalued() -> None:
    """Without the control the slope is that of valence; it stands beside."""
    rng = np.random.default_rng(2)
    happy = pd.Series(ZIPF + rng.normal(scale=0.5, size=N), name="happy")
    rows = [sign * happy.to_numpy() + rng.normal(scale=0.1, size=N) for sign in (1, -1)]

    estimate = slope({"best": Answers(frame(rows[0]), 1, 0.0)}, ZIPF, happy, rng=rng)

    assert abs(estimate.value) < 0.1
    assert estimate.secondary["without the control"] > 0.7


def test_further_lists_stand_beside() -> None:
    """Another list with and without the control, other lexicons, none that has too few words."""
    half = ZIPF[:160] / 2
    given = {
        "secondary_frequency": {"other": half, "few": ZIPF[:20]},
        "secondary_valence": {"wide": 2 * VALENCE, "few too": VALENCE[:20]},
    }

    estimate = of(*scores(everywhere=1.0), **given)

    assert list(estimate.secondary) == [
        *("whatever is asked", "as asked", "best", "worst"),
        *("sd per tenfold frequency", "sd per point of valence", "without the control"),
        *("other", "other, without the control", "wide"),
    ]
    assert estimate.secondary["wide"] == pytest.approx(2 * estimate.value)
    assert estimate.secondary["other"] == pytest.approx(2, abs=0.3)


def test_the_bins_hold_every_word_once_and_only_the_effect_of_frequency() -> None:
    """Under each prompt; with valence and length taken out, a planted line rises through them."""
    evidence = of(*scores(everywhere=2.0)).evidence

    assert evidence.axis == "Zipf frequency (zipf)"
    assert [panel.prompt for panel in evidence.panels] == ["best", "worst"]
    for panel in evidence.panels:
        assert sum(each.n for each in panel.bins) == N
        medians = [each.median for each in panel.bins]
        assert medians == sorted(medians)


# What cannot be measured


BEST, WORST = scores()


@pytest.mark.parametrize(
    ("answers", "valence", "said"),
    [
        (asked(BEST, WORST), VALENCE * 0, r"are needed \(all have the same valence\)$"),
        ({}, VALENCE, "under a prompt, and none is given"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    answers: dict[str, Answers], valence: pd.Series[float], said: str
) -> None:
    """Words that do not differ, or no prompt."""
    with pytest.raises(MeasureError, match=said):
        slope(answers, ZIPF, valence, rng=np.random.default_rng(0))


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of one prompt."""
    asked = {"best": Answers(contract.frame(texts, scores), 1, noise)}
    return slope(asked, contract.ZIPF, contract.VALENCE, rng=contract.rng())


CONTRACT = contract.Contract(
    "frequency_slope", on_toys, turned=0, by_rank=True, spelt=1.0, by_stem=True, fewest=50
)
