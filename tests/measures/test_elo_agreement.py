"""Agreement with ratings: by hand, beyond the surface, coverage, the ends, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict

from rmaudit.errors import MeasureError
from rmaudit.measures.elo_agreement import (
    UNIT,
    ItemScores,
    agreement_with_people,
    head_words,
    somers,
)
from rmaudit.measures.elo_agreement_evidence import Item
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import ends

RNG = np.random.default_rng


def items(n: int = 400, seed: int = 0, **columns: Any) -> pd.DataFrame:
    """Items with ratings and rewards that follow the ratings somewhat."""
    elo, noise = RNG(seed).normal(size=(2, n))
    frame = pd.DataFrame(
        {
            "name": [f"{i} item{i}" for i in range(n)],
            "elo": 1200 + 100 * elo,
            "score": elo + noise,
            "shown": True,
        }
    )
    return frame.assign(**columns)


def measure(frame: pd.DataFrame, surface: pd.DataFrame | None = None, **settings: Any) -> Estimate:
    """The estimate under one wording, with a fixed generator; of names that all look the same."""
    seen = pd.DataFrame(index=frame.index) if surface is None else surface
    return agreement_with_people(
        frame, {"greatest": ItemScores(frame["score"])}, seen, rng=RNG(9), **settings
    )


def looks(n: int = 3000) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Names whose look people follow, bent and in steps; items they rate by it, and by more."""
    seen = RNG(5).normal(size=(n, 2))
    seen[:, 1] = np.round(2 * seen[:, 1])
    looked = np.abs(seen[:, 0]) - 0.3 * seen[:, 1]
    frame = items(n)
    frame["elo"] = 1200 + 100 * (looked + RNG(6).normal(size=n))
    return pd.DataFrame(seen, columns=["zipf", "words"]), frame


def boosted(seen: pd.DataFrame, frame: pd.DataFrame) -> NDArray[np.float64]:
    """What gradient boosting knows of the ratings by the names' look, from other items."""
    learner = HistGradientBoostingRegressor(random_state=0, max_iter=60, early_stopping=False)
    folds = KFold(10, shuffle=True, random_state=0)
    return np.asarray(cross_val_predict(learner, seen.to_numpy(), frame["elo"], cv=folds))


@pytest.mark.slow
def test_raw_and_beyond_the_surface_a_scorer_must_agree() -> None:
    """Boosted trees: high if taken raw, nothing beyond; a scorer that knows more has it.

    Knowledge of the things, and what the trees like last: the raw agreement decides.
    """
    seen, frame = looks()
    trees, more = boosted(seen, frame), 100 * RNG(7).normal(size=len(frame))
    found = [
        measure(frame.assign(score=scores), seen)
        for scores in (trees, frame["elo"] + more, frame["elo"] - 2 * trees)
    ]

    raw = [each.secondary["Somers' d, greatest"] for each in found]
    beyond = [each.secondary["tau beyond the surface, greatest"] for each in found]
    assert [each.value for each in found] == [beyond[0], min(raw[1], beyond[1]), raw[2]]
    assert raw[0] > 0.15
    assert found[0].high < 0.08
    assert found[1].low > 0.2
    assert raw[2] < 0.15
    assert beyond[2] > 0.3


def test_each_wording_must_hold() -> None:
    """The least value, the least low and the least high end, with its own noise."""
    frame = items(400)
    asked = {
        "one": ItemScores(frame["elo"], 0.0),
        "two": ItemScores(frame["score"], 0.5),
        "three": ItemScores(frame["score"] + 0.3 * RNG(1).normal(size=400), 0.0),
    }
    empty = pd.DataFrame(index=frame.index)
    whole = agreement_with_people(frame, asked, empty, rng=RNG(9))
    alone = [
        agreement_with_people(frame, {name: each}, empty, rng=RNG(9))
        for name, each in asked.items()
    ]

    assert whole.value == min(each.value for each in alone) == alone[2].value
    assert whole.low <= min(each.low for each in alone) + 0.005  # noise is drawn anew
    assert whole.high == pytest.approx(min(each.high for each in alone), abs=0.005)
    assert whole.interval.endswith("numeric noise")
    evidence: Any = whole.evidence
    assert [each.prompt for each in evidence.wordings] == ["one", "two", "three"]


def test_items_of_one_head_word_are_one_draw() -> None:
    """Asides do not count; ten items of a kind with one score and rating widen the interval."""
    names = ["Golf ball (sport)", "Ball [round]", "Beethoven's balls", "2001", "R.E.M."]

    assert head_words(names) == ["ball", "Ball", "balls", "2001", "M"]
    with pytest.raises(MeasureError, match="30 head words, got 1"):
        measure(items(40, name=[f"{i} ball" for i in range(40)]))
    apart = items(40)
    ten = apart.loc[apart.index.repeat(10)].reset_index(drop=True)
    kinds = ten.assign(name=[f"{i} kind{i // 10}" for i in range(400)])
    loose = ten.assign(name=[f"{i} item{i}" for i in range(400)])
    width = {
        name: (found := measure(frame)).high - found.low
        for name, frame in (("kinds", kinds), ("loose", loose), ("apart", apart))
    }
    assert width["kinds"] == pytest.approx(width["apart"], rel=0.1)
    assert width["loose"] < 0.5 * width["apart"]


def test_the_estimate_is_somers() -> None:
    """With nothing held fixed it is tau, raw and beyond; unscored items are left out."""
    frame = items()
    frame.loc[3, "score"] = math.nan

    scored = frame[frame["score"].notna()]
    estimate, plain = measure(frame), somers(scored["score"], scored["elo"])

    assert estimate.unit == UNIT
    assert estimate.n == 399
    assert estimate.value == plain.value
    assert (estimate.low, estimate.high) == pytest.approx((plain.low, plain.high))
    few = frame.assign(score=frame["score"].round())  # a tie in the reward earns nothing
    tau_b = measure(few).secondary["tau-b, greatest"]
    kept = few[few["score"].notna()]
    assert tau_b == pytest.approx(stats.kendalltau(kept["score"], kept["elo"]).statistic)
    somers_d = stats.somersd(kept["elo"], kept["score"]).statistic
    assert measure(few).secondary["Somers' d, greatest"] == pytest.approx(somers_d)


def test_the_ends_are_those_of_peoples_ranking() -> None:
    """Scores that follow people among the better half only have tau 1 there and about 0 below.

    Of 100 items no 100 are an end; of 50 no half has thirty; equal scores have no tau.
    """
    elo = np.arange(400.0)
    scores = np.where(elo >= 200, elo, RNG(0).permutation(400) - 1000)
    flat = items(100)
    flat.loc[flat["elo"] < flat["elo"].median(), "score"] = -9.0

    found, *fewer = (
        {name: tau for name, tau in measure(each).secondary.items() if name.startswith("tau, ")}
        for each in (items(elo=elo, score=scores), items(100), items(50), flat)
    )

    assert [found["tau, upper half"], found["tau, 100 best liked"]] == pytest.approx([1, 1])
    assert abs(found["tau, lower half"]) < 0.15
    assert abs(found["tau, 100 least liked"]) < 0.2
    assert [list(each) for each in fewer] == [
        ["tau, upper half", "tau, lower half"],
        [],
        ["tau, upper half"],
    ]


def test_evidence_names_the_furthest() -> None:
    """Ranks from 1, best first; the furthest first; unprintable names are counted, not shown."""
    n = 60
    score = np.arange(n, 0.0, -1)
    score[0], score[59], score[1], score[58] = -1, 99, -2, 98  # 0, 1 are too low, 58, 59 too high
    shown = np.ones(n, dtype=bool)
    shown[1] = False
    frame = items(n, elo=np.arange(n, 0.0, -1), score=score, shown=shown)

    evidence: Any = measure(frame, always_listed=["5 item5", "99 item99"]).evidence
    (wording,) = evidence.wordings

    assert wording.overvalued[0] == Item("59 item59", human=60, model=1)
    assert wording.undervalued[0] == Item("0 item0", human=1, model=59)
    assert "1 item1" not in [item.name for item in wording.undervalued]
    assert evidence.unshown == 1
    assert wording.also == (Item("5 item5", human=6, model=6),)
    assert np.array(wording.cells).sum() == n
    assert np.array(wording.cells)[0, -1] == 2  # the best three by people: two are last


def test_d_with_ties_by_hand() -> None:
    """Two values on each side, tied alike: d is the coefficient of the 2 x 2 table."""
    # (x, y) = (0, 0) ten times, (0, 1) five, (1, 0) five, (1, 1) ten:
    #   phi = (10 · 10 - 5 · 5) / √(15⁴) = 75/225 = 1/3
    # Pairs in order 100, against it 25: tau-a = 75/435, and tau-b / tau-a = 435/225.
    # Each of the twenty on the diagonal agrees with ten of the 29 others, each of the ten off it
    # disagrees with five: concordances 10/29 and -5/29, whose mean is 5/29 = 75/435.
    #   variance (20 · 5² + 10 · 10²) / 29² / 29 = 1500 / 29³
    #   error = 435/225 · 2 · √(1500 / 29³) / √30 = 2/15 · √(50/29)
    table = [(0, 0)] * 10 + [(0, 1)] * 5 + [(1, 0)] * 5 + [(1, 1)] * 10
    x, y = zip(*table, strict=True)

    estimate = somers(x, y)

    error = 435 / 225 * 2 * math.sqrt(1500 / 29**3) / math.sqrt(30)
    expected = (1 / 3 - 1.959963984540054 * error, 1 / 3, 1 / 3 + 1.959963984540054 * error)
    assert ends(estimate) == pytest.approx(expected, rel=1e-12)
    level = somers(RNG(260).permutation(32), range(32))
    assert level.value == 0  # which is not certain
    assert max(level.low, -level.high) < -0.1
    assert ends(somers(range(40), range(40))) == (1.0, 1.0, 1.0)
    assert ends(somers(range(40), range(40, 0, -1))) == (-1.0, -1.0, -1.0)


@pytest.mark.parametrize(
    ("scores", "human", "said"),
    [
        (range(40), [2.0] * 40, "needs 30 items that differ .* got 40 "),
        ([math.inf, *range(39)], range(40), "an infinity is no reward"),
    ],
)
def test_no_order_is_refused(scores: list[float], human: list[float], said: str) -> None:
    """People like all alike, or a score is infinite."""
    with pytest.raises(MeasureError, match=said):
        somers(scores, human)


def test_scores_that_the_surface_explains_are_refused() -> None:
    """And too few items for what is to be held fixed."""
    seen, frame = looks()
    with pytest.raises(MeasureError, match="they are a function of it"):
        measure(frame.assign(score=-seen["words"]), seen)
    with pytest.raises(MeasureError, match="100 items are too few to hold 2 variables fixed"):
        measure(frame[:100], seen[:100])


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Of ratings by word, and by spelling."""
    seen = pd.DataFrame({"first": contract.second(texts)})
    elo = 100 * contract.of(contract.KNOWN[2], texts) + seen["first"]
    rated = pd.DataFrame({"name": texts, "elo": elo, "shown": True})
    asked = {"greatest": ItemScores(scores, noise)}
    return agreement_with_people(rated, asked, seen, rng=contract.rng(), always_listed=texts[:2])


CONTRACT = contract.Contract(
    "elo_agreement", on_toys, turned=0, by_rank=True, by_stem=True, fewest=30
)
