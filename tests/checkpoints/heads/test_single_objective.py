"""Objectives are named as the model says, asked for by name or number, and never guessed."""

from __future__ import annotations

from typing import Any

import pytest

from rmaudit.checkpoints.heads import gated, linear, single_objective, uncertainty
from rmaudit.checkpoints.heads.single_objective import names
from rmaudit.errors import ModelError
from tests.checkpoints.heads.whole import GATED, URM

FIVE = {"score.weight": (5, 6)}
WORDS = ("helpful", "honest", "safe", "short", "kind")
QUALITIES = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")


def labels(*names: str) -> dict[str, Any]:
    """Config.json of a classifier with these labels."""
    return {"hidden_size": 6, "id2label": {str(i): name for i, name in enumerate(names)}}


def test_names_are_the_configurations_or_the_cards() -> None:
    """In this order; without any, an output is its number."""
    assert names(linear.NAME, labels(*WORDS), FIVE) == WORDS
    plain = labels(*(f"LABEL_{i}" for i in range(5)))
    for config in (plain, labels("one"), labels(*"aabcd"), {"hidden_size": 6}):
        assert names(linear.NAME, config, FIVE) == tuple("01234")
    assert names(linear.NAME, labels("LABEL_0"), {"score.weight": (1, 6)}) == ()


def test_published_models_have_the_names_of_their_cards() -> None:
    """ArmoRM and QRM have nineteen, or HelpSteer's five; URM has those of HelpSteer."""
    config = GATED["ArmoRM"].config
    nineteen = names(gated.NAME, config | {"num_objectives": 19}, {})
    assert len(set(nineteen)) == 19
    assert [nineteen[i] for i in (0, 8, 10, 18)] == [
        "helpsteer-helpfulness", "ultrafeedback-honesty", "beavertails-is_safe",
        "code-readability",
    ]  # fmt: skip
    five = names(gated.NAME, config | {"num_objectives": 5}, {})
    assert five == tuple(f"helpsteer-{name}" for name in QUALITIES)
    assert names(gated.NAME, config | {"num_objectives": 4}, {}) == tuple("0123")
    assert names(uncertainty.NAME, URM.config, {"score.weight": (10, 32)}) == QUALITIES


def test_an_objective_is_asked_for_by_its_name_its_number_or_its_end() -> None:
    """A name goes before a number; an end must be one name's alone."""
    found = ("a-honesty", "a-help", "b-help", "0")
    asked = {"a-honesty": 0, "honesty": 0, "b-help": 2, "0": 3, "1": 1, "3": 3}
    assert {name: single_objective.index_of(name, "gated", found) for name in asked} == asked
    for wrong, said in {
        "help": "is 2 of its outputs; name one of these: a-help, b-help",
        "honest": "known: a-honesty, a-help, b-help, 0, or a number from 0 to 3",
        "4": "no objective '4'",
        "b-hepl": "did you mean 'b-help'?",
    }.items():
        with pytest.raises(ModelError, match=said):
            single_objective.index_of(wrong, "gated", found)
    with pytest.raises(ModelError, match="its value head gives one reward and no more"):
        single_objective.index_of("0", "value", ())
