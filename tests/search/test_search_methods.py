"""Exhaustive search ends where no id betters; GCG follows the gradient of what is searched for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rmaudit.search import search_methods
from rmaudit.search.search_evaluator import Evaluator, Ids
from rmaudit.search.search_settings import SearchProblem, Settings
from tests.search.fakes import Slopes, evaluator, landscape, problem

# Exhaustive


@pytest.mark.slow
@given(
    seed=st.integers(0, 10_000),
    length=st.integers(1, 3),
    ids=st.integers(2, 9),
    starts=st.integers(1, 3),
    up=st.booleans(),
)
def test_it_ends_where_no_single_id_betters(
    seed: int, length: int, ids: int, starts: int, *, up: bool
) -> None:
    """Of every start's best, each neighbour is no better; the best of all is the search's."""
    rng = np.random.default_rng(seed)
    table = landscape(rng, length, ids) * (1 if up else -1)
    asked = Settings(
        direction="up" if up else "down",
        length=length,
        starts=starts,
        budget=1_000_000,
    )
    space = problem(length, ids)
    with TemporaryDirectory() as folder:
        scored = evaluator(Path(folder), asked, lambda answer: float(table[answer]))
        search_methods.exhaustive(space, scored, space.draw(starts, rng), rng)
    sign = 1 if up else -1
    assert sorted(scored.best_by_start) == list(range(starts))
    for hit in scored.best_by_start.values():
        for place in range(length):
            line = table[tuple(slice(None) if at == place else i for at, i in enumerate(hit.ids))]
            assert sign * hit.score >= (sign * line).max() - 1e-5
    assert scored.top()[0].value >= max(hit.value for hit in scored.best_by_start.values())


def test_no_context_is_swept_twice(tmp_path: Path) -> None:
    """Starts that meet share what was scored: each sequence is scored once at most."""
    rng = np.random.default_rng(3)
    table = landscape(rng, 2, 6)
    seen: list[tuple[int, ...]] = []

    def reward(answer: tuple[int, ...]) -> float:
        seen.append(answer)
        return float(table[answer])

    space = problem(2, 6)
    scored = evaluator(tmp_path, Settings(length=2, starts=20, budget=10_000), reward)
    search_methods.exhaustive(space, scored, space.draw(20, rng), rng)
    lines = 2 * 6  # whole contexts there are
    assert len(seen) <= lines * 6
    assert scored.used == len(seen)


@pytest.mark.slow
def test_what_the_starts_leave_is_spent_around_the_best(tmp_path: Path) -> None:
    """From one start: with budget left, the best of all is found far more often than without."""
    found = {200: 0, 3000: 0}
    for seed in range(30):
        for budget in found:
            rng = np.random.default_rng(seed)
            table = rng.normal(size=(40, 40))  # nothing leads anywhere: climbing gets stuck
            space = problem(2, 40)
            asked = Settings(length=2, starts=1, budget=budget)
            scored = evaluator(tmp_path / f"{seed}-{budget}", asked, lambda a, t=table: float(t[a]))  # type: ignore[misc]
            search_methods.exhaustive(space, scored, space.draw(1, rng), rng)
            found[budget] += int(scored.top()[0].score == np.float32(table.max()))
            assert set(scored.best_by_start) == {0}
    assert found[200] <= 15
    assert found[3000] >= 25


def test_a_place_that_the_budget_cut_short_is_swept_again(tmp_path: Path) -> None:
    """By the next start, which has budget of its own: nothing of it was known to be the best."""
    space = problem(1, 50)
    scored = evaluator(tmp_path, Settings(length=1, starts=2, budget=80), lambda a: float(a[0]))
    search_methods.exhaustive(space, scored, [(0,), (1,)], np.random.default_rng(0))
    assert scored.used == 80
    assert scored.best_by_start[0].score < scored.best_by_start[1].score == 49


# GCG

LENGTH, IDS = 3, 40


def additive(seed: int) -> NDArray[np.float64]:
    """What each id gives at each place: the reward is their sum, and the gradient is exact."""
    return np.random.default_rng(seed).normal(size=(LENGTH, IDS))


def gradient_of(table: NDArray[np.float64], asked: list[Ids]) -> Callable[[Ids], Slopes]:
    """The gradient of the sum; ids that are far apart in number are far apart."""

    def gradient(answer: Ids) -> Slopes:
        asked.append(answer)
        reward = sum(table[place, i] for place, i in enumerate(answer))
        far = np.abs(np.arange(IDS)[None, :] - np.array(answer)[:, None])
        return Slopes(np.array([reward]), table[None].astype(np.float32), far[None].astype("f4"))

    return gradient


def asked(budget: int, batch: int, **more: Any) -> Settings:
    """A search by GCG, from one start unless it is said."""
    given = {"length": LENGTH, "budget": budget, "starts": 1, **more}
    return Settings(method="gcg", batch=batch, **given)


def by_gradient(
    folder: Path, table: NDArray[np.float64], settings: Settings
) -> tuple[Evaluator, list[Ids], list[Ids]]:
    """A search from seeded starts; what was scored, and where the gradient was taken."""
    scored: list[Ids] = []
    taken: list[Ids] = []

    def reward(answer: Ids) -> float:
        scored.append(answer)
        return float(sum(table[place, i] for place, i in enumerate(answer)))

    rng = np.random.default_rng(0)
    space: SearchProblem = problem(LENGTH, IDS, gradient_of(table, taken))
    found = evaluator(folder, settings, reward)
    search_methods.gcg(space, found, space.draw(settings.starts, rng), rng)
    return found, scored, taken


@pytest.mark.parametrize("direction", ["up", "down"])
def test_where_the_gradient_is_exact_it_leads_to_the_end(tmp_path: Path, direction: str) -> None:
    """In both directions: upwards to the best of all, downwards to the worst of all."""
    table = additive(1)
    found, _, _ = by_gradient(tmp_path, table, asked(400, 8, direction=direction))
    ends = table.max(axis=1) if direction == "up" else table.min(axis=1)
    assert found.top()[0].score == pytest.approx(ends.sum(), abs=1e-5)


def test_nothing_is_tried_twice(tmp_path: Path) -> None:
    """Over several starts too."""
    _, scored, _ = by_gradient(tmp_path, additive(3), asked(300, 8, starts=2))
    assert len(set(scored)) == len(scored)


def test_the_highest_gains_are_taken(tmp_path: Path) -> None:
    """The first batch is that of the best predicted swaps, from any place, less their distance."""
    table = additive(4)
    _, scored, taken = by_gradient(tmp_path, table, asked(8, 8))
    (start,) = taken
    gains = table - table[np.arange(LENGTH), list(start)][:, None]
    far = np.abs(np.arange(IDS)[None, :] - np.array(start)[:, None])
    worth = gains / gains.std() - far / far.mean()
    change = [
        sum(worth[p, i] for p, (i, j) in enumerate(zip(answer, start, strict=True)) if i != j)
        for answer in scored
    ]
    worth[np.arange(LENGTH), list(start)] = -np.inf  # no change
    assert change == pytest.approx(np.sort(worth, axis=None)[::-1][:8].tolist(), rel=1e-4)


@pytest.mark.slow
def test_it_ends_where_all_swaps_were_tried(tmp_path: Path) -> None:
    """A budget beyond the whole space is not used up, and nothing hangs."""
    table = additive(7)
    found, scored, _ = by_gradient(tmp_path, table, asked(10**6, 512))
    assert found.used == len(scored) < IDS**LENGTH


def test_each_start_follows_its_own_gradient(tmp_path: Path) -> None:
    """What a step tries is one swap away from where that start is, and not another."""
    _, scored, taken = by_gradient(tmp_path, additive(3), asked(16, 8, starts=2))

    for start, tried in zip(taken, (scored[:8], scored[8:]), strict=True):
        assert {sum(map(int.__ne__, start, answer)) for answer in tried} == {1}
