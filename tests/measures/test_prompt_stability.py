"""Whether wordings rank words alike: rho, its two jackknifes, and the parts of the variance."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.prompt_stability import FEWEST, UNIT, across_wordings, evenly_spread
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import FRAMES, GROUPS, WORDINGS, ends

quick = settings(max_examples=15, deadline=None)
SEEDS = st.integers(0, 999)


def scores(
    seed: int = 0, *, word: float = 1.0, frame: float = 1.0, group: float = 0.5, n: int = 60
) -> pd.DataFrame:
    """Words under the 12 prompts: the word's part, its under a frame, a group's and a prompt's."""
    rng = np.random.default_rng(seed)
    a, b = word * rng.normal(size=n), frame * rng.normal(size=n)
    own = {g: group * rng.normal(size=n) for g in "abcxyz"}
    columns = {
        name: a + sign * b + own[name[0]] + 0.5 * rng.normal(size=n)
        for name, sign in FRAMES.items()
    }
    return pd.DataFrame(columns, index=[f"word{i}" for i in range(n)])


def measure(table: pd.DataFrame, **given: Any) -> Estimate:
    """The estimate, with groups."""
    rng = np.random.default_rng(0)
    return across_wordings(table, FRAMES, rng=rng, **{"groups": GROUPS, **given})


def value_of(table: pd.DataFrame) -> float:
    """The mean of the two frames' mean rho over pairs, by scipy."""
    frames = [[name for name in table if FRAMES[str(name)] == sign] for sign in (1, -1)]
    means = [
        np.mean([stats.spearmanr(table[p], table[q]).statistic for p, q in combinations(side, 2)])
        for side in frames
    ]
    return float(np.mean(means))


def test_by_hand() -> None:
    """One of three prompts swaps two of the words: two of three pairs lose 6 d2 / n(n2 - 1)."""
    plain, swapped = np.arange(30.0), np.arange(30.0)
    swapped[[0, 10]] = swapped[[10, 0]]  # d2 = 2 * 10 ** 2
    table = pd.DataFrame({"p": plain, "q": plain, "r": swapped})
    table = table.assign(u=-plain, v=-plain, w=-plain)
    rho = 1 - 6 * 200 / (30 * (30**2 - 1))

    frames = dict(zip(table, [1, 1, 1, -1, -1, -1], strict=True))
    estimate = across_wordings(table, frames, rng=np.random.default_rng(0))

    assert (estimate.unit, estimate.n) == (UNIT, 30)
    assert estimate.value == pytest.approx(((1 + 2 * rho) / 3 + 1) / 2)
    expected = {
        "between positive prompts": (1 + 2 * rho) / 3,
        "between negative prompts": 1,
        "between frames": -(2 + rho) / 3,
        "between two groups of a frame, lowest": rho,
    }
    assert {name: estimate.secondary[name] for name in expected} == pytest.approx(expected)
    each = {row.prompt: row.rho for row in estimate.evidence.prompts}
    assert [each[name] for name in "rpq"] == pytest.approx([rho, *[(1 + rho) / 2] * 2], abs=1e-4)
    assert all(row.group == row.prompt for row in estimate.evidence.prompts)


def test_wordings_that_agree_are_certain() -> None:
    """Equal order under all prompts of a frame: 1, without uncertainty."""
    plain = np.arange(40.0)
    table = pd.DataFrame({name: plain * FRAMES[name] for name in WORDINGS})

    assert ends(measure(table)) == pytest.approx((1, 1, 1))


@quick
@given(seed=SEEDS, tied=st.booleans())
def test_the_value_is_that_of_scipy(seed: int, tied: bool) -> None:
    """Pair by pair, with ties at their average ranks."""
    table = scores(seed).round(0 if tied else 9)

    assert measure(table).value == pytest.approx(value_of(table), abs=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_the_interval_is_that_of_two_jackknifes(*, tied: bool) -> None:
    """Every word and every group really left out; variances added; Satterthwaite's freedom."""
    table = scores(3, n=40).round(0 if tied else 9)
    words = [value_of(table.drop(index=word)) for word in table.index]
    of_words = (len(words) - 1) * np.var(words)
    of_groups = 0.0
    for side in ("abc", "xyz"):
        left = [value_of(table[[name for name in WORDINGS if name[0] != group]]) for group in side]
        of_groups += 2 * np.var(left)  # the other frame is the same in all three
    freedom = (of_words + of_groups) ** 2 / (of_words**2 / 39 + of_groups**2 / 4)
    margin = stats.t.ppf(0.975, freedom) * math.sqrt(of_words + of_groups)

    low, value, high = ends(measure(table))

    assert high - value == pytest.approx(min(margin, 1 - value))
    assert value - low == pytest.approx(margin)


def test_the_shares_are_those_of_an_analysis_of_variance() -> None:
    """Mean squares of words, words by frames and the rest, of columns in sd; a balanced design."""
    table = scores(5)
    z = stats.zscore(table.to_numpy()).reshape(60, 2, 6)
    by_frame, by_word = z.mean(axis=2), z.mean(axis=(1, 2))
    rest = ((z - by_frame[:, :, None]) ** 2).sum() / (60 * 2 * 5)
    frame = 6 * ((by_frame - by_word[:, None]) ** 2).sum() / 60
    word = 12 * (by_word**2).sum() / 60
    a, b = (word - rest) / 12, (frame - rest) / 12

    secondary = measure(table).secondary
    shares = [secondary[f"share of variance: {x}"] for x in ("word", "word and frame")]

    assert shares == pytest.approx([a, b])
    assert secondary["share of variance: word and wording"] == pytest.approx(rest)
    assert sum(shares) + rest == pytest.approx(1)


def test_framing_over_wordings() -> None:
    """The range of rho with valence in each frame, and what part of its variance is wording."""
    table, rng = scores(4, word=0.3), np.random.default_rng(1)
    valence = pd.Series(rng.normal(size=60), index=table.index)
    table = table.add(pd.DataFrame({name: valence * FRAMES[name] for name in WORDINGS}))
    rho = {name: stats.spearmanr(table[name], valence).statistic for name in WORDINGS}
    sides = [[rho[name] for name in WORDINGS if FRAMES[name] == sign] for sign in (1, -1)]

    estimate = measure(table, valence=valence.sample(frac=1, random_state=0))

    for side, name in zip(sides, ("positive", "negative"), strict=True):
        least, most = (
            estimate.secondary[f"rho with valence, {end} of {name} prompts"]
            for end in ("lowest", "highest")
        )
        assert (least, most) == pytest.approx((min(side), max(side)))
    share = estimate.secondary["share of the variance of rho with valence: wording"]
    assert share == pytest.approx(np.mean([np.var(side) for side in sides]) / np.var(sides))
    assert 0 < share < 0.5
    assert estimate.evidence.prompts[0].rho_with_valence == round(rho["a0"], 4)


@quick
@given(seed=SEEDS)
def test_the_sign_of_scores_does_not_matter(seed: int) -> None:
    """What all prompts turn round, they still agree on; one frame turned is another between."""
    table = scores(seed)
    half = table * [FRAMES[name] for name in WORDINGS]

    plain, negated, one_frame = (measure(each) for each in (table, -table, half))

    assert ends(negated) == pytest.approx(ends(plain))
    assert ends(one_frame) == pytest.approx(ends(plain))
    assert one_frame.secondary["between frames"] == pytest.approx(
        -plain.secondary["between frames"]
    )


def test_words_are_spread_over_ratings() -> None:
    """Every so many in the order of ratings; ties by spelling; not more than there are."""
    ratings = pd.Series([5.0, 1, 3, 3, 9, 7], index=["e", "a", "d", "c", "g", "f"])

    assert evenly_spread(ratings, 3) == ["a", "d", "f"]
    assert evenly_spread(ratings, 4) == ["a", "c", "e", "f"]
    assert evenly_spread(ratings, 99) == ["a", "c", "d", "e", "f", "g"]
    assert evenly_spread(ratings.iloc[:0], 3) == []


@pytest.mark.parametrize(
    ("words", "without", "valence", "said"),
    [
        (FEWEST - 1, [], None, "29 words, under 3 groups of positive prompts and 3 of negative"),
        (60, ["z0", "z1"], None, "60 words, under 3 groups of positive prompts and 2 of negative"),
        (60, [], pd.Series(range(29), index=[f"word{i}" for i in range(29)]), "29 of the words"),
    ],
)
def test_too_few(
    words: int, without: list[str], valence: pd.Series[float] | None, said: str
) -> None:
    """Words, groups of prompts, or words with a valence: rather than ranks of a handful."""
    with pytest.raises(MeasureError, match=rf"^{said}.*; at least 30 "):
        measure(scores().head(words).drop(columns=without), valence=valence)


@pytest.mark.parametrize(("but", "other"), [(0, 2.0), (1, 1.0), (1, 3.0)])
def test_a_prompt_without_order(but: int, other: float) -> None:
    """All words alike, or all but one: without that one there would be no ranks."""
    table = scores()
    table["y1"] = 2.0
    table.iloc[:but, WORDINGS.index("y1")] = other

    with pytest.raises(MeasureError, match=r"^under 'y1' all 60 words, .* \(so under 1 of 12 pro"):
        measure(table)


def on_toys(texts: list[str], scores: contract.Floats, noise: float, unit: float = 1.0) -> Estimate:
    """Of six wordings."""
    columns = {
        f"{side}{i}": sign * contract.turned(texts, scores, by=0.5, row=5 + i)
        for side, sign in (("good", 1), ("bad", -1))
        for i in range(3)
    }
    frames = {name: 1 if name.startswith("good") else -1 for name in columns}
    table = pd.DataFrame(columns, index=texts)
    noises = dict.fromkeys(columns, noise) | {"good0": unit * noise}
    table["good0"] *= unit
    return across_wordings(table, frames, rng=contract.rng(), noise=noises)


CONTRACT = contract.Contract("prompt_stability", on_toys, turned=+1, gaps=False, in_unit=True)
