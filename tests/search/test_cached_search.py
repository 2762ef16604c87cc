"""Searches of real checkpoints, against brute force; kept, resumed, and refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import MeasureError, NoGradient, NotRecorded, SpecError
from rmaudit.models.base_language_model import base_of
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.recorded_model import Recorded
from rmaudit.scoring import engine
from rmaudit.search.cached_search import SearchResult, search
from rmaudit.search.constraints import Constraints, admits, allowed
from rmaudit.search.search_evaluator import SHARD
from rmaudit.search.search_settings import DIRECTIONS, Gcg, Settings
from tests.toys import toy_checkpoint, toy_language_model

PROMPT = "What is the best thing?"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A random checkpoint with a vocabulary of 301."""
    folder = toy_checkpoint(tmp_path_factory.mktemp("model") / "toy-0")
    return Checkpoint(ModelSpec(folder.name, str(folder)), cache=folder / "cache")


def rewards_of_pairs(model: Checkpoint, limits: Constraints) -> NDArray[np.float32]:
    """The rewards of all pairs that may be found, by brute force."""
    ids = allowed(limits, model.vocabulary(), model.special_ids).tolist()
    pairs = [(a, b) for a in ids for b in ids]
    good = admits(limits, model, PROMPT, pairs)
    return model.score(PROMPT, [pair for pair, one in zip(pairs, good, strict=True) if one])


def is_best(found: float, rewards: NDArray[np.float32], direction: str) -> bool:
    """Whether nothing is better, as far as float32 tells."""
    best = rewards.max() if direction == "up" else rewards.min()
    return bool(abs(found - best) < 1e-5 * rewards.std())


@pytest.mark.parametrize("method", ["exhaustive", "gcg"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_best_of_all_pairs_is_found(
    model: Checkpoint, tmp_path: Path, method: str, direction: str
) -> None:
    """Of 60 ids, where a third of all pairs may be scored."""
    ids = allowed(Constraints(), model.vocabulary(), model.special_ids)[::4][:60]
    limits = Constraints(allow=tuple(f"#{i}" for i in ids), round_trip=False)
    options: Any = {"direction": direction, "method": method, "gcg": Gcg(batch=64)}
    asked = Settings(length=2, starts=8, budget=1_200, constraints=limits, **options)

    found = search(model, PROMPT, asked, cache=tmp_path).frame["score"][0]

    assert is_best(found, rewards_of_pairs(model, limits), direction)


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


@pytest.mark.parametrize("method", ["exhaustive", "gcg", "random"])
def test_the_same_search_is_read_back(
    model: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Nothing is scored; another setting is another search."""
    settings = Settings(length=2, budget=400, starts=2, method=method)  # type: ignore[arg-type]
    first = search(model, PROMPT, settings, cache=tmp_path)
    calls = scored(monkeypatch)
    again = search(model, PROMPT, settings, cache=tmp_path)
    assert same(first, again)
    assert calls == []
    other = search(model, PROMPT, replace(settings, seed=1), cache=tmp_path)
    assert other.key != first.key
    assert sum(calls) >= 400


def same(one: SearchResult, other: SearchResult) -> bool:
    """Byte by byte, but for where they come from."""
    return (
        one.key == other.key
        and one.frame.equals(other.frame)
        and one.bests.equals(other.bests)
        and one.trace == other.trace
    )


@pytest.mark.parametrize(
    "method",
    ["random", *(pytest.param(one, marks=pytest.mark.slow) for one in ("exhaustive", "gcg"))],
)
def test_a_killed_search_goes_on_to_the_same_end(
    model: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Whatever was done by then; what was written is not scored again."""
    settings = Settings(length=2, budget=5 * SHARD, starts=3, method=method)  # type: ignore[arg-type]
    settings = replace(settings, constraints=Constraints(round_trip=False), length=3)
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


@pytest.mark.parametrize("method", ["exhaustive", "gcg"])
def test_constraints_hold_from_a_start_that_breaks_them(
    model: Checkpoint, tmp_path: Path, method: str
) -> None:
    """A start is where a search sets out, and no way around what may be found."""
    limits = Constraints(words=True, deny=("love",))
    asked = Settings(
        length=5,
        budget=1500,
        starts=1,
        start="- - -",
        constraints=limits,
        method=method,  # type: ignore[arg-type]
    )
    found = search(model, PROMPT, asked, cache=tmp_path)
    texts = [*found.frame["text"], *found.bests["text"]]
    assert all(text.replace(" ", "").isalpha() for text in texts)
    may = set(allowed(limits, model.vocabulary(), model.special_ids).tolist())
    assert {i for ids in found.frame["ids"] for i in ids} <= may
    assert found.bests["start"].tolist() == [0]


def test_where_nothing_is_found_the_way_out_is_said(model: Checkpoint, tmp_path: Path) -> None:
    """A budget that ends before the start's own ids are replaced."""
    limits = Constraints(words=True)
    asked = Settings(length=5, budget=3, starts=1, start="- - -", constraints=limits)
    with pytest.raises(MeasureError) as error:
        search(model, PROMPT, asked, cache=tmp_path)
    assert "of 3 sequences from '- - -' none" in str(error.value)
    assert "a larger budget" in str(error.value)


def test_a_floor_holds_for_all_that_is_found(model: Checkpoint, tmp_path: Path) -> None:
    """By the base that models.yaml names; where nothing is above it, that is said."""
    base = toy_language_model(tmp_path / "base")
    spec = replace(model.spec, base=str(base))
    with_base = Checkpoint(spec, cache=tmp_path)
    drawn = Settings(length=2, budget=300, method="random", starts=1)
    with base_of(spec, cache=tmp_path).opened(model.vocabulary()) as likelihood:
        prefix = model.slot(PROMPT).prefix
        free = search(with_base, PROMPT, drawn, cache=tmp_path).frame["ids"].tolist()
        means = likelihood.means(prefix, free)
        floor = float(np.median(means))
        asked = replace(drawn, constraints=Constraints(floor=floor))
        found = search(with_base, PROMPT, asked, cache=tmp_path).frame["ids"].tolist()
        assert (likelihood.means(prefix, found) >= floor).all()
    assert found[0] == next(ids for ids, mean in zip(free, means, strict=True) if mean >= floor)
    nothing = replace(drawn, constraints=Constraints(floor=-1e-3))
    with pytest.raises(MeasureError) as error:
        search(with_base, PROMPT, nothing, cache=tmp_path)
    assert all(part in str(error.value) for part in ("300", "-0.001", "toy-0", "lower the floor"))
    other = toy_language_model(tmp_path / "other", seed=2)  # which decides what may be found
    again = Checkpoint(replace(spec, base=str(other)), cache=tmp_path)
    keys = {search(one, PROMPT, asked, cache=tmp_path).key for one in (with_base, again)}
    assert len(keys) == 2


def test_what_cannot_be_searched_is_said(model: Checkpoint, tmp_path: Path) -> None:
    """One line each, with the way out."""
    run: Callable[..., SearchResult] = lambda **given: search(  # noqa: E731
        model, PROMPT, Settings(**{"budget": 50, **given}), cache=tmp_path
    )
    with pytest.raises(SpecError, match="constraints: allow is empty, so no id is left"):
        run(constraints=Constraints(allow=()))
    with pytest.raises(SpecError, match="the start 'love peace' is 2 tokens of toy-0, and the"):
        run(start="love peace", length=3)
    with pytest.raises(NotRecorded, match="recorded"):
        search(Recorded(ModelSpec("N-Lla-8B", "owner/name")), PROMPT, Settings(), cache=tmp_path)


def test_without_a_gradient_the_way_out_is_named(
    model: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GCG needs one; nothing is kept of the try, and the exhaustive search needs none."""

    def none(*_: object) -> None:
        raise NoGradient(model.name, "its kernels have none")

    monkeypatch.setattr(type(model), "gradient", none)
    asked = Settings(length=2, budget=50, method="gcg")
    with pytest.raises(NoGradient, match="--method exhaustive"):
        search(model, PROMPT, asked, cache=tmp_path)
    assert not list(tmp_path.rglob("*.parquet"))
    search(model, PROMPT, replace(asked, method="exhaustive"), cache=tmp_path)


def test_the_authors_objective_is_a_setting(model: Checkpoint, tmp_path: Path) -> None:
    """With a target far out, its squared error leads the same way as the reward itself."""
    plain = Settings(length=2, budget=800, starts=4, method="gcg", direction="down")
    error = replace(plain, gcg=Gcg(target=-1e3))
    best = [search(model, PROMPT, one, cache=tmp_path).frame["ids"][0] for one in (plain, error)]
    assert best[0] == best[1]
