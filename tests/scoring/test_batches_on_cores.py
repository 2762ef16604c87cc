"""Several batches at once on a CPU: the same rewards, in order, and torch's threads as before."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from rmaudit.scoring import batches_on_cores, engine
from tests.scoring.rows import Toy

PREFIX, ANSWERS, SUFFIX = (5, 6, 7, 8), [(i, *[9] * (i % 3)) for i in range(10, 200)], (4,)


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    """Torch has three threads, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_rewards_are_those_of_one_batch_at_a_time(llama: Toy) -> None:
    """Rewards of rows of three lengths do not depend on how many batches run at once."""
    scorer = llama.scorer(ids_per_batch=40)
    assert scorer.batches_at_once(len(PREFIX)) == 3
    at_once = engine.score(scorer, PREFIX, ANSWERS, SUFFIX)
    torch.set_num_threads(1)
    assert scorer.batches_at_once(len(PREFIX)) == 1
    np.testing.assert_allclose(at_once, engine.score(scorer, PREFIX, ANSWERS, SUFFIX), rtol=1e-5)


def test_batches_share_the_threads_and_give_them_back() -> None:
    """Two batches run at the same time with one thread each, and torch has three afterwards."""
    meeting = threading.Barrier(2, timeout=60)

    def one(batch: int) -> tuple[int, int]:
        meeting.wait()
        return batch, torch.get_num_threads()

    assert list(batches_on_cores.run(2, one, [1, 2, 3, 4])) == [(i, 1) for i in (1, 2, 3, 4)]
    assert torch.get_num_threads() == 3


def test_an_error_ends_the_rest() -> None:
    """The error of a batch is raised, and of the batches that wait none begins any more."""
    begun = list[int]()

    def one(batch: int) -> int:
        begun.append(batch)
        if batch == 0:
            raise ValueError("the first")
        time.sleep(0.01)  # so that not all have run before the error is seen
        return batch

    with pytest.raises(ValueError, match="the first"):
        list(batches_on_cores.run(2, one, range(1_000)))
    assert len(begun) < 1_000
    assert torch.get_num_threads() == 3


def test_whoever_stops_early_ends_a_batch_under_way() -> None:
    """A batch ends at its next call of torch, not with its last one."""
    under_way, given_up = threading.Event(), threading.Event()

    def one(batch: int) -> int:
        if batch:
            under_way.set()
            while not given_up.is_set():
                torch.ones(1).relu()
        under_way.wait()
        return batch

    results = batches_on_cores.run(2, one, [0, 1])
    assert next(iter(results)) == 0
    ending = threading.Thread(target=results.close)  # type: ignore[attr-defined]
    ending.start()
    ending.join(timeout=60)
    ended = not ending.is_alive()
    given_up.set()
    assert ended
