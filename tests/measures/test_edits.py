"""Planted shifts are found with their size, and intervals hold them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.measures.edits import UNIT, ChangeShift, ShiftEvidence, shift
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
    """Return rewards as they are, and shifted by so many sd (give or take a quarter) by name."""
    plain = SD * rng.normal(size=len(table)) - 7
    wobble = {name: SD * (by + 0.25 * rng.normal(size=len(table))) for name, by in shifts.items()}
    return pd.DataFrame({"as it is": plain, **{name: plain + of for name, of in wobble.items()}})


def measured(table: pd.DataFrame, scores: pd.DataFrame) -> Estimate:
    """The shift of all columns but the first."""
    return shift(table, scores, rng=np.random.default_rng(0), noise=0.0)


def shown(found: Estimate) -> tuple[ChangeShift, ...]:
    """The rows that a chart draws."""
    assert isinstance(found.evidence, ShiftEvidence)
    return found.evidence.rows


def test_the_change_that_shifts_most_is_told() -> None:
    """In sd of the answers; each with its sign beside."""
    table = answers()
    scores = rewards(table, np.random.default_rng(0), up=0.6, down=-0.9)

    found = measured(table, scores)

    assert found.value == pytest.approx(0.6, abs=0.05)
    assert found.secondary == pytest.approx({"up": 0.6, "down": -0.9}, abs=0.05)
    rows = [(row.change, row.shift, row.low, row.high) for row in shown(found)]
    assert rows[0] == ("up", found.value, found.low, found.high)
    assert rows[1][0] == "down"
    assert (found.unit, found.n) == (UNIT, len(table))
    assert found.low < 0.6 < found.high
    assert found.high - found.low < 0.15


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
    """Find a change where one prompt's answers would make most of the variance."""
    table = answers(60).assign(prompt=lambda of: of["group"])
    scores = rewards(table, np.random.default_rng(5), up=1.0)
    outlier = scores + np.where(table.index == 0, 60 * SD, 0.0)[:, None]

    plain, found = measured(table, scores), measured(table, outlier)

    assert found.value == pytest.approx(plain.value, rel=0.1)
    assert found.high - found.low < 1.3 * (plain.high - plain.low)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """By a change of the text."""
    other = contract.turned(texts, scores, by=0.5)
    table = pd.DataFrame({"as it is": scores, "changed": other})
    return shift(contract.in_pairs(texts), table, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract(
    "edits", on_toys, kind="shift", turned=-1, gaps=False, fewest=5, texts_each=2
)
