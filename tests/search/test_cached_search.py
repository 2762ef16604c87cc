"""Searches of real checkpoints, against brute force; kept, resumed, and as audits ask for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import NotRecorded, SpecError
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.recorded_model import Recorded
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.scoring import engine
from rmaudit.search.cached_search import (
    Searches,
    SearchResult,
    caveat,
    random_texts,
    search,
    shortlisted,
)
from rmaudit.search.search_evaluator import SHARD
from rmaudit.search.search_settings import DIRECTIONS, Direction, Settings, come_back, sendable
from tests.search import finds
from tests.toys import toy_checkpoint

PROMPT = "What is the best thing?"
BEST, WORST = PROMPTS["best"], PROMPTS["worst"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A random checkpoint with a vocabulary of 301."""
    folder = toy_checkpoint(tmp_path_factory.mktemp("model") / "toy-0")
    return Checkpoint(ModelSpec(folder.name, str(folder)), cache=folder / "cache")


def rewards_of_pairs(model: Checkpoint, ids: tuple[int, ...]) -> NDArray[np.float32]:
    """The rewards of all pairs that may be found, by brute force."""
    pairs = [(a, b) for a in ids for b in ids]
    good = come_back(model, pairs)
    return model.score(PROMPT, [pair for pair, one in zip(pairs, good, strict=True) if one])


def is_best(found: float, rewards: NDArray[np.float32], direction: str) -> bool:
    """Whether nothing is better, as far as float32 tells."""
    best = rewards.max() if direction == "up" else rewards.min()
    return bool(abs(found - best) < 1e-5 * rewards.std())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exhaustive", "gcg"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_best_of_all_pairs_is_found(
    model: Checkpoint, tmp_path: Path, method: str, direction: str
) -> None:
    """Of 60 ids, where a third of all pairs may be scored."""
    ids = tuple(sendable(model.vocabulary(), model.special_ids)[::4][:60].tolist())
    options: Any = {"direction": direction, "method": method, "batch": 64}
    asked = Settings(length=2, starts=8, budget=1_200, ids=ids, **options)

    found = search(model, PROMPT, asked, cache=tmp_path).frame["score"][0]

    assert is_best(found, rewards_of_pairs(model, ids), direction)


@pytest.mark.slow
def test_what_is_found_is_what_the_model_says(model: Checkpoint, tmp_path: Path) -> None:
    """Scores are the model's own, texts give back their ids, best first, and each is allowed."""
    found = search(model, "worst", Settings(length=3, budget=3000, starts=2), cache=tmp_path)
    own = model.score(found.prompt.text, found.frame["ids"].tolist())
    assert found.frame["score"].to_numpy() == pytest.approx(own, abs=1e-5)
    assert found.frame["score"].is_monotonic_decreasing
    assert not found.frame["ids"].duplicated().any()
    assert model.tokenized(found.frame["text"].tolist()) == found.frame["ids"].tolist()
    assert found.bests["start"].tolist() == [0, 1]
    assert found.bests["score"].max() == pytest.approx(found.frame["score"][0], abs=1e-5)
    assert found.trace[-1][1] == pytest.approx(found.frame["score"][0], abs=1e-5)
    assert found.prompt.name == "worst"
    assert 0 <= found.noise < 1e-4
    assert found.evaluations == 3000


def scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many answers the engine was given, call by call."""
    calls: list[int] = []
    real = engine.begin

    def begin(scorer, prefix, answers, suffix, **options):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN202
        calls.append(len(answers))
        return real(scorer, prefix, answers, suffix, **options)

    monkeypatch.setattr(engine, "begin", begin)
    return calls


def same(one: SearchResult, other: SearchResult) -> bool:
    """Byte by byte, but for where they come from."""
    return (
        one.key == other.key
        and one.frame.equals(other.frame)
        and one.bests.equals(other.bests)
        and one.trace == other.trace
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exhaustive", "gcg"])
def test_a_killed_search_goes_on_to_the_same_end(
    model: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Whatever was done by then; what was written is not scored again.

    Once it has ended it is read back; another setting is another search.
    """
    settings = Settings(length=3, budget=5 * SHARD, starts=3, method=method)  # type: ignore[arg-type]
    whole = search(model, PROMPT, settings, cache=tmp_path / "whole")
    calls = scored(monkeypatch)
    counted = engine.begin

    def killed(*given: object, **options: object) -> object:
        if sum(calls) > 2.5 * SHARD:
            raise KeyboardInterrupt
        return counted(*given, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(engine, "begin", killed)
        with pytest.raises(KeyboardInterrupt):
            search(model, PROMPT, settings, cache=tmp_path / "killed")
    before = sum(calls)
    assert same(search(model, PROMPT, settings, cache=tmp_path / "killed"), whole)
    written = before // SHARD * SHARD
    assert sum(calls) - before == pytest.approx(whole.evaluations - written, abs=200)
    assert not list((tmp_path / "killed" / "scores").glob("*.parts"))
    calls.clear()
    assert same(search(model, PROMPT, settings, cache=tmp_path / "killed"), whole)
    assert calls == []
    few = replace(settings, budget=50)
    assert search(model, PROMPT, few, cache=tmp_path / "killed").evaluations == sum(calls) == 50


def test_a_recorded_model_is_not_searched(tmp_path: Path) -> None:
    """Nobody published what would be found."""
    with pytest.raises(NotRecorded, match="recorded"):
        search(Recorded(ModelSpec("N-Lla-8B", "owner/name")), PROMPT, Settings(), cache=tmp_path)


# What an audit searches with


def test_the_only_prompt_need_not_be_named() -> None:
    """One that is declared may be, and no other."""

    def find(direction: Direction, prompt: Prompt) -> SearchResult:
        return finds.found(["a"], [1.0], direction=direction, prompt=prompt)

    one, two = (
        Searches(prompts, find, lambda n, prompt: [prompt.name] * n)
        for prompts in ((BEST,), (BEST, WORST))
    )

    assert (one("down").prompt, one("down").direction) == (BEST, "down")
    assert two("up", "worst").prompt == WORST
    assert one.random(2) == ["best", "best"]
    assert two.random(1, "worst") == ["worst"]
    for ask in (two, lambda *given: two.random(1, *given[1:])):
        with pytest.raises(SpecError, match=r"^searches: 'greatest' is not declared"):
            ask("up", "greatest")


def test_what_is_said_of_a_search() -> None:
    """That it is a lower bound, with its budget, and the ids that it was held to."""
    found = finds.found(["a", "b"], [1.0, 2.0], direction="down")
    said = (
        "A search finds a lower bound on what can be found (down, under 'best'): exhaustive, "
        "1,000 of at most 1,000 evaluations, 2 starts, 2 token ids"
    )
    few = replace(found, settings=replace(found.settings, ids=(3, 5)))

    assert caveat(found) == f"{said}."
    assert caveat(few) == f"{said}, among the 2 ids that score best alone."


def test_random_sequences_obey_the_constraints(model: Checkpoint) -> None:
    """Of the length that is asked, and each can be sent as text; the same seed draws the same."""
    words = ("love", " war", " joy")
    settings = Settings(length=2, ids=tuple(model.ids(word)[0] for word in words))

    texts = random_texts(model, BEST, settings, 200)

    assert len(texts) == 200
    assert {len(model.ids(text)) for text in texts} == {2}
    assert set(texts) == {first + second for first in words for second in words}
    assert random_texts(model, BEST, settings, 200) == texts
    assert random_texts(model, BEST, Settings(length=2, seed=1), 200) != texts


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_small_budget_is_held_to_what_scores_best_alone(
    model: Checkpoint, direction: str
) -> None:
    """As many ids as can be swept twice a place from every start, and only allowed ones."""
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
    few = frame[frame["token_id"].isin(may[:12])].assign(score=[1.0] * 10 + [np.nan] * 2)
    assert shortlisted(model, few, settings) == settings  # ten, of which all can be swept
