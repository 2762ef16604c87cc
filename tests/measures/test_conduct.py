"""Kinds of conduct: a planted one is found by its name, and one of many is not found by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import exact_share
from rmaudit.measures.conduct import (
    FEWEST,
    better_wins,
    moved_by,
    paid_for,
)
from rmaudit.measures.conduct_evidence import MOVED, PAID, WON
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, above, below
from tests.measures import contract
from tests.measures.contract import Floats

WINS, SHOWN = above(0.5, unit=WON), below(0.5, unit=PAID)
STILL = below(0.5, unit=MOVED)
KINDS = ("one", "two", "three")
SOUND = dict.fromkeys(KINDS, -2.0)


def pairs(seed: int, gains: dict[str, float], contexts: int = 48) -> pd.DataFrame:
    """Pairs of each kind; the other answer gets so many sd more than the better one."""
    rng, rows = np.random.default_rng(seed), []
    for kind in KINDS:
        for context in range(contexts):
            plain = rng.normal()
            other = plain + gains.get(kind, 0.0) + 0.5 * rng.normal()
            for reward, chosen in ((plain, True), (other, False)):
                rows.append((len(rows) // 2, f"{kind} {context}", kind, chosen, reward))
    table = pd.DataFrame(rows, columns=["line", "group", "subset", "chosen", "reward"])
    return table.assign(prompt=table["group"], response=[f"answer {i}" for i in table.index])


def measured(measure: Callable[..., Estimate], table: pd.DataFrame) -> Estimate:
    """With no numeric noise."""
    return measure(table, KINDS, rng=np.random.default_rng(0), noise=0.0)


def test_the_kind_in_which_the_better_answer_loses_is_found() -> None:
    """FAIL by its name, with the share by hand; where it wins everywhere it passes."""
    table = pairs(0, {"one": -2.0, "two": 1.0, "three": -2.0})

    found = measured(better_wins, table)

    assert WINS.judge(found) is Verdict.FAIL
    wide = table[table["subset"] == "two"].pivot_table(
        index="line", columns="chosen", values="reward"
    )
    assert found.value == found.secondary["two"] == (wide[True] > wide[False]).mean()
    assert found.caveats == ("The worst kind is two.",)
    assert found.secondary["margin, two"] < 0 < found.secondary["margin, one"]
    worst = [each for each in found.evidence.examples if each.kind == "two"]
    assert [each.other_reward > each.better_reward for each in worst] == [True, True]
    assert WINS.judge(measured(better_wins, pairs(1, SOUND))) is Verdict.PASS


def test_rewards_of_different_prompts_are_not_compared() -> None:
    """A number for each prompt, as in an implicit reward, changes nothing; ties count half."""
    table = pairs(0, {"one": -2.0, "two": 1.0, "three": -2.0})
    table.loc[table["subset"] == "three", "reward"] = 1.0
    prompts = table["prompt"].unique()
    shifts = dict(zip(prompts, np.random.default_rng(1).normal(0, 9, len(prompts)), strict=True))

    plain = measured(better_wins, table)
    shifted = measured(
        better_wins, table.assign(reward=table["reward"] + table["prompt"].map(shifts))
    )

    assert contract.ends(shifted) == contract.ends(plain)
    assert shifted.secondary == pytest.approx(plain.secondary)
    assert plain.secondary["three"] == 0.5


def test_the_other_end_is_that_of_each_kind_by_itself() -> None:
    """All kinds have to lie inside the bound for a pass, so none needs to be surer than alone."""
    table = pairs(7, {"one": -1.0, "two": -1.0, "three": -1.0})
    won, paid = (measured(each, table).evidence.rows[0] for each in (better_wins, paid_for))

    low, _, _ = exact_share(won.value * 48, 48)
    error = (paid.value - paid.low) / stats.t.ppf(1 - 0.05 / 6, 47)
    assert won.low == pytest.approx(low)
    assert paid.high - paid.value == pytest.approx(stats.t.ppf(0.975, 47) * error)


def test_a_change_that_is_paid_for_is_found() -> None:
    """FAIL with its size in sd of the plain answers; what costs reward or moves none does not.

    The interval of a shift that may be either way begins at nought.
    """
    table = pairs(3, {"three": 1.5, "one": -3.0})
    own = table[table["subset"] == "three"]
    plain, other = (own[own["chosen"] == side]["reward"].to_numpy() for side in (True, False))

    found, still = measured(paid_for, table), measured(moved_by, pairs(4, {}))

    assert found.value == pytest.approx((other - plain).mean() / plain.std(ddof=1))
    assert SHOWN.judge(found) is Verdict.FAIL
    assert SHOWN.judge(measured(paid_for, pairs(4, {"one": -3.0}))) is not Verdict.FAIL
    assert still.low == 0.0
    assert STILL.judge(still) is not Verdict.FAIL


@pytest.mark.parametrize("by", [1.5, -1.5])
def test_a_change_of_the_prompt_that_moves_the_reward_is_found_either_way(by: float) -> None:
    """FAIL with its size; the sign stands beside it, and with both prompts of the worst pair."""
    table = pairs(3, {"three": by})
    table["prompt"] = [
        f"{group} {chosen}" for group, chosen in zip(table["group"], table["chosen"], strict=True)
    ]

    found = measured(moved_by, table)

    assert STILL.judge(found) is Verdict.FAIL
    assert found.value == abs(found.secondary["three"])
    assert found.secondary["three"] == measured(paid_for, table).secondary["three"]
    assert np.sign(found.secondary["three"]) == np.sign(by)
    row = next(row for row in found.evidence.rows if row.kind == "three")
    assert row.low <= row.value <= row.high
    least, most = sorted((abs(row.low), abs(row.high)))
    assert found.low == least < found.value < found.high < most
    worst = next(each for each in found.evidence.examples if each.kind == "three")
    own = table[table["subset"] == "three"]["reward"].to_numpy()
    gap = np.abs(own[1::2] - own[::2]).max()
    assert abs(worst.other_reward - worst.better_reward) == gap
    assert worst.prompt.endswith("True")
    assert worst.other_prompt.endswith("False")


@pytest.mark.parametrize(
    ("measure", "by", "words"),
    [
        (better_wins, 5.0, "it prefers “"),
        (paid_for, 5.0, "it prefers “"),
        (moved_by, -5.0, "gets another reward after “"),
    ],
)
def test_the_example_is_of_the_worst_kind(
    measure: Callable[..., Estimate], by: float, words: str
) -> None:
    """Its pair in words, with both prompts where it is these that differ."""
    table = pairs(6, {"two": by})
    table["prompt"] = table["subset"] + table["group"]
    if measure is moved_by:
        table["prompt"] += table["chosen"].astype(str)

    found = measured(measure, table)

    assert words in found.evidence.example()
    assert "“two" in found.evidence.example()


def test_pairs_of_a_context_count_once() -> None:
    """A context with many pairs has the mean of these."""
    table = pairs(5, {})
    more = table[table["group"] == "one 0"]
    again = pd.concat([table, *(more.assign(line=9999 + i) for i in range(500))])

    for measure in (better_wins, paid_for, moved_by):
        once, often = measured(measure, table), measured(measure, again)
        assert often.secondary == pytest.approx(once.secondary)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"reward": np.nan}, "96 of its rewards are missing"),
        ({"reward": 1.0}, "the same reward"),
        ({"subset": "one"}, f"two has 0 contexts.*at least {FEWEST}"),
    ],
)
@pytest.mark.parametrize("measure", [better_wins, paid_for, moved_by])
def test_what_cannot_be_measured_is_refused(
    measure: Callable[..., Estimate], change: dict[str, object], says: str
) -> None:
    """Never a number."""
    with pytest.raises(MeasureError, match=says):
        measured(measure, pairs(6, {}).assign(**change))


def on_toys(texts: Sequence[str], scores: Floats, noise: float) -> Estimate:
    """Two spellings of a word are a pair, of which one is better; the kinds take turns."""
    table = contract.in_pairs(list(texts))
    kinds = [KINDS[contract.WORDS.index(word) % 3] for word in table["line"]]
    table = table.assign(subset=kinds, reward=scores)
    return better_wins(table, KINDS, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract("conduct", on_toys, turned=0, gaps=False, fewest=30, texts_each=6)
