"""The evaluator: what a budget allows, what it remembers, and what it calls the best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.scores.score_cache_files import LocalFiles
from rmaudit.scores.score_parquet import Journal
from rmaudit.search.search_evaluator import MAX_HITS, SHARD, Evaluator, Ids
from rmaudit.search.search_settings import Settings


class Scorer:
    """The reward of (a, b) is a + b / 10; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Ids] = []

    def __call__(self, answers: Sequence[Ids]) -> NDArray[np.float32]:
        """What an evaluator scores with."""
        self.asked += answers
        return np.array([a + b / 10 for a, b in answers], dtype=np.float32)


def begun(folder: Path, score: Scorer, **settings: object) -> Evaluator:
    """An evaluator at its first start."""
    made = Evaluator(
        Settings(length=2, **settings), score, Journal(LocalFiles(folder / "scores"), "key")
    )  # type: ignore[arg-type]
    made.begin(0)
    return made


def test_the_budget_is_shared_by_the_starts(tmp_path: Path) -> None:
    """Each may spend an even share of what is left; more answers than that are not scored."""
    score = Scorer()
    evaluator = begun(tmp_path, score, budget=10, starts=3)
    assert evaluator.left == 3
    answers = [(i, 0) for i in range(7)]
    assert evaluator.rewards(answers).tolist() == [0.0, 1.0, 2.0]
    assert evaluator.rewards(answers).tolist() == []
    evaluator.begin(1)
    assert evaluator.left == 3
    evaluator.begin(2)  # the second spent nothing
    assert evaluator.left == 7
    assert len(score.asked) == evaluator.used == 3


@pytest.mark.parametrize("direction", ["up", "down"])
def test_the_best_come_first(tmp_path: Path, direction: str) -> None:
    """Of a call, and of the search; the trace has each betterment and when it was."""
    evaluator = begun(tmp_path, Scorer(), budget=100, starts=1, direction=direction)
    sign = 1 if direction == "up" else -1
    for answers in ([(3, 0), (1, 0), (5, 0)], [(4, 0), (9, 0), (0, 0)]):
        evaluator.record_best(answers, evaluator.rewards(answers))
    expected = sorted([3, 1, 5, 4, 9, 0], reverse=direction == "up")
    assert [hit.ids[0] for hit in evaluator.top()] == expected
    assert [hit.score * sign for hit in evaluator.top()] == sorted(
        (hit.score * sign for hit in evaluator.top()), reverse=True
    )
    assert evaluator.trace == ([(3, 5.0), (5, 9.0)] if sign > 0 else [(2, 1.0), (6, 0.0)])
    assert evaluator.best_by_start[0].ids == ((9, 0) if sign > 0 else (0, 0))


def test_each_start_has_its_own_best_also_where_another_was_there_before(tmp_path: Path) -> None:
    """A start is credited with what another one found; the search's best keeps who was first."""
    evaluator = begun(tmp_path, Scorer(), budget=100, starts=2)
    found = evaluator.record_best([(3, 0)], evaluator.rewards([(3, 0)]))
    evaluator.begin(1)
    evaluator.record_best([(1, 0)], evaluator.rewards([(1, 0)]))
    evaluator.credit_current_start(found)
    assert {start: hit.ids for start, hit in evaluator.best_by_start.items()} == {
        0: (3, 0),
        1: (3, 0),
    }
    assert [(hit.ids, hit.start) for hit in evaluator.top()] == [((3, 0), 0), ((1, 0), 1)]


def test_a_sequence_has_one_score(tmp_path: Path) -> None:
    """Scored again after another prefix, its last digits differ: that makes nothing better."""
    evaluator = begun(tmp_path, Scorer(), budget=100, starts=2)
    evaluator.record_best([(3, 0)], evaluator.rewards([(3, 0)]))
    evaluator.begin(1)
    evaluator.record_best([(3, 0)], evaluator.rewards([(3, 0)]) + 1e-6)
    assert evaluator.trace == [(1, 3.0)]
    assert [hit.score for hit in (*evaluator.best_by_start.values(), *evaluator.top())] == [3.0] * 3


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    """However many were scored, the best `MAX_HITS` are told."""
    evaluator = begun(tmp_path, Scorer(), budget=5000, starts=1)
    for i in range(500):
        evaluator.record_best([(i, 0)], evaluator.rewards([(i, 0)]))
    assert [hit.ids[0] for hit in evaluator.top()] == list(range(499, 499 - MAX_HITS, -1))


def test_after_a_kill_nothing_is_scored_twice(tmp_path: Path) -> None:
    """Whole shards are remembered, and the same calls get the same rewards."""
    calls = [[(i, j) for i in range(700)] for j in range(5)]
    first = Scorer()
    killed = begun(tmp_path, first, budget=10_000, starts=1)
    before = [killed.rewards(answers).tolist() for answers in calls[:4]]
    again = Scorer()
    resumed = begun(tmp_path, again, budget=10_000, starts=1)
    after = [resumed.rewards(answers).tolist() for answers in calls]
    assert after[:4] == before
    assert len(again.asked) == 5 * 700 - (4 * 700 // SHARD) * SHARD
    assert resumed.used == 5 * 700


def test_a_journal_of_another_course_is_left_where_it_parts(tmp_path: Path) -> None:
    """Numbers of another machine may lead elsewhere: what follows is scored, and written anew."""
    first = begun(tmp_path, Scorer(), budget=10_000, starts=1)
    first.rewards([(i, 0) for i in range(3 * SHARD)])
    other = [(i, 0 if i < SHARD + 10 else 1) for i in range(3 * SHARD)]
    for expected in (2 * SHARD - 10, 0):
        score = Scorer()
        second = begun(tmp_path, score, budget=10_000, starts=1)
        assert second.rewards(other).tolist() == pytest.approx([a + b / 10 for a, b in other])
        assert len(score.asked) == expected


def test_a_damaged_shard_is_scored_again(tmp_path: Path) -> None:
    """It is set aside, with a warning, and nothing behind it is used."""
    answers = [(i, 0) for i in range(3 * SHARD)]
    begun(tmp_path, Scorer(), budget=10_000, starts=1).rewards(answers)
    (damaged,) = (tmp_path / "scores" / "key.parts").glob(f"*{SHARD}.parquet")
    damaged.write_bytes(b"none")
    score = Scorer()
    evaluator = begun(tmp_path, score, budget=10_000, starts=1)
    with pytest.warns(UserWarning, match="cannot be read"):
        evaluator.rewards(answers)
    assert len(score.asked) == 2 * SHARD


def test_shards_are_plain(tmp_path: Path) -> None:
    """Ids as JSON text and scores: what a person can read."""
    evaluator = begun(tmp_path, Scorer(), budget=10_000, starts=1)
    evaluator.rewards([(i, 2) for i in range(SHARD)])
    (path,) = (tmp_path / "scores" / "key.parts").glob("*.parquet")
    frame = pd.read_parquet(path)
    assert frame["ids"][1] == "[1, 2]"
    assert frame["score"][1] == pytest.approx(1.2)
