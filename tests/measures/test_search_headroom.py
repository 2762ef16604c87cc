"""Shares of starts: by hand, by an exact interval of our own, and what cannot be measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from rmaudit.errors import MeasureError
from rmaudit.measures import pessimal_identity
from rmaudit.measures.headroom import RealAnswer
from rmaudit.measures.pessimal_frames import UNIT, Placed, both_frames
from rmaudit.measures.search_headroom import Found, Search, SearchHeadroomEvidence, searched
from rmaudit.verdicts.records import Estimate

FRAME = pd.DataFrame({"score": np.arange(100.0)})  # the lowest 5 % end at 4.95
TERMS = pd.DataFrame(
    {"text": ["Elf", "old elves", "dwarf", "human"], "marked": [True, True, True, False]}
)
CHANCE = ["stone", "dwarf stone", "tree", "tree stone", "leaf"] * 20  # 1 of 5


def exact(count: int, n: int) -> tuple[float, float]:
    """Clopper and Pearson's interval by its definition: where either tail has 2.5 %."""
    low = high = 0.0
    if count:
        low = optimize.brentq(lambda p: stats.binom.sf(count - 1, n, p) - 0.025, 1e-9, 1 - 1e-9)
    if count < n:
        high = optimize.brentq(lambda p: stats.binom.cdf(count, n, p) - 0.025, 1e-9, 1 - 1e-9)
    return low, high if count < n else 1.0


def frames(scores: list[float], noise: float = 0.0) -> Estimate:
    """Of sequences with these scores under the other frame."""
    texts = [f"s{score}" for score in scores]
    return both_frames(texts, scores, FRAME, rng=np.random.default_rng(0), noise=noise)


# Identity terms


def identity(*args: Any, **settings: Any) -> Estimate:
    """Of a search that saw rewards that differ."""
    return pessimal_identity.identity(*args, scores=[0.0, 1.0], **settings)


def test_identity_by_hand() -> None:
    """Three of four starts name a group, one in five does by chance."""
    worst = ["stone Elf", "DWARFtree", "OldElves.x", "human elfin"]
    estimate = identity(worst, CHANCE, TERMS)

    low, high = exact(2, 4)
    assert estimate.value == pytest.approx(2 / 4 - 0.2)
    assert (estimate.low, estimate.high) == pytest.approx((low - 0.2, high - 0.2), abs=1e-6)
    assert (estimate.unit, estimate.n) == (UNIT, 4)
    assert estimate.secondary == {
        "share in pessimal sequences": 0.5,
        "share in random sequences": 0.2,
        "distinct pessimal sequences": 4.0,
    }
    assert [(s.text, s.names_a_group) for s in estimate.evidence.strings] == [
        *zip(worst, [True, False, True, False], strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("elf", True),
        (" ELF!", True),
        ("selfish", False),
        ("stoneElf", True),
        ("StoneelfTree", False),
        ("elf2", True),
        ("old elves", True),
        ("old, elves", True),
        ("elves old", False),
        ("human", False),
        ("", False),
    ],
)
def test_what_names_a_group(text: str, names: bool) -> None:
    """Whole words in any case, of marked groups; several words in their order."""
    assert identity([text], CHANCE, TERMS).evidence.strings[0].names_a_group is names


def test_sequences_of_like_sentiment() -> None:
    """A model that hates sad words is compared with sad sequences, of which more name a group."""
    valence = pd.Series({"sad": 2.0, "grim": 2.5, "glad": 8.0, "elf": 3.0})
    sad = ["sad stone", "sad Elf"] * 15
    glad, none = ["glad tree"] * 100, ["tree"] * 100

    estimate = identity(["grim Elf", "grim", "stone"], [*sad, *glad, *none], TERMS, valence=valence)

    assert estimate.value == pytest.approx(1 / 3 - 15 / 230)
    secondary = estimate.secondary
    # "grim Elf" (2.75) and "grim" (2.5) are like the sad ones, half of which name a group; "stone"
    # is like those that have no rated word, none of which does.
    assert secondary["share in random sequences of like sentiment"] == pytest.approx(1 / 3)
    assert secondary["above those of like sentiment"] == pytest.approx(0)


def test_starts_that_are_like_no_random_sequence() -> None:
    """Are left out of that comparison; where all are, it is not made."""
    valence = pd.Series({"sad": 2.0, "glad": 8.0})
    random = ["glad tree"] * 100

    both = identity(["sad Elf", "glad Elf"], random, TERMS, valence=valence)
    alone = identity(["sad Elf"], random, TERMS, valence=valence)

    assert both.secondary["above those of like sentiment"] == 1.0
    assert "above those of like sentiment" not in alone.secondary


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        (8, "Starts: 8; distinct sequences: 1. So many starts tell a share of 0.70 or more from"),
        (1, "Starts: 1; distinct sequences: 1. So many starts tell no share of them from chance"),
    ],
)
def test_it_says_what_so_few_starts_can_tell(starts: int, said: str) -> None:
    """Chance is 0.2. Of eight, four have 0.157 as their lower end and five 0.245: five must be."""
    (caveat,) = identity(["stone"] * starts, CHANCE, TERMS).caveats
    assert caveat.startswith(said)


def test_that_power_by_its_definition() -> None:
    """The share at which enough of eight starts are there in 80 of 100."""
    needed = next(k for k in range(1, 9) if exact(k, 8)[0] > 0.2)
    share = optimize.brentq(lambda p: stats.binom.sf(needed - 1, 8, p) - 0.8, 0.01, 0.99)

    (caveat,) = identity(["stone"] * 8, CHANCE, TERMS).caveats

    assert f"tell a share of {share:.2f} or more from chance (0.2) 4 times of 5." in caveat


@pytest.mark.parametrize(
    ("worst", "random", "terms"),
    [([], CHANCE, TERMS), (["a"], [], TERMS), (["a"], CHANCE, TERMS[3:])],
)
def test_nothing_to_count(worst: list[str], random: list[str], terms: pd.DataFrame) -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match="pessimal sequences, random ones and identity terms"):
        identity(worst, random, terms)


# Both frames


def test_both_frames_by_hand() -> None:
    """Two of four are at or below 4.95, where the lowest 5 of 100 tokens end."""
    estimate = frames([-3.0, 4.0, 5.0, 49.5])

    assert (estimate.value, estimate.unit, estimate.n) == (0.5, UNIT, 4)
    assert (estimate.low, estimate.high) == pytest.approx(exact(2, 4), abs=1e-6)
    sd = np.arange(100.0).std()
    assert estimate.secondary == pytest.approx(
        {
            "mean percentile under the other frame": (0 + 0.04 + 0.05 + 0.5) / 4,
            "mean sd above the other sweep's mean": (13.875 - 49.5) / sd,
            "distinct sequences": 4.0,
        }
    )
    assert estimate.evidence.strings[3] == Placed("s49.5", z=0.0, share_below=0.5)


@given(st.lists(st.floats(-50, 150), min_size=1, max_size=12))
def test_its_interval_is_exact(scores: list[float]) -> None:
    """Whatever the scores, and it has the share in it."""
    estimate = frames(scores)
    low, high = exact(sum(score <= 4.95 for score in scores), len(scores))

    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-5)


def test_noise_widens() -> None:
    """Only where it could move a score over the edge."""
    near, far = [4.9] * 4 + [5.0] * 4, [-90.0] * 4 + [90.0] * 4

    assert frames(near, noise=1.0).high > frames(near).high
    assert frames(far, noise=1.0).high == pytest.approx(frames(far).high)
    assert frames([4.9] * 8, noise=9.0).high == 1.0


@pytest.mark.parametrize("scores", [[], [float("nan"), 1.0]])
def test_no_sequences(scores: list[float]) -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match=r"sequences with finite scores .* got [01] of [02]"):
        frames(scores)


def test_a_sweep_of_equal_scores() -> None:
    """It has no lower end."""
    with pytest.raises(MeasureError, match="a sweep of sd 0"):
        both_frames(["a"], [1.0], FRAME.assign(score=2.0), rng=np.random.default_rng(0))


# Headroom


def test_headroom_of_a_search_by_hand() -> None:
    """In sd of the sweep: the best find, what there is to show of each, and the way there."""
    frame = pd.DataFrame({"score": [1.0, 5.0]})  # mean 3, sd 2
    found = pd.DataFrame({"text": ["x y", "z"], "ids": [(1, 2), (3,)], "score": [9.0, 4.0]})
    real = pd.DataFrame({"text": ["dull", "good"], "score": [2.0, 6.0]})

    about = Search(prompt="best", direction="up", method="exhaustive", evaluations=100)
    estimate = searched(
        found, real, frame, search=about, trace=[(1, 3.0), (40, 9.0)], rng=np.random.default_rng(0)
    )

    assert estimate.value == 1.5
    assert estimate.evidence == SearchHeadroomEvidence(
        search=about,
        found=(Found("x y", (1, 2), 3.0), Found("z", (3,), 0.5)),
        real=RealAnswer("good", 1.5),
        trace=((1, 0.0), (40, 3.0)),
    )
