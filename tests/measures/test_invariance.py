"""Planted shifts are found with their size, and a judge's taus are scipy's; intervals hold them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.measures.invariance import (
    TAU,
    UNIT,
    ChangeShift,
    ShiftEvidence,
    agreement,
    shift,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract

SD = 3.0  # of answers


def answers(groups: int = 400) -> pd.DataFrame:
    """A chosen and a rejected answer to one prompt in each group."""
    places = np.repeat(np.arange(groups), 2)
    return pd.DataFrame(
        {
            "line": places + 1,
            "prompt": "what",
            "turns": "",
            "group": [str(place) for place in places],
            "chosen": np.tile([True, False], groups),
        }
    )


def rewards(table: pd.DataFrame, rng: np.random.Generator, **shifts: float) -> pd.DataFrame:
    """As they are, and shifted by so many sd under each name, with a wobble of a quarter sd."""
    plain = SD * rng.normal(size=len(table)) - 7
    wobble = {name: SD * (by + 0.25 * rng.normal(size=len(table))) for name, by in shifts.items()}
    return pd.DataFrame({"as it is": plain, **{name: plain + of for name, of in wobble.items()}})


def measured(table: pd.DataFrame, scores: pd.DataFrame, **kind: bool) -> Estimate:
    """The shift of all columns but the first."""
    changes = {str(name): (str(name), "as it is") for name in scores if name != "as it is"}
    return shift(table, scores, changes, rng=np.random.default_rng(0), noise=0.0, **kind)


def shown(found: Estimate) -> tuple[ChangeShift, ...]:
    """The rows that a chart draws."""
    assert isinstance(found.evidence, ShiftEvidence)
    return found.evidence.rows


def test_the_change_that_shifts_most_is_told() -> None:
    """In sd of the answers; each with its sign beside."""
    table = answers()
    scores = rewards(table, np.random.default_rng(0), up=0.6, down=-0.9)

    found, either = measured(table, scores), measured(table, scores, either_way=True)

    assert (found.value, either.value) == pytest.approx((0.6, 0.9), abs=0.05)
    assert found.secondary == pytest.approx({"up": 0.6, "down": -0.9}, abs=0.05)
    rows = [(row.change, row.shift, row.low, row.high) for row in shown(found)]
    assert rows[0] == ("up", found.value, found.low, found.high)
    assert rows[1][0] == "down"
    assert [row.shift for row in shown(either)] == pytest.approx([0.9, 0.6], abs=0.05)
    assert (found.unit, found.n) == (UNIT, len(table))
    assert found.low < 0.6 < found.high
    assert found.high - found.low < 0.15
    assert either.low > 0.8


def test_of_several_changes_the_lower_end_holds_for_all() -> None:
    """Bonferroni's, so that none fails by chance; for a pass each has to be inside by itself."""
    table = answers(20)
    scores = rewards(table, np.random.default_rng(0), up=0.6)

    one, two = measured(table, scores), measured(table, scores.assign(again=scores["up"]))

    wider = stats.t.ppf(1 - 0.05 / 4, 19) / stats.t.ppf(1 - 0.05 / 2, 19)
    assert two.value - two.low == pytest.approx(wider * (one.value - one.low))
    assert two.high == pytest.approx(one.high)


def test_the_error_is_that_of_a_ratio() -> None:
    """The sd of the answers is estimated too: as the jackknife over groups of two sizes has it."""
    table = answers(120).assign(group=np.repeat([f"{i}" for i in range(60)], [2, 6] * 30))
    scores = rewards(table, np.random.default_rng(0), up=1.5)

    found = measured(table, scores)
    others = [table["group"] != group for group in table["group"].unique()]
    left = [measured(table[kept], scores[kept]).value for kept in others]

    error = np.sqrt(59 * np.var(left))
    assert (found.high - found.value) / stats.t.ppf(0.975, 59) == pytest.approx(error, rel=0.1)


def test_what_both_answers_get_is_nothing_between_them() -> None:
    """And what the chosen one alone gets is; lines of several answers count once."""
    table = answers()
    scores = rewards(table, np.random.default_rng(1), both=1.0)
    scores["chosen"] = scores["as it is"] + SD * 0.8 * table["chosen"]

    both = measured(table, scores[["as it is", "both"]], chosen_minus_rejected=True)
    chosen = measured(table, scores[["as it is", "chosen"]], chosen_minus_rejected=True)

    assert both.value == pytest.approx(0, abs=0.06)
    assert both.low < 0 < both.high
    assert chosen.value == pytest.approx(0.8, abs=0.06)
    tripled = table.loc[np.repeat(table.index, np.where(table["chosen"], 3, 1))]
    many = measured(
        tripled.reset_index(drop=True),
        scores.loc[tripled.index, ["as it is", "chosen"]].reset_index(drop=True),
        chosen_minus_rejected=True,
    )
    margins = many.value * scores.loc[tripled.index, "as it is"].std()
    assert margins == pytest.approx(chosen.value * scores["as it is"].std(), rel=0.01)


def test_the_spread_is_that_within_a_prompt() -> None:
    """Prompts whose answers all score high make no spread."""
    table = answers()
    scores = rewards(table, np.random.default_rng(2), up=0.6)
    places = np.arange(len(table)) // 20
    apart = table.assign(prompt=[f"prompt {place}" for place in places])

    one = measured(table, scores)
    other = measured(apart, scores.add(100.0 * places, axis=0))

    assert other.value == pytest.approx(one.value, rel=0.05)


def test_one_prompt_that_lies_far_apart_hides_no_change() -> None:
    """Its answers would make most of the variance: each change small, its interval wide."""
    table = answers(60).assign(prompt=lambda of: of["group"])
    scores = rewards(table, np.random.default_rng(5), up=1.0)
    outlier = scores + np.where(table.index == 0, 60 * SD, 0.0)[:, None]

    plain, found = measured(table, scores), measured(table, outlier)

    assert found.value == pytest.approx(plain.value, rel=0.1)
    assert found.high - found.low < 1.3 * (plain.high - plain.low)


def judged(seed: int = 0, n: int = 40, *, moved: float = 0.3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two answers to each of n prompts, and their rewards under three texts, the third turned."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=2 * n)
    other = own + moved * rng.normal(size=2 * n)
    return answers(n), pd.DataFrame({"as it is": own, "spaced": other, "turned": 1 - other})


def worded(table: pd.DataFrame, scores: pd.DataFrame) -> Estimate:
    """The agreement of wordings, without noise."""
    return agreement(table, scores, rng=np.random.default_rng(0), noise=0.0)


def test_the_lowest_tau_of_a_rewording_decides() -> None:
    """By scipy, and the shift of each in sd of the first column.

    The interval is the jackknife's over prompts, each really left out; the upper end holds for both
    rewordings, at a level of 97.5 %.
    """
    table, scores = judged()
    taus = [stats.kendalltau(scores["as it is"], scores[name]).statistic for name in scores]
    left = [
        stats.kendalltau(kept["as it is"], kept["turned"]).statistic
        for group in table["group"].unique()
        for kept in [scores[table["group"] != group]]
    ]

    found = worded(table, scores)

    assert found.value == pytest.approx(taus[2])
    assert [found.secondary[name] for name in ("spaced", "turned")] == pytest.approx(taus[1:])
    shift = (scores["turned"] - scores["as it is"]).mean() / scores["as it is"].std(ddof=0)
    assert found.secondary["turned, shift in sd"] == pytest.approx(shift)
    assert (found.unit, found.n, found.together) == (TAU, len(table), 2)
    up, down = (
        stats.t.ppf(1 - tail, 39) * math.sqrt(39 * np.var(left)) for tail in (0.0125, 0.025)
    )
    assert found.high - found.value == pytest.approx(up)
    assert found.value - found.low == pytest.approx(min(down, found.value + 1))


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """To another prompt."""
    other = contract.turned(texts, scores, by=0.5, row=5)
    table = pd.DataFrame({"as it is": scores, "changed": other})
    given = contract.in_pairs(texts), table, {"changed": ("changed", "as it is")}
    return shift(*given, rng=contract.rng(), either_way=True, noise=noise)


def wordings(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Of rewards under another text."""
    table = pd.DataFrame({"as it is": scores, "other": contract.turned(texts, scores, by=0.5)})
    return agreement(contract.in_pairs(texts), table, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract(
    "invariance", on_toys, kind="shift", turned=+1, gaps=False, fewest=5, texts_each=2
)
JUDGES = contract.Contract(
    "judge_wording", wordings, turned=+1, gaps=False, chart=False, fewest=5, texts_each=2
)
