"""Which of two values ranks higher: pairs counted one by one, symmetries, and coverage."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.differences_of_estimates import difference
from rmaudit.measures.opposite_list_gap import Axis, most_common
from rmaudit.measures.value_tilt import FEWEST, UNIT, tilt
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import FRAMES, GROUPS, WORDINGS, ends

quick = settings(max_examples=15, deadline=None)
SEEDS = st.integers(0, 999)


def made(first: int = 30, second: int = 40) -> Axis:
    """Lists of words that have no stem in common."""
    lists = ([f"{side}{i:03}" for i in range(n)] for side, n in (("ag", first), ("co", second)))
    return Axis("agency over communion", *map(tuple, lists))


AXIS = made()


def scores(
    seed: int = 0,
    *,
    by: float = 0.0,
    whatever: float = 0.0,
    adjective: float = 0.3,
    axis: Axis = AXIS,
    words: np.random.Generator | None = None,
) -> pd.DataFrame:
    """Words under the 12 prompts: their own part, a prompt's, and the first list's advantage.

    It is `by` as the prompt asks, `whatever` is asked besides, and varies by `adjective`.
    """
    rng = np.random.default_rng(seed)
    first = np.arange(len(axis.words)) < len(axis.first)
    own, framed = (words or rng).normal(size=(2, len(first)))
    of_group = {group: adjective * rng.normal() for group in "abcxyz"}
    columns = {
        name: own
        + sign * framed
        + first * (whatever + sign * by + of_group[name[0]])
        + 0.5 * rng.normal(size=len(first))
        for name, sign in FRAMES.items()
    }
    return pd.DataFrame(columns, index=list(axis.words))


def measure(table: pd.DataFrame, *axes: Axis, **given: Any) -> Estimate:
    """The estimate, with groups."""
    rng = np.random.default_rng(0)
    return tilt(table, axes or [AXIS], FRAMES, rng=rng, **{"groups": GROUPS, **given})


def counted(table: pd.DataFrame, name: str, axis: Axis = AXIS) -> float:
    """The share of pairs in which the first list's word wins, less a half; a tie is half."""
    column = table[name]
    won = [
        (column[one] > column[other]) + 0.5 * (column[one] == column[other])
        for one, other in product(axis.first, axis.second)
    ]
    return float(np.mean(won)) - 0.5


def by_frame(table: pd.DataFrame, axis: Axis = AXIS) -> dict[int, float]:
    """The mean of these."""
    return {
        sign: float(
            np.mean([counted(table, name, axis) for name in WORDINGS if FRAMES[name] == sign])
        )
        for sign in (1, -1)
    }


@pytest.mark.parametrize("tied", [False, True])
def test_the_value_is_that_of_all_pairs(*, tied: bool) -> None:
    """Half the difference of the frames' shares; each frame and their half sum stand beside."""
    table = scores(1, by=0.4, whatever=0.3).round(0 if tied else 9)
    up, down = by_frame(table).values()

    estimate = measure(table)

    assert estimate.value == pytest.approx((up - down) / 2)
    assert estimate.secondary["gap under positive prompts"] == pytest.approx(up)
    assert estimate.secondary["gap under negative prompts"] == pytest.approx(down)
    assert estimate.secondary["gap whatever is asked"] == pytest.approx((up + down) / 2)
    assert [row.gap for row in estimate.evidence.prompts] == [
        pytest.approx(counted(table, name), abs=1e-4) for name in WORDINGS
    ]
    assert (estimate.unit, estimate.n) == (UNIT, 70)


def test_the_medians_are_the_papers() -> None:
    """The rank of the highest reward is 1: as a share of the words, from the other end."""
    table = scores(2, by=0.5)
    ranks = (-table).rank()
    median = np.mean(
        [ranks[name][list(AXIS.first)].median() for name in WORDINGS if FRAMES[name] > 0]
    )

    told = measure(table).secondary["median percentile of agency, positive prompts"]

    assert 1 - told == pytest.approx((median - 0.5) / 70)


def test_the_interval_is_delongs_and_that_of_the_groups() -> None:
    """Variances of the words' shares within either list, and of adjectives within frames."""
    table = scores(3, by=0.2)
    share = dict.fromkeys(AXIS.words, 0.0)
    for name, (one, other) in product(WORDINGS, product(AXIS.first, AXIS.second)):
        part = FRAMES[name] / 12 * (table[name][one] > table[name][other])
        share[one] += part / 40
        share[other] -= part / 30
    of_words = sum(np.var([share[w] for w in pole], ddof=1) / len(pole)
                   for pole in (AXIS.first, AXIS.second))  # fmt: skip
    of_groups = 0.0
    for side in ("abc", "xyz"):
        means = [np.mean([counted(table, f"{group}{i}") for i in range(2)]) for group in side]
        of_groups += np.var(means, ddof=1) / 3 / 4
    freedom = (of_words + of_groups) ** 2 / (of_words**2 / 68 + of_groups**2 / 4)
    margin = stats.t.ppf(0.975, freedom) * math.sqrt(of_words + of_groups)

    low, value, high = ends(measure(table))

    assert (value - low, high - value) == pytest.approx((margin, margin))


def test_happiness_is_held_fixed() -> None:
    """Where the reward is happiness, the list that is happier is worth nothing more."""
    table = scores(5) * 0
    happiness = pd.Series(np.random.default_rng(5).normal(size=70), index=list(AXIS.words))
    happiness[list(AXIS.second)] += 1.5
    table = table.add({name: FRAMES[name] * 1.0 for name in WORDINGS}).mul(happiness, axis=0)

    estimate = measure(table, happiness=happiness.drop(AXIS.first[0]))

    assert estimate.high < -0.2
    assert abs(estimate.secondary["at equal happiness"]) < 0.05
    assert estimate.secondary["words with a happiness"] == 69


def test_other_axes_stand_beside() -> None:
    """With their own words and intervals; one with too few words is left out."""
    care, few = (Axis(f"{name}: virtues over vices", AXIS.first[:n], AXIS.second[:n])
                 for name, n in (("care", 12), ("loyalty", 7)))  # fmt: skip
    table = scores(6, by=0.8)

    estimate = measure(table, AXIS, care, few)
    alone = by_frame(table, care)

    assert estimate.secondary[care.name] == pytest.approx((alone[1] - alone[-1]) / 2)
    assert few.name not in estimate.secondary
    assert estimate.caveats[0].endswith("fewer than 8 words: loyalty: virtues over vices.")
    assert [(row.axis, row.words) for row in estimate.evidence.axes] == [
        (AXIS.name, 70),
        (care.name, 24),
    ]
    assert estimate.evidence.axes[1].low < estimate.secondary[care.name]


def test_common_words_are_of_different_stems() -> None:
    """The most frequent form of each, the most frequent stems; what has no frequency is out."""
    axis = Axis("x", ("abuse", "abused", "harm", "harms", "kill", "zyx"), ("care", "cared"))
    zipf = pd.Series({"abuse": 4, "abused": 5.0, "harm": 6, "harms": 3, "kill": 2, "care": 1})

    assert most_common(axis, zipf, 2) == Axis("x", ("abused", "harm"), ("care",))


@quick
@given(seed=SEEDS, by=st.floats(-1, 1))
def test_swapped_lists_and_turned_scores_turn_the_sign(seed: int, by: float) -> None:
    """Value and interval are mirrored; both at once is as before."""
    table = scores(seed, by=by)
    other = Axis("communion over agency", AXIS.second, AXIS.first)

    plain, swapped, turned = measure(table), measure(table, other), measure(-table)

    low, value, high = ends(plain)
    assert ends(swapped) == pytest.approx((-high, -value, -low))
    assert ends(turned) == pytest.approx((-high, -value, -low))


@quick
@given(seed=SEEDS, scale=st.floats(0.01, 100), shift=st.floats(-100, 100))
def test_only_the_order_under_each_prompt_counts(seed: int, scale: float, shift: float) -> None:
    """Any growing curve, another one for each prompt, changes nothing."""
    table = scores(seed).round(6)
    bent = table.copy()
    bent["a0"] = scale * table["a0"] + shift
    bent["x1"] = np.exp(table["x1"])

    assert ends(measure(bent)) == pytest.approx(ends(measure(table)))


@pytest.mark.slow
@pytest.mark.parametrize(("by", "adjective"), [(0.0, 0.0), (0.0, 0.5), (0.5, 0.5)])
def test_the_interval_covers_what_was_planted(by: float, adjective: float) -> None:
    """In 93 to 98.5 % of 600 draws of words and adjectives; truth from a million pairs."""
    wide = math.sqrt(2 * (1 + 1 + 0.25))  # of a difference of two words under a prompt
    spread = math.hypot(wide, adjective)
    truth = float(stats.norm.cdf(by / spread)) - 0.5

    found = [measure(scores(seed, by=by, adjective=adjective)) for seed in range(600)]

    held = np.mean([each.low <= truth <= each.high for each in found])
    assert 0.93 <= held <= 0.985


@pytest.mark.slow
def test_drift_is_paired() -> None:
    """Two checkpoints on the same words: the truth is held, in an interval half as long."""
    held, shorter = [], []
    truth = float(stats.norm.cdf(0.3 / math.sqrt(4.5))) - 0.5
    for seed in range(400):
        old, new = (
            measure(scores(one, by=by, adjective=0.0, words=np.random.default_rng([9, seed])))
            for one, by in ((seed, 0.0), (10_000 + seed, 0.3))
        )
        found = difference(new, old)
        held.append(found.low <= truth <= found.high)
        apart = math.hypot(new.high - new.low, old.high - old.low)
        shorter.append((found.high - found.low) / apart)

    assert 0.93 <= np.mean(held) <= 0.995
    assert np.median(shorter) < 0.6


@pytest.mark.parametrize(
    ("axis", "change", "said"),
    [
        (made(FEWEST - 1), {}, r"^19 words of the shorter list of 'agency .*, under 3 groups of"),
        (AXIS, dict.fromkeys(["y0", "y1", "z0", "z1"]), r"^30 words .* and 1 of negative ones"),
        (AXIS, {"y1": 2.0}, r"^under 'y1' all 70 words have the same score"),
        (AXIS, {"y1": math.nan}, r"^expected a finite score .* 70 are not$"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    axis: Axis, change: dict[str, float | None], said: str
) -> None:
    """Few words, the spread of one adjective, words all alike, or a score that is no number."""
    gone = [name for name, value in change.items() if value is None]
    table = scores(axis=axis).assign(**change).drop(columns=gone)

    with pytest.raises(MeasureError, match=said):
        measure(table, axis)


def test_forms_of_a_word_are_one() -> None:
    """Twice the words, each in two forms that score alike, know no more."""
    table = scores(4)
    forms = table.rename(index=lambda word: f"{word}s")
    twice = Axis(
        AXIS.name, *((*pole, *(f"{w}s" for w in pole)) for pole in (AXIS.first, AXIS.second))
    )

    assert ends(measure(pd.concat([table, forms]), twice)) == pytest.approx(ends(measure(table)))


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Of the words of more rating and of less, under two wordings of either frame."""
    columns = {
        f"{side}{i}": sign * contract.turned(texts, scores, by=0.5, row=5 + i)
        for side, sign in (("good", 1), ("bad", -1))
        for i in range(2)
    }
    frames = {name: 1 if name.startswith("good") else -1 for name in columns}
    more = contract.of(contract.KNOWN[2], texts) > 0
    lists = (tuple(sorted(np.array(texts)[side])) for side in (more, ~more))
    noises = dict.fromkeys(columns, noise)
    table = pd.DataFrame(columns, index=texts)
    return tilt(table, [Axis("more over less", *lists)], frames, rng=contract.rng(), noise=noises)


CONTRACT = contract.Contract("value_tilt", on_toys, turned=-1, gaps=False, by_stem=True)
