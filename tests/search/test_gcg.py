"""GCG: it follows the gradient of what is searched for, and each of Faster-GCG's changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.search import gcg
from rmaudit.search.search_evaluator import Evaluator, Ids
from rmaudit.search.search_problem import SearchProblem
from rmaudit.search.search_settings import Gcg, Settings
from tests.search.fakes import Slopes, evaluator, landscape, problem

LENGTH, IDS = 3, 40
PLAIN = Gcg(batch=8, top=4, greedy=False, fresh=False, distance=0.0)


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


def asked(budget: int, options: Gcg, **more: Any) -> Settings:
    """A search by GCG, from one start unless it is said."""
    given = {"length": LENGTH, "budget": budget, "starts": 1, **more}
    return Settings(method="gcg", gcg=options, **given)


def run(
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
    gcg.search(space, found, space.draw(settings.starts, rng), rng)
    return found, scored, taken


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("options", [Gcg(batch=8, distance=0.0), PLAIN])
def test_where_the_gradient_is_exact_it_leads_to_the_end(
    tmp_path: Path, direction: str, options: Gcg
) -> None:
    """In both directions: upwards to the best of all, downwards to the worst of all."""
    table = additive(1)
    found, _, _ = run(tmp_path, table, asked(400, options, direction=direction))
    ends = table.max(axis=1) if direction == "up" else table.min(axis=1)
    assert found.top()[0].score == pytest.approx(ends.sum(), abs=1e-5)


def test_a_target_is_approached_from_either_side(tmp_path: Path) -> None:
    """The authors' squared error: the reward that was asked for, be it above or below."""
    table = additive(2)
    for target in (1.0, -1.0):
        settings = asked(2000, Gcg(batch=16, target=target))
        found, _, _ = run(tmp_path / str(target), table, settings)
        assert found.top()[0].score == pytest.approx(target, abs=0.05)


def test_fresh_tries_nothing_twice(tmp_path: Path) -> None:
    """Plain GCG does; and over several starts too."""
    table = additive(3)
    for options, twice in ((Gcg(batch=8), False), (PLAIN, True)):
        _, scored, _ = run(tmp_path / str(twice), table, asked(300, options, starts=2))
        assert (len(set(scored)) < len(scored)) is twice


def test_greedy_takes_the_highest_gains(tmp_path: Path) -> None:
    """The first batch is that of the best predicted swaps, from any place."""
    table = additive(4)
    _, scored, taken = run(tmp_path, table, asked(8, Gcg(batch=8, distance=0.0)))
    (start,) = taken
    gains = table - table[np.arange(LENGTH), list(start)][:, None]
    best = np.sort(gains, axis=None)[::-1][:8]
    change = [
        sum(table[p, i] - table[p, j] for p, (i, j) in enumerate(zip(answer, start, strict=True)))
        for answer in scored
    ]
    assert change == pytest.approx(best.tolist())


def test_plain_draws_from_the_top_of_each_place(tmp_path: Path) -> None:
    """Each swap is one of the `top` ids of its place, and they are not always the best."""
    table = additive(5)
    options = Gcg(batch=64, top=5, greedy=False, fresh=False, distance=0.0)
    _, scored, taken = run(tmp_path, table, asked(64, options))
    ranks = (-table).argsort(axis=1).argsort(axis=1)
    swapped = {
        (place, ranks[place, i])
        for answer in scored
        for place, (i, j) in enumerate(zip(answer, taken[0], strict=True))
        if i != j
    }
    assert {rank for _, rank in swapped} == set(range(5))
    assert {place for place, _ in swapped} == set(range(LENGTH))


def test_distance_keeps_swaps_near(tmp_path: Path) -> None:
    """The heavier it weighs, the nearer the ids that are tried."""
    table = additive(6)
    means = []
    for weight in (0.0, 1.0, 100.0):
        options = Gcg(batch=10, distance=weight)
        _, scored, taken = run(tmp_path / str(weight), table, asked(10, options))
        far = [abs(i - j) for answer in scored for i, j in zip(answer, taken[0], strict=True)]
        means.append(np.mean(far))
    assert means[0] > means[1] > means[2]


@pytest.mark.slow
def test_it_ends_where_all_swaps_were_tried(tmp_path: Path) -> None:
    """A budget beyond the whole space is not used up, and nothing hangs."""
    table = additive(7)
    found, scored, _ = run(tmp_path, table, asked(10**6, Gcg(batch=512)))
    assert found.used == len(scored) < IDS**LENGTH


@pytest.mark.parametrize("options", [Gcg(batch=8), PLAIN])
def test_ids_of_a_start_that_nothing_may_hold_are_replaced(tmp_path: Path, options: Gcg) -> None:
    """One a step, however much they score; then it goes on with the others."""
    table = additive(8)
    table[:, -1] = 100
    taken: list[Ids] = []
    space = replace(problem(LENGTH, IDS, gradient_of(table, taken)), allowed=np.arange(IDS - 1))
    best = table[:, :-1].max(axis=1).sum()
    found = evaluator(tmp_path, asked(200, options), lambda ids: table[range(LENGTH), ids].sum())
    found.counts = lambda ids: not space.outside(ids)
    gcg.search(space, found, [(IDS - 1, 0, IDS - 1)], np.random.default_rng(0))
    assert [len(space.outside(ids)) for ids in taken[:4]] == [2, 1, 0, 0]
    assert taken[2][1] == 0
    assert all(IDS - 1 not in hit.ids for hit in found.top())
    assert found.top()[0].score == pytest.approx(best, abs=1e-5)


def test_each_start_follows_its_own_gradient(tmp_path: Path) -> None:
    """What a step tries is what gains most from where that start is, not from another's."""
    table = landscape(np.random.default_rng(9), LENGTH, IDS)

    def lines(answer: Ids) -> NDArray[np.float64]:
        return np.array(
            [
                table[tuple(slice(None) if at == place else i for at, i in enumerate(answer))]
                for place in range(LENGTH)
            ]
        )

    def gradient(answer: Ids) -> Slopes:
        slopes = lines(answer).astype(np.float32)[None]
        return Slopes(np.array([table[answer]], np.float32), slopes, np.zeros_like(slopes))

    scored: list[Ids] = []

    def reward(answer: Ids) -> float:
        scored.append(answer)
        return float(table[answer])

    starts = [(1, 2, 3), (30, 20, 10), (5, 5, 5)]
    found = evaluator(tmp_path, asked(24, Gcg(batch=8, fresh=False), starts=3), reward)
    gcg.search(problem(LENGTH, IDS, gradient), found, starts, np.random.default_rng(0))
    for number, start in enumerate(starts):
        tried = [float(table[answer]) for answer in scored[8 * number : 8 * number + 8]]
        assert tried == pytest.approx(np.sort(lines(start), axis=None)[::-1][:8].tolist())
        assert found.best_by_start[number].score == pytest.approx(max(tried), abs=1e-5)
