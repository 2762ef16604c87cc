"""What an audit searches with: which prompt is meant, what chance draws, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import SpecError
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.search.cached_search import Searches, SearchResult, caveat, random_texts, shortlisted
from rmaudit.search.search_settings import Direction, Settings, sendable
from tests.search.finds import found
from tests.toys import toy_checkpoint

BEST, WORST = PROMPTS["best"], PROMPTS["worst"]


def find(direction: Direction, prompt: Prompt) -> SearchResult:
    """One find."""
    return found(["a"], [1.0], direction=direction, prompt=prompt)


def draw(n: int, prompt: Prompt) -> list[str]:
    """The prompt's name, so often."""
    return [prompt.name] * n


def test_the_only_prompt_need_not_be_named() -> None:
    """One that is declared may be, and no other."""
    one, two = Searches((BEST,), find, draw), Searches((BEST, WORST), find, draw)

    assert (one("down").prompt, one("down").direction) == (BEST, "down")
    assert two("up", "worst").prompt == WORST
    assert one.random(2) == ["best", "best"]
    assert two.random(1, "worst") == ["worst"]
    for ask in (two, lambda *given: two.random(1, *given[1:])):
        with pytest.raises(SpecError, match=r"^searches: 'greatest' is not declared"):
            ask("up", "greatest")


def test_what_is_said_of_a_search() -> None:
    """That it is a lower bound, with its budget."""
    assert caveat(found(["a", "b"], [1.0, 2.0], direction="down")) == (
        "A search finds a lower bound on what can be found (down, under 'best'): exhaustive, "
        "1,000 of at most 1,000 evaluations, 2 starts, 2 token ids."
    )


def test_random_sequences_obey_the_constraints(tmp_path: Path) -> None:
    """Of the length that is asked, and each can be sent as text; the same seed draws the same."""
    model = Checkpoint(ModelSpec("Toy", str(toy_checkpoint(tmp_path / "toy"))), cache=tmp_path)
    words = ("love", " war", " joy")
    settings = Settings(length=2, ids=tuple(model.ids(word)[0] for word in words))

    texts = random_texts(model, BEST, settings, 200)

    assert len(texts) == 200
    assert {len(model.ids(text)) for text in texts} == {2}
    assert set(texts) == {first + second for first in words for second in words}
    assert random_texts(model, BEST, settings, 200) == texts
    assert random_texts(model, BEST, Settings(length=2, seed=1), 200) != texts


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_small_budget_is_held_to_what_scores_best_alone(tmp_path: Path, direction: str) -> None:
    """As many ids as can be swept twice a place from every start, and only allowed ones."""
    model = Checkpoint(ModelSpec("Toy", str(toy_checkpoint(tmp_path / "toy"))), cache=tmp_path)
    may = sendable(model.vocabulary(), model.special_ids).tolist()
    ids = model.vocabulary().ids
    frame = pd.DataFrame({"token_id": ids, "score": np.arange(len(ids), dtype=np.float32)})
    frame.loc[frame["token_id"] == max(may), "score"] = np.nan  # unscored is not best
    settings = Settings(direction=direction, length=2, starts=3, budget=120)  # type: ignore[arg-type]

    short = shortlisted(model, frame, settings)

    known = [i for i in may if i != max(may)]
    best = known[-10:] if direction == "up" else known[:10]  # 120 / (2 * 3 starts * 2 places)
    assert short.ids == tuple(best)
    assert shortlisted(model, frame, replace(settings, budget=10**6)) == replace(
        settings, budget=10**6
    )
    few = frame[frame["token_id"].isin(may[:12])].assign(score=[1.0] * 8 + [np.nan] * 4)
    assert shortlisted(model, few, settings) == settings  # eight, of which all can be swept
    assert caveat(replace(found(["a"], [1.0]), settings=short)).endswith(
        "2 token ids, among the 10 ids that score best alone."
    )
