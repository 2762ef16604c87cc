"""Settings of a search: nothing that is none passes, and each error says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rmaudit.errors import SpecError
from rmaudit.search.settings import Gcg, Settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"length": 0}, "search: length 0; a sequence has 1 to 64 token ids"),
        ({"length": 65}, "search: length 65; a sequence has 1 to 64 token ids"),
        ({"budget": 0}, "search: budget 0; give at least 1 sequence to score, better 200000"),
        ({"starts": 0}, "search: starts 0; give at least 1 start"),
        ({"seed": -1}, "search: seed -1; give 0 or more"),
        ({"start": ""}, "search: the start '' has no token; give a text, or leave it out"),
        ({"beams": 0}, "search: beams 0; an exhaustive search has 1 to 10"),
        ({"beams": 11}, "search: beams 11; an exhaustive search has 1 to 10"),
        ({"direction": "sideways"}, "search: unknown direction 'sideways'; known: up, down"),
        ({"method": "luck"}, "search: unknown method 'luck'; known: exhaustive, gcg, random"),
        (
            {"beams": 2, "method": "gcg"},
            "search: beams are for method 'exhaustive', not 'gcg'; leave them out",
        ),
        (
            {"gcg": Gcg(target=1.0)},
            "search: a target is for method 'gcg', not 'exhaustive'; leave it out",
        ),
    ],
)
def test_settings_are_refused(given: dict[str, Any], message: str) -> None:
    """One line each: what was found, and what is allowed."""
    with pytest.raises(SpecError) as error:
        Settings(**given)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch": 0}, "GCG: batch 0; at least 1 is needed"),
        ({"top": 0}, "GCG: top 0; at least 1 is needed"),
        ({"distance": -1.0}, "GCG: distance -1.0; 0 (plain GCG) or more is needed"),
        ({"distance": float("nan")}, "GCG: distance nan; 0 (plain GCG) or more is needed"),
        ({"target": float("nan")}, "GCG: target nan; give a finite reward, such as 10 or -10"),
        ({"target": -float("inf")}, "GCG: target -inf; give a finite reward, such as 10 or -10"),
    ],
)
def test_settings_of_gcg_are_refused(given: dict[str, Any], message: str) -> None:
    """Likewise."""
    with pytest.raises(SpecError) as error:
        Gcg(**given)
    assert str(error.value) == message


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
    assert Settings(gcg=Gcg(batch=7)).said() == Settings().said()
    assert "beams" not in Settings(method="gcg").said()
    gcg = Settings(method="gcg", gcg=Gcg(batch=7)).said()
    assert gcg != Settings(method="gcg").said()
