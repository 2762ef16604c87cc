"""How scores come to be, shard by shard: one at a time where we score, several where others do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.models.batches import Pace

if TYPE_CHECKING:
    from rmaudit.scores.store import Journal

Score = Callable[[slice], NDArray[np.float32]]


class Shards:
    """The scores of n rows, shard by shard: those of a run before are read, the others made."""

    def __init__(
        self, journal: Journal, n: int, pace: Pace, on_found: Callable[[int], None]
    ) -> None:
        """Read what is there; `on_found` is called with how many scores each shard has."""
        self._journal, self._pace = journal, pace
        self._scores = np.full(n, np.nan, dtype=np.float32)
        self._made: Mapping[str, Any] = {}  # of the first: who puts all together loads no model
        self._missing: list[slice] = []
        for start in range(0, n, pace.answers):
            which = slice(start, min(start + pace.answers, n))
            shard = journal.shard(start)
            if shard is not None and len(shard.frame) == which.stop - which.start:
                self._scores[which] = shard.frame["score"]
                self._made = self._made or shard.provenance
                on_found(which.stop - which.start)
            else:  # none, damaged, or of a version with shards of another size
                self._missing.append(which)

    def filled(
        self, score: Score, provenance: Callable[[], Mapping[str, Any]]
    ) -> tuple[NDArray[np.float32], Mapping[str, Any]]:
        """All scores, and the provenance of the first shard. Raises as `score` does."""

        def keep(which: slice, scores: NDArray[np.float32]) -> None:
            self._scores[which] = scores
            now = dict(provenance())
            self._journal.write(which.start, pd.DataFrame({"score": self._scores[which]}), now)
            self._made = self._made or now

        if self._pace.at_once == 1:
            for which in self._missing:
                keep(which, score(which))
        else:
            _at_once(self._missing, score, keep, self._pace.at_once)
        return self._scores, self._made


def _at_once(
    missing: Sequence[slice],
    score: Score,
    keep: Callable[[slice, NDArray[np.float32]], None],
    threads: int,
) -> None:
    """Score several shards at a time, and keep each as it comes, on this thread.

    Once one fails, or somebody presses Ctrl-C, no other is begun; those under way are waited for
    and kept. A second Ctrl-C waits for nothing.
    """
    came: dict[int, tuple[slice, NDArray[np.float32] | BaseException]] = {}
    failed, some, left, running = list[BaseException](), Event(), deque(missing), 0

    def work(which: slice) -> None:
        found: NDArray[np.float32] | BaseException
        try:
            found = score(which)
        except BaseException as error:  # noqa: BLE001  (raised once the others are kept)
            found = error
        came[which.start] = which, found
        some.set()

    def take() -> int:
        """Keep what came, and say how many; what is interrupted here is taken again."""
        taken = [*came]
        for start in taken:
            which, found = came[start]
            if isinstance(found, BaseException):
                failed.append(found)
            else:
                keep(which, found)
            del came[start]
        return len(taken)

    try:
        with ThreadPoolExecutor(threads) as pool:
            while (left or running) and not failed:
                while left and running < threads:
                    pool.submit(work, left.popleft())
                    running += 1
                some.wait()
                some.clear()
                running -= take()
    except KeyboardInterrupt as error:  # the pool has waited for what was under way
        failed.append(error)
    take()
    if failed:
        raise failed[0]
