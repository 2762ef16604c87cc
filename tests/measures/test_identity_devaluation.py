"""Erasure: by hand, planted and not, what cancels and what does not, and its interval."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.identity_devaluation import UNIT, TermScores, erasure
from rmaudit.references.identity_terms import identity
from rmaudit.verdicts.records import Estimate

RNG = np.random.default_rng
PROMPTS = {"greatest": 1, "best": 1, "worst": -1}
ADJECTIVE = frozenset({"adj"})


def small(groups: int = 10, per_group: int = 2) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two axes of `groups` groups; as many controls as terms, each term's own by frequency."""
    n = 2 * groups * per_group
    zipf = 2.0 * np.arange(n)  # nothing else is within 1
    like = {"forms": [ADJECTIVE] * n, "capital": False, "zipf": zipf}
    terms = pd.DataFrame(
        {
            "text": [f"term{i}" for i in range(n)],
            "axis": ["age"] * (n // 2) + ["gender"] * (n // 2),
            "group": [f"g{i // per_group}" for i in range(n)],
            "marked": True,
            **like,
        }
    )
    return terms, pd.DataFrame({"text": [f"word{i}" for i in range(n)], "neutral": True, **like})


def ask(
    tables: tuple[pd.DataFrame, pd.DataFrame],
    scores: dict[str, NDArray[np.float64]],
    *,
    noise: float = 0.0,
    **given: Any,
) -> Estimate:
    """The estimate for scores by prompt."""
    answers = {name: TermScores(each, PROMPTS[name], noise) for name, each in scores.items()}
    return erasure(*tables, answers, rng=RNG(0), **given)


def random(tables: tuple[pd.DataFrame, pd.DataFrame], seed: int = 0) -> dict[str, Any]:
    """Scores that know nothing of identity: a word's own and the prompt's."""
    n = sum(len(table) for table in tables)
    own, *each = RNG(seed).normal(size=(4, n))
    return {name: own + 0.5 * more for name, more in zip(PROMPTS, each, strict=True)}


def planted(
    tables: tuple[pd.DataFrame, pd.DataFrame], penalty: float, *frames: int, seed: int = 0
) -> dict[str, Any]:
    """The same with a penalty, in sd, on the terms for marked groups under those frames."""
    scores, marked = random(tables, seed), tables[0]["marked"].to_numpy(bool)
    for name, frame in PROMPTS.items():
        if frame in frames:
            scores[name][: len(marked)][marked] -= penalty * 1.1
    return scores


# Known numbers


def test_the_gap_by_hand() -> None:
    """Every term just below its own control: one place of 2 n under each prompt."""
    terms, controls = small()
    n = len(terms)
    pairs = np.concatenate([2 * np.arange(n), 2 * np.arange(n) + 1]).astype(float)

    estimate = ask((terms, controls), {"greatest": pairs, "worst": pairs})

    gap = 1 / (2 * n)
    assert estimate.value == pytest.approx(gap)
    assert estimate.unit == UNIT
    assert estimate.n == n
    assert estimate.secondary["gap under positive frames"] == pytest.approx(gap)
    assert estimate.secondary["gap under worst"] == pytest.approx(gap)


def test_erased_is_below_in_both_and_sad_is_not() -> None:
    """All terms below all controls under one prompt, above them under the other: 0."""
    terms, controls = small()
    n = len(terms)
    low = np.arange(2.0 * n)
    high = np.roll(low, n)

    sad, erased = (
        ask((terms, controls), {"greatest": low, "worst": other}) for other in (high, low)
    )

    assert sad.value == pytest.approx(0)
    assert sad.secondary["gap under greatest"] == pytest.approx(0.5)
    assert sad.secondary["gap under worst"] == pytest.approx(-0.5)
    assert erased.value == pytest.approx(0.5)


def test_prompts_of_a_frame_are_one_frame() -> None:
    """Two positive prompts count as much as one negative one."""
    terms, controls = small()
    n = len(terms)
    low, level = np.arange(2.0 * n), np.concatenate([np.arange(n), np.arange(n)]).astype(float)

    estimate = ask((terms, controls), {"greatest": level, "best": level, "worst": low})

    assert estimate.value == pytest.approx(0.25)


def test_axes_groups_words_and_spellings_count_alike() -> None:
    """A term's share is 1 / axes / groups / words / spellings, whatever there is more of."""
    terms, controls = small()
    terms.loc[20:, "group"] = ["a"] * 14 + list("bcdefg")  # a has 14 of the 20 words of gender
    terms.loc[20:22, "text"] = ["Same", "same", "SAME"]
    n = len(terms)
    # Only the three spellings lie below their control, by n places of 2 n; the others are level.
    score = np.concatenate([np.arange(n), np.arange(n)]).astype(float)
    score[20:23] = -1
    ranks = (stats.rankdata(score) - 0.5) / (2 * n)
    gaps = (ranks[n:] - ranks[:n])[20:23]

    estimate = ask((terms, controls), {"greatest": score, "worst": score})

    assert estimate.n == n - 2
    assert estimate.value == pytest.approx(gaps.mean() / 12 / 7 / 2, rel=1e-9)


def test_the_interval_by_hand() -> None:
    """One word a group, controls all level: Student's t of the groups about their axes."""
    terms, controls = small(groups=12, per_group=1)
    n = len(terms)
    score = np.concatenate([RNG(3).permutation(n) - 100.0, np.zeros(n)])
    ranks = (stats.rankdata(score) - 0.5) / (2 * n)
    gaps = (ranks[n:] - ranks[:n]).reshape(2, 12)
    variance = ((gaps - gaps.mean(axis=1, keepdims=True)) ** 2).sum() / 22
    error = math.sqrt(variance * (2 * 12 * (1 / 24) ** 2))

    estimate = ask((terms, controls), {"greatest": score, "worst": score})

    half = stats.t.ppf(0.975, 22) * error
    assert estimate.value == pytest.approx(gaps.mean())
    assert (estimate.high - estimate.low) / 2 == pytest.approx(half)


def test_shared_controls_are_uncertain() -> None:
    """Terms all alike, one control for all: the interval is that of the controls alone."""
    terms, controls = small()
    terms["zipf"] = 0.0
    controls["zipf"] = [0.0, 0.1, 0.2, 0.3, 0.4, *([9.0] * (len(controls) - 5))]
    n = len(terms)
    score = np.concatenate([np.zeros(n), np.full(n, 5.0)])
    score[n : n + 5] = [1, 2, 3, 4, 6]
    ranks = ((stats.rankdata(score) - 0.5) / (2 * n))[n : n + 5]

    estimate = ask((terms, controls), {"greatest": score, "worst": score})

    error = math.sqrt(((ranks - ranks.mean()) ** 2).sum()) / 5
    half = stats.t.ppf(0.975, 18) * error
    assert (estimate.high - estimate.low) / 2 == pytest.approx(half)


# Planted penalties on the real terms


def test_a_penalty_on_one_axis_is_found_there() -> None:
    """Its gap is the highest of the axes, its interval is above 0.1, its groups lead."""
    tables = identity()
    scores = random(tables)
    religion = (tables[0]["axis"] == "religion").to_numpy()
    for each in scores.values():
        each[: len(religion)][religion] -= 3

    evidence = ask(tables, scores).evidence

    top = max(evidence.axes, key=lambda row: row.gap)
    assert top.axis == "religion"
    assert top.low > 0.1
    groups = sorted(evidence.groups, key=lambda row: -row.gap)
    assert [row.axis for row in groups[:8]].count("religion") >= 6
    assert evidence.terms[0].text in set(tables[0]["text"][religion])


@pytest.mark.slow
def test_the_interval_covers() -> None:
    """Groups with effects of their own about 0: at least 53 of 60 intervals have 0 in them."""
    tables = identity()
    codes = pd.factorize(tables[0]["axis"] + tables[0]["group"])[0]
    hits = 0
    for seed in range(60):
        scores, effects = random(tables, seed), 0.5 * RNG(1000 + seed).normal(size=200)[codes]
        for each in scores.values():
            each[: len(codes)] += effects
        estimate = ask(tables, scores)
        hits += estimate.low <= 0 <= estimate.high

    assert hits >= 53  # P < 0.01 at 95 %


# What does not matter, and what does


def test_terms_without_controls_are_left_out() -> None:
    """They are counted; what they score does not matter but for the ranks of the others."""
    terms, controls = small()
    controls.loc[0, "neutral"] = False
    scores = random((terms, controls))

    estimate = ask((terms, controls), scores)

    assert estimate.secondary["terms without a control"] == 1
    assert "term0" not in [row.text for row in estimate.evidence.terms]


def test_unmarked_groups_stand_beside() -> None:
    """A penalty on marked groups only is not theirs."""
    tables = identity()

    secondary = ask(tables, planted(tables, 1.0, 1, -1)).secondary

    assert secondary["gap under worst"] > 0.1
    assert secondary["unmarked groups"] < 0.1


def test_unmarked_groups_do_not_make_the_value() -> None:
    """However their words score: they are no part of it."""
    tables, scores = identity(), random(identity())
    unmarked = ~tables[0]["marked"].to_numpy(bool)
    least = {name: each.copy() for name, each in scores.items()}
    for name, each in least.items():
        each[: len(unmarked)][unmarked] = scores[name].min() - np.arange(1, unmarked.sum() + 1)

    found = ask(tables, least)

    assert found.value == pytest.approx(ask(tables, scores).value, abs=0.02)
    assert found.secondary["unmarked groups"] > 0.3


# What cannot be measured


@pytest.mark.parametrize("names", [["greatest", "best"], ["worst"], []])
def test_both_frames_are_needed(names: list[str]) -> None:
    """Low under one frame is no erasure."""
    tables = small()
    scores = {name: each for name, each in random(tables).items() if name in names}

    with pytest.raises(MeasureError) as caught:
        ask(tables, scores)

    expected = "erasure is to be low under both: it needs a positive and a negative frame, got "
    assert str(caught.value) == expected + (", ".join(names) or "no prompt")


def test_scores_of_other_texts() -> None:
    """One score a text."""
    tables = small()
    with pytest.raises(MeasureError, match="each of 80 texts, found 79 scores, 0 of them"):
        ask(tables, {name: each[1:] for name, each in random(tables).items()})


def test_too_few_words() -> None:
    """The error has the counts, and what is needed."""
    tables = small(groups=4)

    with pytest.raises(MeasureError) as caught:
        ask(tables, random(tables))

    expected = (
        "16 words for marked groups have a control, of 8 groups on 2 axes; at least 20 words, and "
        "5 groups more than axes, are needed"
    )
    assert str(caught.value) == expected
