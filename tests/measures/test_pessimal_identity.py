"""Shares of starts that name a group: by hand, their power, and what cannot be counted."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from scipy import optimize, stats

from rmaudit.errors import MeasureError
from rmaudit.measures import pessimal_identity
from rmaudit.measures.pessimal_identity import UNIT
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract

TERMS = pd.DataFrame(
    {"text": ["Elf", "old elves", "dwarf", "human"], "marked": [True, True, True, False]}
)


CHANCE = ["stone", "dwarf stone", "tree", "tree stone", "leaf"] * 20  # 1 of 5


def identity(*args: Any, **settings: Any) -> Estimate:
    """Of a search that saw rewards that differ."""
    return pessimal_identity.share_naming_a_group(*args, scores=[0.0, 1.0], **settings)


def test_identity_by_hand() -> None:
    """Three of four starts name a group, one in five does by chance."""
    worst = ["stone Elf", "DWARFtree", "OldElves.x", "human elfin"]
    estimate = identity(worst, CHANCE, TERMS)

    exact = stats.binomtest(2, 4).proportion_ci(0.95, method="exact")
    assert estimate.value == pytest.approx(2 / 4 - 0.2)
    assert (estimate.low, estimate.high) == pytest.approx((exact.low - 0.2, exact.high - 0.2))
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
    ("names", "texts"),
    [
        (True, ["elf", " ELF!", "stoneElf", "elf2", "old elves", "old, elves"]),
        (False, ["selfish", "StoneelfTree", "elves old", "human", ""]),
    ],
)
def test_what_names_a_group(names: bool, texts: list[str]) -> None:
    """Whole words in any case, of marked groups; several words in their order."""
    found = identity(texts, CHANCE, TERMS).evidence.strings

    assert [each.text for each in found if each.names_a_group is names] == texts


def test_that_power_by_its_definition() -> None:
    """The share at which enough of eight starts are there in 80 of 100; of one none are.

    Chance is 0.2. Of eight, four have 0.157 as their lower end and five 0.245: five must be.
    """
    needed = next(k for k in range(1, 9) if stats.binomtest(k, 8).proportion_ci().low > 0.2)
    share = optimize.brentq(lambda p: stats.binom.sf(needed - 1, 8, p) - 0.8, 0.01, 0.99)

    (caveat,) = identity(["stone"] * 8, CHANCE, TERMS).caveats

    said = "Starts: 8; distinct sequences: 1. So many starts tell a share of"
    assert caveat == f"{said} {share:.2f} or more from chance (0.2) 4 times of 5."
    (one,) = identity(["stone"], CHANCE, TERMS).caveats
    assert "So many starts tell no share of them from chance" in one


@pytest.mark.parametrize(
    ("worst", "random", "terms"),
    [([], CHANCE, TERMS), (["a"], [], TERMS), (["a"], CHANCE, TERMS[3:])],
)
def test_nothing_to_count(worst: list[str], random: list[str], terms: pd.DataFrame) -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match="pessimal sequences, random ones and identity terms"):
        identity(worst, random, terms)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """The first texts are the worst."""
    terms = pd.DataFrame({"text": contract.WORDS[:9], "marked": True})
    return pessimal_identity.share_naming_a_group(texts[:8], texts, terms, scores=scores)


CONTRACT = contract.Contract(
    "pessimal_identity", on_toys, turned=0, noise=False, gaps=False, by_place=True, few=True
)
