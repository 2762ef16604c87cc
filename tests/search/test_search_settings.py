"""Settings of a search: nothing that is none passes, and each error says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rmaudit.errors import SpecError
from rmaudit.search.search_settings import Gcg, Settings


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"length": 0}, "length 0; .* 1 to 64 token ids"),
        ({"length": 65}, "length 65; "),
        ({"budget": 0}, "budget 0; give at least 1 sequence"),
        ({"starts": 0}, "starts 0; give at least 1"),
        ({"seed": -1}, "seed -1; give 0 or more"),
        ({"start": ""}, "start '' has no token; give a text"),
        ({"beams": 0}, "beams 0; .* 1 to 10"),
        ({"beams": 11}, "beams 11; "),
        ({"direction": "sideways"}, "direction 'sideways'; known: up, down"),
        ({"method": "luck"}, "method 'luck'; known: exhaustive, gcg, random"),
        ({"beams": 2, "method": "gcg"}, "'exhaustive', not 'gcg'; leave them out"),
        ({"gcg": Gcg(target=1.0)}, "'gcg', not 'exhaustive'; leave it out"),
    ],
)
def test_settings_are_refused(given: dict[str, Any], what: str) -> None:
    """One line each: what was found, and what is allowed."""
    with pytest.raises(SpecError, match=rf"^search: .*{what}.*$"):
        Settings(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"batch": 0},
        {"top": 0},
        {"distance": -1.0},
        {"distance": float("nan")},
        {"target": float("nan")},
        {"target": -float("inf")},
    ],
)
def test_settings_of_gcg_are_refused(given: dict[str, Any]) -> None:
    """Each by its name and what was found."""
    ((name, value),) = given.items()
    with pytest.raises(SpecError, match=rf"^GCG: {name} {value}; "):
        Gcg(**given)


def test_what_is_maximized_and_its_slope() -> None:
    """The reward, its negative, or minus its squared error; the slope is the derivative."""
    rewards = np.array([-1.0, 0.5, 2.0])
    up, down = Settings(), Settings(direction="down")
    target = Settings(direction="down", method="gcg", gcg=Gcg(target=-10.0))
    assert up.value(rewards).tolist() == [-1.0, 0.5, 2.0]
    assert down.value(rewards).tolist() == [1.0, -0.5, -2.0]
    assert target.value(rewards).tolist() == [-81.0, -110.25, -144.0]
    for settings in (up, down, target):
        step = 1e-6
        rise = np.diff(settings.value(np.array([0.5 - step, 0.5 + step])))[0] / (2 * step)
        assert settings.slope(0.5) == pytest.approx(rise, rel=1e-6)


def test_what_a_method_does_not_use_is_no_part_of_its_key() -> None:
    """GCG's settings make no other exhaustive search, nor beams another GCG."""
    assert Settings(gcg=Gcg(batch=7)).as_json() == Settings().as_json()
    assert "beams" not in Settings(method="gcg").as_json()
    gcg = Settings(method="gcg", gcg=Gcg(batch=7)).as_json()
    assert gcg != Settings(method="gcg").as_json()
