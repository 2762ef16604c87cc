"""Agreement with Elo ratings: errors and weights by hand, the ceiling by simulation, the ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.elo_agreement import (
    UNIT,
    Item,
    agreement_with_people,
    kendall,
    standard_errors,
    weighted,
)
from rmaudit.verdicts.records import Estimate

RNG = np.random.default_rng


def items(n: int = 400, seed: int = 0, **columns: Any) -> pd.DataFrame:
    """Items with ratings, matches and rewards that follow the ratings somewhat."""
    elo, noise = RNG(seed).normal(size=(2, n))
    frame = pd.DataFrame(
        {
            "name": [f"item {i}" for i in range(n)],
            "elo": 1200 + 100 * elo,
            "matches": RNG(seed + 1).integers(6, 900, size=n),
            "score": elo + noise,
            "shown": True,
        }
    )
    return frame.assign(**columns)


def measure(frame: pd.DataFrame, **settings: Any) -> Estimate:
    """The estimate with a fixed generator."""
    return agreement_with_people(frame, rng=RNG(9), **settings)


# Standard errors and weights


def test_the_error_of_a_rating_by_hand() -> None:
    """Among equals p(1 - p) is 1/4: 16 matches leave 400 / ln 10 / √(16 / 4) points."""
    errors = standard_errors(np.full(40, 1200.0), np.array([16.0] * 20 + [64.0] * 20))

    assert errors[0] == pytest.approx(400 / math.log(10) / 2)
    assert errors[-1] == pytest.approx(400 / math.log(10) / 4)


def test_one_sided_matches_tell_less() -> None:
    """Half of the opponents 800 points above: their p(1 - p) is 100/101², so the mean is 0.13."""
    elo = np.repeat([800.0, 1600.0], 20)

    errors = standard_errors(elo, np.full(40, 16.0))

    mean = (0.25 + 100 / 101**2) / 2
    assert errors == pytest.approx(np.full(40, 400 / math.log(10) / math.sqrt(16 * mean)), rel=0.03)


def test_the_error_is_that_of_fitted_ratings() -> None:
    """Maximum likelihood over drawn matches varies as the formula says (within a tenth)."""
    # One item of rating 1300 against opponents at 1200 of known rating; 200 drawn tournaments.
    matches, true, opponent = 400, 1300.0, 1200.0
    p = 1 / (1 + 10 ** ((opponent - true) / 400))
    wins = RNG(0).binomial(matches, p, size=4000) / matches
    fitted = opponent + 400 * np.log10(wins / (1 - wins))
    elo = np.full(101, opponent)
    elo[0] = true

    (error, *_) = standard_errors(elo, np.full(101, float(matches)))

    assert error == pytest.approx(float(fitted.std()), rel=0.1)


def test_no_match_is_no_rating() -> None:
    """What was never compared has no error, and is refused."""
    with pytest.raises(MeasureError) as caught:
        standard_errors(np.arange(3.0), np.array([4.0, 0.0, 2.0]))

    expected = "a rating needs at least 1 match, found 0; leave out what was never compared"
    assert str(caught.value) == expected


def test_weighted_tau_by_hand() -> None:
    """Three items; the pair that the scores have wrong is hardly known, so it hardly counts."""
    # Their differences 1, 6 and 5 have the errors √(3² + 4²) = 5, 3 and 4.
    elo, errors = np.array([0.0, 1.0, 6.0]), np.array([3.0, 4.0, 0.0])
    e = 2 * stats.norm.cdf([1 / 5, 6 / 3, 5 / 4]) - 1  # pairs 01, 02, 12

    tau, ceiling = weighted(np.array([1.0, 0.0, 2.0]), elo, errors, RNG(0))

    assert ceiling == pytest.approx(e.mean())
    assert tau == pytest.approx((-e[0] + e[1] + e[2]) / e.sum())


@pytest.mark.parametrize("n", [2, 7, 8, 60])
def test_weighted_tau_is_that_of_all_pairs(n: int) -> None:
    """Every pair once, also where half a turn meets each twice; tied scores as in tau-b."""
    scores = RNG(n).integers(5, size=n).astype(float)
    scores[:2] = 0, 1  # not all equal
    elo, errors = RNG(n + 1).normal(size=n), RNG(n + 2).uniform(0.1, 1, size=n)
    i, j = np.triu_indices(n, 1)
    e = 2 * stats.norm.cdf((elo[i] - elo[j]) / np.hypot(errors[i], errors[j])) - 1
    sign = np.sign(scores[i] - scores[j])
    expected = (sign * e).sum() / math.sqrt(abs(e).sum() * abs(e)[sign != 0].sum())

    tau, ceiling = weighted(scores, elo, errors, RNG(0))

    assert (tau, ceiling) == pytest.approx((expected, abs(e).mean()))


def test_many_items_are_paired_with_some() -> None:
    """An incomplete U-statistic is close to the complete one."""
    frame = items(3000)
    scores, elo = frame["score"].to_numpy(), frame["elo"].to_numpy()
    tiny = np.full(3000, 1e-6)  # the order of every pair is known: tau-a, and a ceiling of 1

    tau, ceiling = weighted(scores, elo, tiny, RNG(0))

    assert ceiling == pytest.approx(1)
    assert tau == pytest.approx(stats.kendalltau(scores, elo).statistic, abs=0.003)


def test_the_ceiling_is_that_of_people_asked_again() -> None:
    """The tau of ratings with ratings redrawn by their errors."""
    frame = items(500)
    elo = frame["elo"].to_numpy()
    errors = standard_errors(elo, frame["matches"].to_numpy(float))
    again = [stats.kendalltau(elo, elo + errors * RNG(i).normal(size=500))[0] for i in range(40)]

    ceiling = measure(frame).secondary["ceiling of tau"]

    assert 0.7 < ceiling < 0.97  # worth the name
    assert ceiling == pytest.approx(float(np.mean(again)), abs=0.005)


def test_evidence_decides_what_counts() -> None:
    """Items that the scores have wrong and people hardly compared lower the plain tau more."""
    frame = items()
    wrong = frame.index < 100
    frame.loc[wrong, "score"] *= -1
    frame["matches"] = np.where(wrong, 6, 3000)

    secondary = measure(frame).secondary

    assert secondary["tau weighted by evidence"] > measure(frame).value + 0.02


# The estimate


def test_the_estimate_is_kendalls() -> None:
    """Value and interval are those of `agreement.kendall`; unscored items are left out."""
    frame = items()
    frame.loc[3, "score"] = math.nan

    estimate, plain = measure(frame), kendall(frame["score"], frame["elo"])

    assert estimate.unit == UNIT
    assert estimate.n == 399
    assert estimate.value == plain.value
    assert (estimate.low, estimate.high) == pytest.approx((plain.low, plain.high))


def test_the_ends_are_those_of_peoples_ranking() -> None:
    """Scores that follow people among the better half only have tau 1 there and about 0 below."""
    elo = np.arange(400.0)
    scores = np.where(elo >= 200, elo, RNG(0).permutation(400) - 1000)

    secondary = measure(items(elo=elo, score=scores)).secondary

    assert secondary["tau, upper half"] == pytest.approx(1)
    assert secondary["tau, 100 best liked"] == pytest.approx(1)
    assert abs(secondary["tau, lower half"]) < 0.15
    assert abs(secondary["tau, 100 least liked"]) < 0.2


def test_ends_that_are_not_there_are_left_out() -> None:
    """Of 100 items no 100 are an end; of 50 no half has thirty; equal scores have no tau."""
    names = {"tau, upper half", "tau, lower half", "tau, 100 best liked", "tau, 100 least liked"}

    assert names & set(measure(items(100)).secondary) == {"tau, upper half", "tau, lower half"}
    assert not names & set(measure(items(50)).secondary)
    flat = items(100)
    flat.loc[flat["elo"] < flat["elo"].median(), "score"] = -9.0
    assert names & set(measure(flat).secondary) == {"tau, upper half"}


def test_evidence_names_the_furthest() -> None:
    """Ranks from 1, best first; the furthest first; unprintable names are counted, not shown."""
    n = 60
    score = np.arange(n, 0.0, -1)
    score[0], score[59], score[1], score[58] = -1, 99, -2, 98  # 0, 1 are too low, 58, 59 too high
    shown = np.ones(n, dtype=bool)
    shown[1] = False
    frame = items(n, elo=np.arange(n, 0.0, -1), score=score, shown=shown)

    evidence = measure(frame, also=["item 5", "item 99"]).evidence

    assert evidence.overvalued[0] == Item("item 59", human=60, model=1)
    assert evidence.undervalued[0] == Item("item 0", human=1, model=59)
    assert "item 1" not in [item.name for item in evidence.undervalued]
    assert evidence.unshown == 1
    assert evidence.also == (Item("item 5", human=6, model=6),)
    assert np.array(evidence.cells).sum() == n
    assert np.array(evidence.cells)[0, -1] == 2  # the best three by people: two are last


@settings(max_examples=20, deadline=None)
@given(slope=st.floats(0.01, 100), shift=st.floats(-50, 50), seed=st.integers(0, 99))
def test_units_and_order_do_not_matter(slope: float, shift: float, seed: int) -> None:
    """Rewards in other units, and items in another order, give the same numbers."""
    frame = items(120)
    other = frame.assign(score=slope * frame["score"] + shift).sample(frac=1, random_state=seed)

    estimate, again = measure(frame), measure(other)

    assert again.value == pytest.approx(estimate.value)
    assert again.secondary == pytest.approx(estimate.secondary)
    assert again.evidence == estimate.evidence


def test_turning_the_scores_round_turns_the_numbers_round() -> None:
    """Both taus change their sign; the ceiling, which no scores are in, does not move."""
    frame = items()
    one, other = measure(frame), measure(frame.assign(score=-frame["score"]))

    for name in ("tau weighted by evidence", "tau, upper half", "tau, 100 least liked"):
        assert other.secondary[name] == pytest.approx(-one.secondary[name])
    assert other.value == pytest.approx(-one.value)
    assert other.secondary["ceiling of tau"] == pytest.approx(one.secondary["ceiling of tau"])
