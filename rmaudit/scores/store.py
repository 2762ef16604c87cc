"""The store of scores: files named by what decided them, resumable and verified.

A file is `<root>/scores/<key>.parquet` (`scores.sealed`), `key` being the sha256 of the fields that
decide the scores (weights, tokenizer, rendered ids, dtype, attention, protocol, head, scoring
version, the answers).

Scores are written in shards of `SHARD` answers, in `<key>.parts`, as they come; a run that was
killed goes on with the shards that are missing. While a GPU computes some shards, those before
them are written and the next are prepared. Where a server scores, a shard is one request, and
several are made at once: if one fails, those under way are waited for and kept. Many hosts may be
at one store: shards and files are created if absent (`scores.files`), so that a lost race costs
work done twice and nothing else. On one host, a second process waits for the first one's result
(`scores.host_lock`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.config.cache_folder import default_cache
from rmaudit.models.batches import Pace
from rmaudit.scores import sealed
from rmaudit.scores.files import Files, Folder, files_at
from rmaudit.scores.filling import shard_of, sharded
from rmaudit.scores.host_lock import one_of_this_host
from rmaudit.scores.journal import (
    Journal,
    MadeMeanwhileError,
    name_of,
    parts_of,
    shard_name,
)
from rmaudit.scores.sealed import DamagedError, Fields, Stored, key_of
from rmaudit.scoring import Begun

SHARD = 4096  # answers a shard: what a kill may lose; two calls of several where GPUs score
Score = Callable[[slice], Begun]
Measured = Callable[[NDArray[np.float32]], Mapping[str, Any]]
Make = Callable[["Journal"], tuple[pd.DataFrame, Mapping[str, Any]]]
Shown = AbstractContextManager[object]
_UNSEEN: Shown = nullcontext()


@dataclass(frozen=True)
class Work:
    """Scores of n rows to be made, shard by shard.

    Attributes:
        fields: what decides the scores.
        rows: what is kept with them, one row an answer.
        score: gives the scores of a slice of the rows, or begins them; called for each missing
            shard, or for several that follow each other.
        provenance: where they come from; called after each shard, and the first shard's is kept.
        measured: called once with all scores; what it says of them is kept with the provenance.
        on_wait: called once if another process of this host is at the same, before waiting.
        shown: entered while shards are made: a progress bar.
        on_found: called with how many scores of a run before are there.
        pace: how many answers a shard has, and how many shards are scored at once, in threads;
            None for `SHARD`, one at a time.
        answers_a_call: how many answers `score` is asked for at once, a shard at least; asked
            before each call.
    """

    fields: Fields
    rows: pd.DataFrame
    score: Score
    provenance: Callable[[], Mapping[str, Any]]
    measured: Measured = lambda _: {}
    on_wait: Callable[[], None] = lambda: None
    shown: Shown = _UNSEEN
    on_found: Callable[[int], None] = lambda _: None
    pace: Pace | None = None
    answers_a_call: Callable[[], int] = lambda: 0

    @cached_property
    def key(self) -> str:
        """The key of the fields."""
        return key_of(self.fields)

    @property
    def shards(self) -> list[slice]:
        """The rows of each shard."""
        n, size = len(self.rows), self.pace.answers if self.pace else SHARD
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]


class Store:
    """A place of stored scores: a folder, or a URL that fsspec knows."""

    def __init__(self, root: Path | str | Files) -> None:
        """`root` is the cache folder, or a URL; it is made when first written to.

        Raises:
            StoreError: there is no file system for the URL, or a package is missing.
        """
        self.files = files_at(root) if isinstance(root, Path | str) else root

    @property
    def local(self) -> Path:
        """The folder of what lies beside the scores: models that were built, facts, strings.

        It is on this host: the user's own where the scores are elsewhere.
        """
        return self.files.root.parent if isinstance(self.files, Folder) else default_cache()

    @property
    def root(self) -> str:
        """The cache folder or the URL."""
        return self.files.where().removesuffix("scores").rstrip("/")

    def where(self, key: str) -> str:
        """The path or the URL of a file of scores, for people."""
        return self.files.where(name_of(key))

    def read(self, key: str) -> Stored | None:
        """The scores under `key`, or None if there are none (damaged ones are set aside).

        Raises:
            StoreError: the file cannot be read, or is damaged and cannot be set aside.
        """
        try:
            return sealed.read(self.files, name_of(key), key)
        except DamagedError:  # or made anew meanwhile: who holds the lock looks again
            with one_of_this_host(self.where(key)):
                return sealed.read_or_set_aside(self.files, name_of(key), key)

    def fill(  # noqa: PLR0913  (keyword-only after what every caller gives)
        self,
        fields: Fields,
        rows: pd.DataFrame,
        score: Score,
        provenance: Callable[[], Mapping[str, Any]],
        *,
        measured: Measured = lambda _: {},
        on_wait: Callable[[], None] = lambda: None,
        shown: Shown = _UNSEEN,
        on_found: Callable[[int], None] = lambda _: None,
        pace: Pace | None = None,
        answers_a_call: Callable[[], int] = lambda: 0,
    ) -> Stored:
        """The scores of n `rows` under `fields`, read, resumed or made: float32, column `score`.

        The arguments are those of a `Work`.

        Raises:
            StoreError: a file cannot be read, or the folder cannot be written.
        """
        asked = (measured, on_wait, shown, on_found, pace, answers_a_call)
        return self.complete(Work(fields, rows, score, provenance, *asked))

    def complete(self, work: Work) -> Stored:
        """The scores of a work, read, resumed or made. Raises as `fill` does."""
        return self.once(
            work.fields, lambda journal: sharded(journal, work), work.on_wait, shown=work.shown
        )

    def once(
        self,
        fields: Fields,
        make: Make,
        on_wait: Callable[[], None] = lambda: None,
        *,
        shown: Shown = _UNSEEN,
    ) -> Stored:
        """What is kept under `fields`: read, or else made by `make` and kept.

        `make` is given a journal and returns a frame and its provenance; `shown` is entered while
        it runs. Raises as `fill` does.
        """
        key = key_of(fields)
        found = self.read(key)
        if found is None:
            with one_of_this_host(self.where(key), on_wait), shown:
                # Another process may have made it meanwhile.
                found = sealed.read_or_set_aside(self.files, name_of(key), key)
                found = found or self._make(key, fields, make)
        self.files.clear(parts_of(key))  # also of a run killed before
        return found

    def missing(self, work: Work) -> list[slice]:
        """The shards of a work that nobody has made; none where its scores are whole.

        The names alone are looked at: what is damaged is noticed when it is read.

        Raises:
            StoreError: the store cannot be read.
        """
        with sealed.reading(self.files.where(parts_of(work.key))):
            if self.files.exists(name_of(work.key)):
                return []
            there = set(self.files.names(parts_of(work.key)))
        return [which for which in work.shards if shard_name(work.key, which.start) not in there]

    def has(self, key: str) -> bool:
        """Whether there is a file of scores under `key`; it is not read."""
        with sealed.reading(self.where(key)):
            return self.files.exists(name_of(key))

    def make(self, work: Work, which: slice) -> None:
        """Make one shard of a work, if nobody has, and wait for nobody.

        `complete` then finds it. Raises as `fill` does.
        """
        with suppress(MadeMeanwhileError):
            shard_of(Journal(self.files, work.key), work, which)

    def _make(self, key: str, fields: Fields, make: Make) -> Stored:
        with sealed.writing(self.files.where(parts_of(key))):
            self.files.prepare(parts_of(key))  # found out before anything is scored in vain
        while True:
            with suppress(MadeMeanwhileError):
                frame, said = make(Journal(self.files, key))
                about = {"key": key, "fields": dict(fields), "provenance": dict(said)}
                if sealed.write(self.files, name_of(key), frame, about):
                    return Stored(key, frame, dict(fields), dict(said))
            theirs = sealed.read_or_set_aside(self.files, name_of(key), key)
            if theirs is not None:  # another host was first
                return theirs


def store_at(cache: Path | str | Store | None) -> Store:
    """The store of a cache folder or URL; the user's where none is given. Raises as `Store`."""
    return cache if isinstance(cache, Store) else Store(cache or default_cache())
