"""Exhaustive coordinate search: where it ends, nothing is better by one id."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmaudit.search import coordinate_search
from rmaudit.search.search_settings import Settings
from tests.search.fakes import evaluator, landscape, problem


@settings(max_examples=30, deadline=None)
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
        coordinate_search.search(space, scored, space.draw(starts, rng), rng)
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
    coordinate_search.search(space, scored, space.draw(20, rng), rng)
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
            coordinate_search.search(space, scored, space.draw(1, rng), rng)
            found[budget] += int(scored.top()[0].score == np.float32(table.max()))
            assert set(scored.best_by_start) == {0}
    assert found[200] <= 15
    assert found[3000] >= 25


def test_a_place_that_the_budget_cut_short_is_swept_again(tmp_path: Path) -> None:
    """By the next start, which has budget of its own: nothing of it was known to be the best."""
    space = problem(1, 50)
    scored = evaluator(tmp_path, Settings(length=1, starts=2, budget=80), lambda a: float(a[0]))
    coordinate_search.search(space, scored, [(0,), (1,)], np.random.default_rng(0))
    assert scored.used == 80
    assert scored.best_by_start[0].score < scored.best_by_start[1].score == 49
