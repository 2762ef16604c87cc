"""Settings of a search: nothing that is none passes, and each error says what to do."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from rmaudit.errors import SpecError
from rmaudit.search.search_settings import Settings


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"length": 0}, "length 0; .* 1 to 64 token ids"),
        ({"length": 65}, "length 65; "),
        ({"budget": 0}, "budget 0; give at least 1 sequence"),
        ({"starts": 0}, "starts 0; give at least 1"),
        ({"batch": 0}, "batch 0; give at least 1 swap"),
        ({"seed": -1}, "seed -1; give 0 or more"),
        ({"direction": "sideways"}, "direction 'sideways'; known: up, down"),
        ({"method": "luck"}, "method 'luck'; known: exhaustive, gcg"),
    ],
)
def test_settings_are_refused(given: dict[str, Any], what: str) -> None:
    """One line each: what was found, and what is allowed."""
    with pytest.raises(SpecError, match=rf"^search: .*{what}.*$"):
        Settings(**given)


def test_what_is_maximized() -> None:
    """The reward, or its negative."""
    rewards = np.array([-1.0, 0.5, 2.0])
    assert Settings().value(rewards).tolist() == [-1.0, 0.5, 2.0]
    assert Settings(direction="down").value(rewards).tolist() == [1.0, -0.5, -2.0]


def test_what_a_method_does_not_use_is_no_part_of_its_key() -> None:
    """GCG's batch makes no other exhaustive search."""
    assert Settings(batch=7).as_json() == Settings().as_json()
    assert Settings(method="gcg", batch=7).as_json() != Settings(method="gcg").as_json()


def test_keys_of_kept_searches_stay() -> None:
    """To the last letter: what was searched before is read back."""
    rules = (
        '"constraints": {"allow": %s, "ascii": false, "deny": [], "floor": null, '
        '"printable": true, "round_trip": true, "special": false, "words": false}, '
    )
    assert json.dumps(Settings(ids=(3, 5)).as_json(), sort_keys=True) == (
        '{"beams": 1, "budget": 200000, '
        + rules % '["#3", "#5"]'
        + '"direction": "up", "length": 3, "method": "exhaustive", "seed": 0, "start": null, '
        '"starts": 8}'
    )
    assert json.dumps(Settings(method="gcg", direction="down").as_json(), sort_keys=True) == (
        '{"budget": 200000, '
        + rules % "null"
        + '"direction": "down", "gcg": {"batch": 128, "distance": 1.0, "fresh": true, '
        '"greedy": true, "target": null, "top": 256}, "length": 3, "method": "gcg", "seed": 0, '
        '"start": null, "starts": 8}'
    )
