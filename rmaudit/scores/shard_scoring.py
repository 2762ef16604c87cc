"""Score rows in shards (parts): one after another on this machine, several at once on a server.

On a GPU, one call scores some shards, and the next call is begun before this thread waits for the
last one: while the GPU computes, scores are written here and the next rows are prepared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.models.external_scorer_batches import STOP_AGAIN, Pace, do_nothing
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_parquet import Fields, Journal, MadeMeanwhileError, Stored, key_of
from rmaudit.scoring import Begun, waited_for

SHARD = 4096  # answers a shard: what a kill may lose; two calls of several where GPUs score
_MOST_A_CALL = 8  # shards: two calls are what a kill may lose
Score = Callable[[slice], Begun]
Measured = Callable[[NDArray[np.float32]], Mapping[str, Any]]


@dataclass(frozen=True)
class Work:
    """A scoring task: n rows to be scored in shards, and the functions that this needs.

    Attributes:
        fields: what decides the scores.
        rows: what is kept with them, one row an answer.
        score: gives the scores of a slice of the rows, or begins them; called for each missing
            shard, or for several that follow each other.
        provenance: where they come from; called after each shard, and the first shard's is kept.
        measured: called once with all scores; what it says of them is kept with the provenance.
        bar: shows the progress, and that another process of this host scores the same rows.
        pace: how many answers a shard has, and how many shards are scored at once, in threads;
            None for `SHARD`, one at a time.
        answers_a_call: how many answers `score` is asked for at once, a shard at least; read
            before each call.
    """

    fields: Fields
    rows: pd.DataFrame
    score: Score
    provenance: Callable[[], Mapping[str, Any]]
    measured: Measured = lambda _: {}
    bar: Bar | None = None
    pace: Pace | None = None
    answers_a_call: Callable[[], int] = lambda: 0

    @cached_property
    def key(self) -> str:
        """Return the cache key of the scores, made of `fields`."""
        return key_of(self.fields)

    @property
    def shards(self) -> list[slice]:
        """Return the slices into which the rows are divided, one for each shard."""
        n, size = len(self.rows), self.pace.answers if self.pace else SHARD
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def sharded(journal: Journal, work: Work) -> tuple[pd.DataFrame, Mapping[str, Any]]:
    """Score the missing shards of a task; return a table of all its scores, and the provenance."""
    found = {which.start: _stored_shard(journal, which) for which in work.shards}
    missing = [which for which in work.shards if found[which.start] is None]
    for shard in found.values():
        if work.bar is not None and shard is not None:
            work.bar.found(len(shard.frame))

    def keep(which: slice, scores: NDArray[np.float32]) -> None:
        found[which.start] = _write_shard(journal, work, which, scores)

    if work.pace is None or work.pace.at_once == 1:
        _score_one_call_ahead(_calls(journal, work, missing, found), work.score, keep)
    elif failed := _score_in_threads(missing, work.score, keep, work.pace):
        raise failed[0]
    shards = [shard for shard in found.values() if shard is not None]
    scores = [shard.frame["score"].to_numpy(np.float32) for shard in shards]
    made = np.concatenate([np.empty(0, np.float32), *scores])
    said = shards[0].provenance if shards else work.provenance()
    return work.rows.reset_index(drop=True).assign(score=made), {**said, **work.measured(made)}


def make_shard(journal: Journal, work: Work, which: slice) -> None:
    """Score and store one shard of a task, unless that or the whole task is stored by now."""
    if _stored_shard(journal, which) is None and not journal.whole:
        _write_shard(journal, work, which, waited_for(work.score(which)))


def _calls(
    journal: Journal, work: Work, missing: Sequence[slice], found: dict[int, Stored | None]
) -> Iterator[list[slice]]:
    """Yield the shards still missing in runs of consecutive ones, as many as one GPU call takes.

    Shards that another host has stored meanwhile are added to `found` and left out of the calls.
    """
    call, most = list[slice](), 1
    for which in missing:
        if call and (len(call) >= most or call[-1].stop != which.start):
            yield call
            call = []
        if not call:
            full = work.answers_a_call() // (which.stop - which.start)
            most = max(1, min(_MOST_A_CALL, full))
        if (there := _stored_shard(journal, which)) is not None:
            found[which.start] = there
        elif journal.whole:
            raise MadeMeanwhileError
        else:
            call.append(which)
    if call:
        yield call


def _score_one_call_ahead(
    calls: Iterable[Sequence[slice]],
    score: Score,
    keep: Callable[[slice, NDArray[np.float32]], None],
) -> None:
    """Score and store the shards of each call in turn, starting each call before the last one ends.

    Where a call is only begun, it is waited for once the next is begun, too. If one fails, those
    before it are kept; after Ctrl-C all that were begun are, but a second waits for nothing.
    """
    begun = deque[tuple[Sequence[slice], Begun]]()

    def take(most_left: int) -> None:
        while len(begun) > most_left:
            call, coming = begun[0]
            try:
                scores = waited_for(coming)
                for which in call:
                    keep(which, scores[which.start - call[0].start : which.stop - call[0].start])
            except Exception:
                begun.clear()
                raise
            begun.popleft()

    try:
        for call in calls:
            coming = score(slice(call[0].start, call[-1].stop))
            begun.append((call, coming))
            take(1 if callable(coming) else 0)
    finally:
        take(0)


def _stored_shard(journal: Journal, which: slice) -> Stored | None:
    """Return a stored shard; None if there is none, or if it has another size."""
    found = journal.shard(which.start)
    return found if found is not None and len(found.frame) == which.stop - which.start else None


def _write_shard(journal: Journal, work: Work, which: slice, scores: NDArray[np.float32]) -> Stored:
    """Write a shard's scores and return the shard; if another host wrote first, return that one."""
    frame = pd.DataFrame({"score": np.asarray(scores, dtype=np.float32)})
    said = dict(work.provenance())
    if not journal.write(which.start, frame, said, anew=False):
        if (theirs := _stored_shard(journal, which)) is not None:
            return theirs
        journal.write(which.start, frame, said)
    return Stored(work.key, frame, {}, said)


def _score_in_threads(
    missing: Sequence[slice],
    score: Score,
    keep: Callable[[slice, NDArray[np.float32]], None],
    pace: Pace,
) -> list[BaseException]:
    """Score several shards at once in threads, store each as it ends; return the errors.

    Once one fails, or cannot be stored, or somebody presses Ctrl-C, no other is begun; those under
    way are waited for and kept, after Ctrl-C for as long as `pace.stop` lets them. A second Ctrl-C
    waits for nothing.
    """
    came: dict[int, tuple[slice, NDArray[np.float32] | BaseException]] = {}
    began, done, submitted = set[int](), set[int](), 0
    failed, some, left = list[BaseException](), Event(), deque(missing)

    def work(which: slice) -> None:
        began.add(which.start)
        came[which.start] = which, _scores_or_error(score, which)
        some.set()

    def take() -> None:
        """Store finished shards and collect errors; repeatable after an interrupt."""
        for start in [*came]:
            which, found = came[start]
            try:
                if isinstance(found, BaseException):
                    failed.append(found)
                else:
                    keep(which, found)
            except Exception as error:  # noqa: BLE001  (a full disk; the other shards are tried)
                failed.append(error)
            done.add(start)
            del came[start]

    pool = ThreadPoolExecutor(pace.at_once)
    stop: Callable[[], None] = do_nothing
    seconds: float | None = None  # until `stop` is called again, after Ctrl-C
    while (left and not failed) or len(done) < submitted or began - done:
        try:
            stop()  # again and again: a thread may have been about to send a request
            while left and not failed and submitted - len(done) < pace.at_once:
                pool.submit(work, left.popleft())
                submitted += 1
            some.wait(seconds)
            some.clear()
            take()
        except KeyboardInterrupt as error:
            if seconds is not None:
                raise
            stop, seconds = pace.stop, STOP_AGAIN
            failed.append(error)
    pool.shutdown()
    take()  # of one that was just being started when somebody pressed Ctrl-C
    return failed


def _scores_or_error(score: Score, which: slice) -> NDArray[np.float32] | BaseException:
    """Return the scores of a slice, or the error, to be raised once the others are kept."""
    try:
        return waited_for(score(which))
    except BaseException as error:  # noqa: BLE001  (see above)
        return error
