"""The evaluator: what a budget allows, what it remembers, and what it calls the best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rmaudit.search.search_evaluator import MAX_HITS, SHARD, Evaluator, Ids
from rmaudit.search.search_settings import Settings
from tests.search.fakes import evaluator


def begun(folder: Path, asked: list[Ids] | None = None, **settings: Any) -> Evaluator:
    """An evaluator at its first start; the reward of (a, b) is a + b / 10; `asked` is added to."""

    def reward(answer: Ids) -> float:
        if asked is not None:
            asked.append(answer)
        return answer[0] + answer[1] / 10

    made = evaluator(folder, Settings(length=2, **settings), reward)
    made.begin(0)
    return made


def test_the_budget_is_shared_by_the_starts(tmp_path: Path) -> None:
    """Each may spend an even share of what is left; more answers than that are not scored."""
    asked: list[Ids] = []
    made = begun(tmp_path, asked, budget=10, starts=3)
    assert made.left == 3
    answers = [(i, 0) for i in range(7)]
    assert made.rewards(answers).tolist() == [0.0, 1.0, 2.0]
    assert made.rewards(answers).tolist() == []
    made.begin(1)
    assert made.left == 3
    made.begin(2)  # the second spent nothing
    assert made.left == 7
    assert len(asked) == made.used == 3


@pytest.mark.parametrize("direction", ["up", "down"])
def test_the_best_come_first(tmp_path: Path, direction: str) -> None:
    """Of a call, and of the search; the trace has each betterment and when it was."""
    made = begun(tmp_path, budget=100, starts=1, direction=direction)
    sign = 1 if direction == "up" else -1
    for answers in ([(3, 0), (1, 0), (5, 0)], [(4, 0), (9, 0), (0, 0)]):
        made.record_best(answers, made.rewards(answers))
    expected = sorted([3, 1, 5, 4, 9, 0], reverse=direction == "up")
    assert [hit.ids[0] for hit in made.top()] == expected
    assert [hit.score * sign for hit in made.top()] == sorted(
        (hit.score * sign for hit in made.top()), reverse=True
    )
    assert made.trace == ([(3, 5.0), (5, 9.0)] if sign > 0 else [(2, 1.0), (6, 0.0)])
    assert made.best_by_start[0].ids == ((9, 0) if sign > 0 else (0, 0))


def test_each_start_has_its_own_best_also_where_another_was_there_before(tmp_path: Path) -> None:
    """A start is credited with what another one found; the search's best keeps who was first."""
    made = begun(tmp_path, budget=100, starts=2)
    found = made.record_best([(3, 0)], made.rewards([(3, 0)]))
    made.begin(1)
    made.record_best([(1, 0)], made.rewards([(1, 0)]))
    made.credit_current_start(found)
    assert {start: hit.ids for start, hit in made.best_by_start.items()} == {
        0: (3, 0),
        1: (3, 0),
    }
    assert [(hit.ids, hit.start) for hit in made.top()] == [((3, 0), 0), ((1, 0), 1)]


def test_a_sequence_has_one_score(tmp_path: Path) -> None:
    """Scored again after another prefix, its last digits differ: that makes nothing better."""
    made = begun(tmp_path, budget=100, starts=2)
    made.record_best([(3, 0)], made.rewards([(3, 0)]))
    made.begin(1)
    made.record_best([(3, 0)], made.rewards([(3, 0)]) + 1e-6)
    assert made.trace == [(1, 3.0)]
    assert [hit.score for hit in (*made.best_by_start.values(), *made.top())] == [3.0] * 3


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    """However many were scored, the best `MAX_HITS` are told."""
    made = begun(tmp_path, budget=5000, starts=1)
    for i in range(500):
        made.record_best([(i, 0)], made.rewards([(i, 0)]))
    assert [hit.ids[0] for hit in made.top()] == list(range(499, 499 - MAX_HITS, -1))


def test_after_a_kill_nothing_is_scored_twice(tmp_path: Path) -> None:
    """Whole shards are remembered, and the same calls get the same rewards."""
    calls = [[(i, j) for i in range(700)] for j in range(5)]
    first: list[Ids] = []
    killed = begun(tmp_path, first, budget=10_000, starts=1)
    before = [killed.rewards(answers).tolist() for answers in calls[:4]]
    again: list[Ids] = []
    resumed = begun(tmp_path, again, budget=10_000, starts=1)
    after = [resumed.rewards(answers).tolist() for answers in calls]
    assert after[:4] == before
    assert len(again) == 5 * 700 - (4 * 700 // SHARD) * SHARD
    assert resumed.used == 5 * 700


def test_a_journal_of_another_course_is_left_where_it_parts(tmp_path: Path) -> None:
    """Numbers of another machine may lead elsewhere: what follows is scored, and written anew."""
    first = begun(tmp_path, budget=10_000, starts=1)
    first.rewards([(i, 0) for i in range(3 * SHARD)])
    other = [(i, 0 if i < SHARD + 10 else 1) for i in range(3 * SHARD)]
    for expected in (2 * SHARD - 10, 0):
        asked: list[Ids] = []
        second = begun(tmp_path, asked, budget=10_000, starts=1)
        assert second.rewards(other).tolist() == pytest.approx([a + b / 10 for a, b in other])
        assert len(asked) == expected


def test_a_damaged_shard_is_scored_again(tmp_path: Path) -> None:
    """It is set aside, with a warning, and nothing behind it is used."""
    answers = [(i, 0) for i in range(3 * SHARD)]
    begun(tmp_path, budget=10_000, starts=1).rewards(answers)
    (damaged,) = (tmp_path / "scores" / "key.parts").glob(f"*{SHARD}.parquet")
    damaged.write_bytes(b"none")
    asked: list[Ids] = []
    made = begun(tmp_path, asked, budget=10_000, starts=1)
    with pytest.warns(UserWarning, match="cannot be read"):
        made.rewards(answers)
    assert len(asked) == 2 * SHARD


def test_shards_are_plain(tmp_path: Path) -> None:
    """Ids as JSON text and scores: what a person can read."""
    made = begun(tmp_path, budget=10_000, starts=1)
    made.rewards([(i, 2) for i in range(SHARD)])
    (path,) = (tmp_path / "scores" / "key.parts").glob("*.parquet")
    frame = pd.read_parquet(path)
    assert frame["ids"][1] == "[1, 2]"
    assert frame["score"][1] == pytest.approx(1.2)
