"""Score rows in shards (parts): one after another on this machine, several at once on a server.

On a GPU, one call scores some shards, and the next call is begun before this thread waits for the
last one: while the GPU computes, scores are written here and the next rows are prepared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import ScoreError
from rmaudit.models.external_scorer_batches import STOP_AGAIN, Pace, do_nothing
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_parquet import Fields, Journal, MadeMeanwhileError, Stored, key_of
from rmaudit.scores.token_sample import spread
from rmaudit.scoring import Begun, waited_for

SHARD = 4096  # answers a shard: what a kill may lose; two calls of several where GPUs score
ANSWERS = 16  # scored once more, to measure the noise
_MOST_A_CALL = 8  # shards: two calls are what a kill may lose
Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Work:
    """A scoring task: n rows to be scored in shards, and the functions that this needs.

    Attributes:
        fields: what decides the scores.
        rows: what is kept with them, one row an answer.
        score: gives the scores of a slice of the rows, or begins them; called for each missing
            shard, or for several that follow each other.
        provenance: where they come from; called after each shard, and the first shard's is kept.
        alone: scores the answers at some places again, each by itself with the model's own forward;
            the noise that it shows is kept with the provenance. None if it is not to be measured.
        bar: shows the progress, and that another process of this host scores the same rows.
        pace: how many answers a shard has, and how many shards are scored at once, in threads;
            None for `SHARD`, one at a time.
        answers_a_call: how many answers `score` is asked for at once, a shard at least; read
            before each call.
    """

    fields: Fields
    rows: pd.DataFrame
    score: Callable[[slice], Begun]
    provenance: Callable[[], Mapping[str, Any]]
    alone: Callable[[Sequence[int]], Scores] | None = None
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
    in_turn = work.pace is None or work.pace.at_once == 1
    shards = _OneCallAhead(journal, work) if in_turn else _InThreads(journal, work)
    shards.score_missing()
    stored = [shards.found[which.start] for which in work.shards]
    scores = [shard.frame["score"].to_numpy(np.float32) for shard in stored]
    made = np.concatenate([np.empty(0, np.float32), *scores])
    said = stored[0].provenance if stored else work.provenance()
    noise = {} if work.alone is None else measured_noise(made, work.alone)
    return work.rows.reset_index(drop=True).assign(score=made), {**said, **noise}


def make_shard(journal: Journal, work: Work, which: slice) -> None:
    """Score and store one shard of a task, unless that or the whole task is stored by now."""
    if journal.shard(which) is None and not journal.whole:
        _write_shard(journal, work, which, waited_for(work.score(which)))


class _Shards:
    """The shards of a task: `found` has the stored ones by their first row, and gets the others."""

    def __init__(self, journal: Journal, work: Work) -> None:
        self.journal, self.work = journal, work
        self.found, self.missing = dict[int, Stored](), list[slice]()
        for which in work.shards:
            if not self.find(which):
                self.missing.append(which)
            elif work.bar is not None:
                work.bar.found(which.stop - which.start)

    def find(self, which: slice) -> bool:
        """Look for a stored shard, and return whether it is there."""
        if (there := self.journal.shard(which)) is not None:
            self.found[which.start] = there
        return there is not None

    def keep(self, which: slice, scores: Scores) -> None:
        """Store a shard's scores."""
        self.found[which.start] = _write_shard(self.journal, self.work, which, scores)


class _OneCallAhead(_Shards):
    """Shards that are scored in turn: each call is begun before the last one ends."""

    def __init__(self, journal: Journal, work: Work) -> None:
        super().__init__(journal, work)
        self.begun = deque[tuple[Sequence[slice], Begun]]()  # calls that nobody waited for yet

    def score_missing(self) -> None:
        """Score and store the missing shards.

        Where a call is only begun, it is waited for once the next is begun, too. If one fails,
        those before it are kept; after Ctrl-C all that were begun are, but a second waits for
        nothing.
        """
        try:
            for call in self._calls():
                coming = self.work.score(slice(call[0].start, call[-1].stop))
                self.begun.append((call, coming))
                self._keep_begun(most_left=1 if callable(coming) else 0)
        finally:
            self._keep_begun(most_left=0)

    def _calls(self) -> Iterator[list[slice]]:
        """Yield the missing shards in runs of consecutive ones, as many as one GPU call takes.

        Shards that another host has stored meanwhile are found, and left out of the calls.
        """
        call, most = list[slice](), 1
        for which in self.missing:
            if call and (len(call) >= most or call[-1].stop != which.start):
                yield call
                call = []
            if not call:
                full = self.work.answers_a_call() // (which.stop - which.start)
                most = max(1, min(_MOST_A_CALL, full))
            if self.find(which):
                continue
            if self.journal.whole:
                raise MadeMeanwhileError
            call.append(which)
        if call:
            yield call

    def _keep_begun(self, *, most_left: int) -> None:
        """Wait for the calls that were begun, but the last `most_left`, and store their shards."""
        while len(self.begun) > most_left:
            call, coming = self.begun[0]
            try:
                scores, first = waited_for(coming), call[0].start
                for which in call:
                    self.keep(which, scores[which.start - first : which.stop - first])
            except Exception:
                self.begun.clear()
                raise
            self.begun.popleft()


class _InThreads(_Shards):
    """Shards of which several are scored at once, in threads; this thread stores them."""

    def __init__(self, journal: Journal, work: Work) -> None:
        super().__init__(journal, work)
        self.began, self.kept, self.failed = set[int](), set[int](), list[BaseException]()
        self.came: dict[int, tuple[slice, Scores | BaseException]] = {}
        self.any_came = Event()

    def score_missing(self) -> None:
        """Score several missing shards at once, and store each as it ends.

        Once one fails, or cannot be stored, or somebody presses Ctrl-C, no other is begun; those
        under way are waited for and kept, after Ctrl-C for as long as `Pace.stop` lets them, and
        the first error is raised. A second Ctrl-C waits for nothing.
        """
        pace, left, submitted = self.work.pace or Pace(SHARD), deque(self.missing), 0
        pool = ThreadPoolExecutor(pace.at_once)
        stop: Callable[[], None] = do_nothing
        seconds: float | None = None  # until `stop` is called again, after Ctrl-C
        while (left and not self.failed) or len(self.kept) < submitted or self.began - self.kept:
            try:
                stop()  # again and again: a thread may have been about to send a request
                while left and not self.failed and submitted - len(self.kept) < pace.at_once:
                    pool.submit(self._score, left.popleft())
                    submitted += 1
                self.any_came.wait(seconds)
                self.any_came.clear()
                self._keep_what_came()
            except KeyboardInterrupt as error:
                if seconds is not None:
                    raise
                stop, seconds = pace.stop, STOP_AGAIN
                self.failed.append(error)
        pool.shutdown()
        self._keep_what_came()  # of one that was just being started when somebody pressed Ctrl-C
        if self.failed:
            raise self.failed[0]

    def _score(self, which: slice) -> None:
        """Score a shard, in a thread; an error is raised once the others are kept."""
        self.began.add(which.start)
        try:
            self.came[which.start] = which, waited_for(self.work.score(which))
        except BaseException as error:  # noqa: BLE001  (see above)
            self.came[which.start] = which, error
        self.any_came.set()

    def _keep_what_came(self) -> None:
        """Store finished shards and collect errors; repeatable after an interrupt."""
        for start in [*self.came]:
            which, made = self.came[start]
            try:
                if isinstance(made, BaseException):
                    self.failed.append(made)
                else:
                    self.keep(which, made)
            except Exception as error:  # noqa: BLE001  (a full disk; the other shards are tried)
                self.failed.append(error)
            self.kept.add(start)
            del self.came[start]


def _write_shard(journal: Journal, work: Work, which: slice, scores: Scores) -> Stored:
    """Write a shard's scores and return the shard; if another host wrote first, return that one."""
    frame = pd.DataFrame({"score": np.asarray(scores, dtype=np.float32)})
    said = dict(work.provenance())
    if not journal.write(which.start, frame, said, anew=False):
        if (theirs := journal.shard(which)) is not None:
            return theirs
        journal.write(which.start, frame, said)
    return Stored(work.key, frame, {}, said)


def measured_noise(scores: Scores, alone: Callable[[Sequence[int]], Scores]) -> Mapping[str, float]:
    """Score up to 16 answers again, each by itself; return the rms difference as {"noise": ...}.

    Another path and a batch of another size add in another order; in half precision that moves a
    reward by far more than the last digit. `noise` is in the model's units. `scores` has shape
    (n,); `alone` scores the answers at some places, each by itself with the model's own forward.
    The places, at most `ANSWERS`, are spread over the answers and always the same.

    Raises:
        ScoreError: such a reward is not a finite number.
    """
    places = spread(len(scores), ANSWERS, np.random.default_rng(0))
    if not len(places):
        return {"noise": 0.0}
    again = np.asarray(alone(places.tolist()), dtype=np.float64)
    if not np.isfinite(again).all():
        message = (
            f"the model's own forward gives {again[~np.isfinite(again)][0]} for a row that the "
            f"engine scored; `rmaudit doctor` compares the two. Below float32, try --rm-dtype "
            f"float32"
        )
        raise ScoreError(message)
    return {"noise": float(np.sqrt(np.mean((again - scores[places]) ** 2)))}
