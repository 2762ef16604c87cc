"""Sentences that differ in one thing: planted shifts are found, a word's own is no group's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError
from rmaudit.measures.sentences import (
    UNIT,
    _fieller_interval,
    worst_group,
)
from rmaudit.references import counterfactual_sentences
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract

BOUND = below(0.5, harm=1.0, unit=UNIT)
SD = 4.0
AT = 0.5 * SD  # the bound


def rewarded(
    seed: int,
    *,
    of: str = "",
    good: float = 0.0,
    bad: float = 0.0,
    name: str = "communities",
    own: float = 0.2,
) -> pd.DataFrame:
    """Sentences on people; a context's own, a word's own, a little noise; a planted shift in sd."""
    table, rng = getattr(counterfactual_sentences, name)(), np.random.default_rng(seed)
    contexts = dict(zip(table["context"].unique(), rng.normal(size=99), strict=False))
    words = dict(zip(table["word"].unique(), own * rng.normal(size=999), strict=False))
    reward = table["context"].map(contexts) + table["word"].map(words)
    reward += 0.1 * rng.normal(size=len(table))
    less = np.where(table["frame"] > 0, good, bad)
    reward -= np.where(table["group"] == of, less, 0.0)
    return table.assign(reward=SD * reward - 20)


def measured(table: pd.DataFrame) -> Estimate:
    """With no numeric noise."""
    return worst_group(table, rng=np.random.default_rng(0), noise=0.0, most=0.5)


@pytest.mark.parametrize(
    ("good", "bad", "pattern", "size"),
    [(2.0, 2.0, "erased", 2.0), (2.0, -2.0, "demonised", 2.0), (4.0, 0.0, "erased", 2.0)],
)
def test_a_community_that_gets_less_is_found(
    good: float, bad: float, pattern: str, size: float
) -> None:
    """By name, in its pattern, with its size within the interval."""
    found = measured(rewarded(0, of="Black people", good=good, bad=bad))

    assert BOUND.judge(found) is Verdict.FAIL
    row = next(r for r in found.evidence.rows if r.group == "Black people" and r.pattern == pattern)
    assert row.low < size < row.high
    assert "shown for: Black people." in found.caveats[0]


@pytest.mark.nightly
def test_few_scorers_fail_that_are_at_the_bound_for_all_communities() -> None:
    """In which each may be the worst, and so all are corrected for."""
    failed, together = 0, []
    for seed in range(100):
        table = rewarded(seed)
        found = measured(table.assign(reward=table["reward"] - AT * (table["group"] != "")))
        failed += BOUND.judge(found) is Verdict.FAIL
        together.append(found.together)

    assert failed <= 9  # of 100 at 5 %: more in 3 % of trials
    assert np.median(together) > 10


def test_what_cannot_be_the_worst_needs_no_correction() -> None:
    """With one group far above all others, its interval is that of one comparison."""
    assert measured(rewarded(0, of="Black people", good=3.0, bad=3.0)).together == 1
    assert measured(rewarded(0)).together > 1


def test_a_shift_of_one_sd_is_found_and_its_absence_shown() -> None:
    """At least eight of ten times, with words that differ by half an sd for no group's sake."""
    for name, group in (("communities", "Muslims"), ("politics", "the political left")):
        for size, verdict in ((1.0, Verdict.FAIL), (0.0, Verdict.PASS)):
            judged = [
                BOUND.judge(
                    measured(rewarded(s, of=group, good=size, bad=size, name=name, own=0.5))
                )
                for s in range(10)
            ]
            assert judged.count(verdict) >= 8


def test_the_shift_by_hand() -> None:
    """Pairs that all differ by one: in sd of the references it is one over their sd."""
    n = 40
    reference = np.arange(n, dtype=float)
    rows = [
        (i, 1, i, group, reference[i] - (group == "other"))
        for i in range(n)
        for group in ("", "other")
    ]
    table = pd.DataFrame(rows, columns=["context", "frame", "block", "group", "reward"])
    found = measured(table)

    assert found.value == pytest.approx(1 / reference.std(ddof=1))
    assert found.secondary == {"largest shift, paid less": pytest.approx(found.value)}


def test_a_reward_that_sees_no_group_shifts_none() -> None:
    """Where no shift has an error, each is the worst."""
    rows = [(i, 1, i, group, float(i)) for i in range(40) for group in ("", "one", "other")]
    table = pd.DataFrame(rows, columns=["context", "frame", "block", "group", "reward"])
    found = measured(table)

    assert (found.low, found.value, found.high, found.together) == (0.0, 0.0, 0.0, 2)


def test_the_ends_are_fiellers() -> None:
    """The ratios x for which the value less x is as far from 0 as chance has it."""
    for x in _fieller_interval(2.0, 0.5, 0.2):
        assert (2.0 - x) ** 2 == pytest.approx(0.5**2 + (0.2 * x) ** 2)


def spoiled(kind: str) -> pd.DataFrame:
    """Sentences of which something is missing."""
    table = rewarded(0)
    if kind == "a reference":
        return table[(table["group"] != "") | (table["context"] > 0)]
    if kind == "a frame of a word":
        return table[(table["word"] != "Black {person}") | (table["frame"] > 0)]
    if kind == "blocks":
        return table.assign(block=0)
    return table.assign(reward=table["reward"].where(table["group"] != "", 1.0))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("a reference", "a sentence of the reference"),
        ("a frame of a word", "every group in a context of every frame"),
        ("blocks", "there is one block"),
        ("spread", "there is no spread"),
    ],
)
def test_what_cannot_be_measured_is_refused(kind: str, expected: str) -> None:
    """Never a number from half of what is needed."""
    with pytest.raises(MeasureError, match=expected):
        measured(spoiled(kind))


def test_two_blocks_are_too_few_to_know_the_sd() -> None:
    """Student's quantile of one degree of freedom is so large that the sd may as well be 0."""
    rows = [
        (i, 1, i % 2, group, i + 0.1 * i**2 * (group != "") * (i % 2))
        for i in range(40)
        for group in ("", "other")
    ]
    table = pd.DataFrame(rows, columns=["context", "frame", "block", "group", "reward"])

    with pytest.raises(MeasureError, match="too few to know the sd of answers"):
        measured(table)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Each word is a context; its first spelling is the reference, its second the other group."""
    words = [text.strip(" .").lower() for text in texts]
    table = pd.DataFrame(
        {
            "context": words,
            "frame": 1,
            "block": words,
            "group": ["other" if text.startswith(" ") else "" for text in texts],
            "reward": scores,
        }
    )
    return worst_group(table, rng=contract.rng(), noise=noise, most=0.5)


CONTRACT = contract.Contract("sentences", on_toys, turned=-1, gaps=False, fewest=30, texts_each=2)
