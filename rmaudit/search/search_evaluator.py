"""Score sequences for a search within its budget, and resume after an interruption.

A search is a function of the rewards that it gets. So one that was killed is run again from its
start: rewards that it got before are in the journal, and it goes on where they end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_parquet import Journal
from rmaudit.search.search_settings import Ids, Settings

SHARD = 1024  # evaluations a shard: what a kill may lose
AFTER_ALL_STARTS = -1  # of what was found after the starts
MAX_HITS = 100  # best sequences that a search tells
MAX_HITS_A_CALL = 10  # of one call, for it may be a whole vocabulary at one place


class Hit(NamedTuple):
    """A sequence that a search scored, with its reward and the value that the search maximizes.

    It was found from start number `start`, as evaluation number `evaluation`.
    """

    ids: Ids
    score: float
    value: float
    evaluation: int
    start: int


@dataclass(slots=True)
class Evaluator:
    """Scorer of sequences for one search: it keeps to the budget and collects the best sequences.

    `score` gives the rewards of sequences of one length, and shows in `bar` how far it is. `trace`
    has the best reward and the number of evaluations whenever it got better.
    """

    settings: Settings
    score: Callable[[Sequence[Ids]], NDArray[np.float32]]
    journal: Journal
    bar: Bar
    used: int = 0
    trace: list[tuple[int, float]] = field(default_factory=list)
    hits: dict[Ids, Hit] = field(default_factory=dict)
    best_by_start: dict[int, Hit] = field(default_factory=dict)
    _start: int = 0
    _end: int = 0
    _best: float | None = None
    _pending: list[tuple[str, float]] = field(default_factory=list)
    _written: int = 0
    _known: list[tuple[str, float]] | None = None

    def begin(self, start: int) -> None:
        """Begin with start number `start`, which may use its share of the budget left."""
        self._start = start
        share = (self.settings.budget - self.used) // (self.settings.starts - start)
        self._end = self.used + share

    def widen(self) -> None:
        """Release the rest of the budget; sequences found from now on count for no start."""
        self._start, self._end = AFTER_ALL_STARTS, self.settings.budget

    @property
    def left(self) -> int:
        """Return how many sequences may still be scored from the current start."""
        return self._end - self.used

    def rewards(self, answers: Sequence[Ids]) -> NDArray[np.float64]:
        """Return the rewards of `answers`, or only of the first ones if the budget runs out.

        Raises:
            ScoreError: a reward is not a finite number.
            StoreError: the journal cannot be read or written.
        """
        end = min(self.left, len(answers))
        made: list[float] = []
        for first in range(0, end, SHARD):
            made += self._rewards(answers[first : min(first + SHARD, end)])
        return np.array(made, dtype=np.float64)

    def record_best(self, answers: Sequence[Ids], rewards: NDArray[np.float64]) -> list[Hit]:
        """Record the best of the answers just scored, at most 10; return them, best first.

        They need not be better than what was found before. `rewards` are those of the first of
        `answers`, as `rewards` gave them.
        """
        values = self.settings.value(rewards)
        before = self.used - len(rewards) + 1
        found = [
            Hit(answers[at], float(rewards[at]), float(values[at]), before + at, self._start)
            for at in np.argsort(-values, kind="stable")[:MAX_HITS_A_CALL].tolist()
        ]
        for hit in found:
            self._note(hit)
        return found

    def credit_current_start(self, hits: Sequence[Hit]) -> None:
        """Count hits that another start found for the current start, too."""
        for hit in hits:
            self._note(hit._replace(start=self._start))

    def top(self) -> list[Hit]:
        """Return the best sequences of the whole search so far, best first, at most `MAX_HITS`."""
        return sorted(self.hits.values(), key=_rank)[:MAX_HITS]

    def _note(self, hit: Hit) -> None:
        before = self.hits.setdefault(hit.ids, hit)  # its digits may differ in another context
        hit = hit._replace(score=before.score, value=before.value)
        if hit.start != AFTER_ALL_STARTS:
            best = self.best_by_start.get(hit.start, hit)
            self.best_by_start[hit.start] = min(best, hit, key=_rank)
        if self._best is None or hit.value > self._best:
            self._best = hit.value
            self.trace.append((hit.evaluation, hit.score))
            self.bar.say(f"best {hit.score:.4g}")
        if len(self.hits) > 2 * MAX_HITS:
            self.hits = {kept.ids: kept for kept in self.top()}

    def _rewards(self, answers: Sequence[Ids]) -> list[float]:
        """Return rewards: the journal's while its next answers are the same, then the model's."""
        named = [json.dumps(ids) for ids in answers]
        rewards = self._replayed(named)
        self.bar.advance(len(rewards))
        if len(rewards) < len(answers):
            rewards += [float(reward) for reward in self.score(answers[len(rewards) :])]
        self._pending += zip(named, rewards, strict=True)
        self.used += len(answers)
        while len(self._pending) >= SHARD:
            self._write(self._pending[:SHARD])
            self._pending = self._pending[SHARD:]
        return rewards

    def _replayed(self, named: Sequence[str]) -> list[float]:
        """Return the journal's rewards of the first `named` answers; cut it off where these differ.

        Answers are named by their ids in JSON.
        """
        if self._known is None:
            self._known = self._read()
        rewards: list[float] = []
        for name, (known, reward) in zip(named, self._known[self.used :], strict=False):
            if name != known:  # another machine's numbers, perhaps: what follows is of no use
                del self._known[self.used + len(rewards) :]
                break
            rewards.append(reward)
        return rewards

    def _read(self) -> list[tuple[str, float]]:
        known: list[tuple[str, float]] = []
        while shard := self.journal.shard(slice(len(known), len(known) + SHARD)):
            known += zip(shard.frame["ids"], shard.frame["score"].tolist(), strict=True)
        return known

    def _write(self, rows: Sequence[tuple[str, float]]) -> None:
        if self._known is None or self._written + SHARD > len(self._known):
            frame = pd.DataFrame(rows, columns=["ids", "score"])
            self.journal.write(self._written, frame, {})
        self._written += SHARD


def _rank(hit: Hit) -> tuple[float, int]:
    return -hit.value, hit.evaluation
