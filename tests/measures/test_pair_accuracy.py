"""pair_accuracy against counting, and how often its interval holds the true accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from rmaudit.measures.pair_accuracy import FEWEST, SWAPPED, UNIT, accuracy
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract


def measured(lines: list[dict[str, Any]], noise: float = 0.0) -> Estimate:
    """Of these lines."""
    return accuracy(contract.rows_of(lines), rng=np.random.default_rng(0), noise=noise)


def test_pairs_of_a_line_are_counted_and_ties_are_half() -> None:
    """Each line counts once, whatever its answers; subsets are lines of their own."""
    rng = np.random.default_rng(3)
    lines = [
        {
            "chosen": rng.integers(4, size=1 + i % 3).tolist(),
            "rejected": rng.integers(4, size=1 + i % 2).tolist(),
            "subset": ["chat", "safety", ""][i % 3],
        }
        for i in range(60)
    ]

    found = measured(lines)

    def share(line: dict[str, Any]) -> float:
        won = [(c > r) + (c == r) / 2 for c in line["chosen"] for r in line["rejected"]]
        return sum(won) / len(won)

    assert found.value == pytest.approx(np.mean([share(line) for line in lines]))
    assert found.n == 60
    assert found.unit == UNIT
    for subset in ("chat", "safety"):
        own = [share(line) for line in lines if line["subset"] == subset]
        assert found.secondary[subset] == pytest.approx(np.mean(own))
        assert found.secondary[f"{subset}, low"] < np.mean(own) < found.secondary[f"{subset}, high"]
    assert found.secondary["all chosen above all rejected"] == pytest.approx(
        np.mean([min(line["chosen"]) > max(line["rejected"]) for line in lines])
    )
    assert "" not in found.secondary


def test_lines_of_a_group_are_not_independent() -> None:
    """Ten copies of each line in one group tell no more than one."""
    rng = np.random.default_rng(5)
    lines = [{"chosen": [float(x)], "rejected": [0.0]} for x in rng.normal(0.5, 1, size=50)]
    copies = [{**line, "group": str(i)} for i, line in enumerate(lines) for _ in range(10)]

    alone, ten = measured(lines), measured(copies)

    assert ten.value == pytest.approx(alone.value)
    assert (ten.low, ten.high) == pytest.approx((alone.low, alone.high), abs=0.01)


def test_few_groups_tell_less_than_as_many_lines() -> None:
    """By Student's degrees of freedom; and no more than the lines, however even the groups are."""
    ten = [
        {"chosen": [float(group % 2)], "rejected": [0.5], "group": str(group)}
        for group in range(10)
        for _ in range(10)
    ]
    even = [
        {"chosen": [float(right)], "rejected": [0.5], "group": str(group)}
        for group in range(40)
        for right in (True, group == 0)
    ]

    n = 9 * (stats.t.ppf(0.975, 99) / stats.t.ppf(0.975, 9)) ** 2
    assert measured(ten).low == pytest.approx(stats.beta.ppf(0.025, n / 2, n / 2 + 1))
    alone = [{"chosen": [float(i < 31)], "rejected": [0.5]} for i in range(40)]
    all_right = [{"chosen": [1.0 + i], "rejected": [0.5]} for i in range(40)]
    for lines, right, off in ((even, 41, 1e-6), (alone, 31, 0.008), (all_right, 40, 0.008)):
        expected = proportion_confint(right, len(lines), method="beta")
        found = measured(lines)
        assert (found.low, found.high) == pytest.approx(expected, abs=off)


SOME = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=3)
LINE = st.fixed_dictionaries(
    {"chosen": SOME, "rejected": SOME, "subset": st.sampled_from(["", "chat"])}
)


@pytest.mark.slow
@given(st.lists(LINE, min_size=FEWEST, max_size=20), st.sampled_from([0.0, 0.5]))
def test_swapped_labels_turn_it_round(lines: list[dict[str, Any]], noise: float) -> None:
    """Chosen and rejected the other way give 1 less the accuracy, and the interval mirrored."""
    if len({score for line in lines for score in (*line["chosen"], *line["rejected"])}) < 2:
        return
    swapped = [
        line | {"chosen": line["rejected"], "rejected": line["chosen"], "group": str(number)}
        for number, line in enumerate(lines)
    ]
    as_they_are = [line | {"group": str(number)} for number, line in enumerate(lines)]

    one, other = measured(as_they_are), measured(swapped)

    assert other.value == pytest.approx(1 - one.value)
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low))
    if "chat" in one.secondary:
        assert other.secondary["chat"] == pytest.approx(1 - one.secondary["chat"])
        assert other.secondary["chat, low"] == pytest.approx(1 - one.secondary["chat, high"])
    longer = "the longer one"
    assert other.secondary[longer] == pytest.approx(1 - one.secondary[longer])
    # What a reward's noise does is drawn in the rows' order, which the swap changes.
    noisy = measured(swapped, noise)
    assert noisy.low <= other.low <= other.high <= noisy.high


@pytest.mark.parametrize(("wrong", "told"), [(100, True), (80, True), (66, False), (20, False)])
def test_labels_that_look_swapped_are_told(wrong: int, told: bool) -> None:
    """Where the whole interval lies below the margin, of 100 lines; not where it reaches it."""
    lines = [{"chosen": [float(i >= wrong)], "rejected": [0.5]} for i in range(100)]

    found = measured(lines if wrong < 100 else [*lines[:-1], lines[-1] | {"chosen": [-1.0]}])

    assert (found.high < SWAPPED) is told
    assert any("may be swapped" in caveat for caveat in found.caveats) is told


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """The second spelling was."""
    other = contract.turned(texts, scores, by=0.5, row=6)
    mixed = np.where(contract.second(texts) > 0, other, scores)
    return accuracy(contract.in_pairs(texts).assign(reward=mixed), rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract(
    "pair_accuracy", on_toys, turned=0, gaps=False, chart=False, fewest=5, texts_each=2
)
