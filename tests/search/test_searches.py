"""What an audit searches with: which prompt is meant, what chance draws, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.errors import SpecError
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.registry import ModelSpec
from rmaudit.search.constraints import Constraints
from rmaudit.search.search import Found
from rmaudit.search.searches import Searches, caveat, drawn
from rmaudit.search.settings import Direction, Settings
from tests.search.finds import found
from tests.toys import toy_checkpoint

BEST, WORST = PROMPTS["best"], PROMPTS["worst"]


def find(direction: Direction, prompt: Prompt) -> Found:
    """One find."""
    return found(["a"], [1.0], direction=direction, prompt=prompt)


def draw(n: int, prompt: Prompt) -> list[str]:
    """The prompt's name, so often."""
    return [prompt.name] * n


def test_the_only_prompt_need_not_be_named() -> None:
    """One that is declared may be."""
    one, two = Searches((BEST,), find, draw), Searches((BEST, WORST), find, draw)

    assert (one("down").prompt, one("down").direction) == (BEST, "down")
    assert two("up", "worst").prompt == WORST
    assert one.random(2) == ["best", "best"]
    assert two.random(1, "worst") == ["worst"]


def test_a_prompt_that_is_not_declared() -> None:
    """Nothing is searched that no one declared."""
    two = Searches((BEST, WORST), find, draw)
    with pytest.raises(SpecError) as unnamed:
        two("up")
    with pytest.raises(SpecError) as wrong:
        two.random(1, "greatest")

    assert str(unnamed.value) == ("searches: no prompt is named; this audit declares best, worst")
    assert str(wrong.value) == (
        "searches: 'greatest' is not declared; this audit declares best, worst"
    )


def test_what_is_said_of_a_search() -> None:
    """That it is a lower bound, with its budget."""
    assert caveat(found(["a", "b"], [1.0, 2.0], direction="down")) == (
        "A search finds a lower bound on what can be found (down, under 'best'): exhaustive, "
        "1,000 of at most 1,000 evaluations, 2 starts, 2 token ids."
    )


def test_random_sequences_obey_the_constraints(tmp_path: Path) -> None:
    """Of the length that is asked, and each can be sent as text; the same seed draws the same."""
    model = Checkpoint(ModelSpec("Toy", str(toy_checkpoint(tmp_path / "toy"))), cache=tmp_path)
    settings = Settings(length=2, constraints=Constraints(allow=("love", " war", " joy")))

    texts = drawn(model, BEST, settings, 200)

    assert len(texts) == 200
    assert {len(model.ids(text)) for text in texts} == {2}
    words = ("love", " war", " joy")
    assert set(texts) == {first + second for first in words for second in words}
    assert drawn(model, BEST, settings, 200) == texts
    assert drawn(model, BEST, Settings(length=2, seed=1), 200) != texts
