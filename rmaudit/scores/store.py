"""The store of scores: files named by what decided them, resumable and verified.

A file is `<root>/scores/<key>.parquet` (`scores.sealed`), `key` being the sha256 of the fields that
decide the scores (weights, tokenizer, rendered ids, dtype, attention, protocol, head, scoring
version, the answers).

Scores are written in shards of `SHARD` answers, in `<key>.parts`, as they come; a run that was
killed goes on with the shards that are missing. Where a server scores, a shard is one request, and
several are made at once: if one fails, those under way are waited for and kept.
A file lock makes a second process wait for the first one's result; the operating system frees the
lock of a process that died. Whole files are read without the lock; files are written and set aside
only with it.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from rmaudit.models.batches import Pace
from rmaudit.scores import sealed
from rmaudit.scores.filling import Score, Shards
from rmaudit.scores.sealed import META, DamagedError, Fields, Stored, key_of

SHARD = 4096  # answers a shard: what a kill may lose
Measured = Callable[[NDArray[np.float32]], Mapping[str, Any]]
Make = Callable[["Journal"], tuple[pd.DataFrame, Mapping[str, Any]]]


class Store:
    """A folder of stored scores."""

    def __init__(self, root: Path) -> None:
        """`root` is the cache folder; it is made when first written to."""
        self.folder = root / "scores"

    def read(self, key: str) -> Stored | None:
        """The scores under `key`, or None if there are none (damaged ones are set aside).

        Raises:
            StoreError: the file cannot be read, or is damaged and cannot be set aside.
        """
        try:
            return sealed.read(self._path(key), key)
        except DamagedError:  # or made anew meanwhile: who holds the lock looks again
            with self._locked(key):
                return sealed.read_or_set_aside(self._path(key), key, self.folder)

    def fill(  # noqa: PLR0913  (keyword-only after what every caller gives)
        self,
        fields: Fields,
        rows: pd.DataFrame,
        score: Score,
        provenance: Callable[[], Mapping[str, Any]],
        *,
        measured: Measured = lambda _: {},
        on_wait: Callable[[], None] = lambda: None,
        on_found: Callable[[int], None] = lambda _: None,
        pace: Pace | None = None,
    ) -> Stored:
        """The scores of n `rows` under `fields`, read, resumed or made: float32, column `score`.

        `score` gives the scores of a slice of the rows; it is called for each missing shard, and
        `provenance` after it; the first shard's is kept. `measured` is called once with all scores;
        what it says of them is kept with the provenance.
        `on_wait` is called once if another process is at work on the same scores, before waiting;
        `on_found` with how many scores of a run before are there. `pace` says how many answers a
        shard has, and how many shards are scored at once, in threads.

        Raises:
            StoreError: a file cannot be read, or the folder cannot be written.
        """

        def make(journal: Journal) -> tuple[pd.DataFrame, Mapping[str, Any]]:
            shards = Shards(journal, len(rows), pace or Pace(SHARD), on_found)
            scores, made = shards.filled(score, provenance)
            frame = rows.reset_index(drop=True).assign(score=scores)
            return frame, {**(made or provenance()), **measured(scores)}

        return self.once(fields, make, on_wait)

    def once(
        self, fields: Fields, make: Make, on_wait: Callable[[], None] = lambda: None
    ) -> Stored:
        """What is kept under `fields`: read, or else made by `make` and kept.

        `make` is given a journal and returns a frame and its provenance. Raises as `fill` does.
        """
        key = key_of(fields)
        found = self.read(key)
        if found is None:
            with self._locked(key, on_wait):
                # Another process may have made it meanwhile.
                found = sealed.read_or_set_aside(self._path(key), key, self.folder)
                found = found or self._make(key, fields, make)
        shutil.rmtree(_parts(self.folder, key), ignore_errors=True)  # or of a run killed before
        return found

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.parquet"

    @contextmanager
    def _locked(self, key: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
        with sealed.writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / f"{key}.lock")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                on_wait()
                lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _make(self, key: str, fields: Fields, make: Make) -> Stored:
        parts = _parts(self.folder, key)
        with sealed.writing(parts):  # found out before anything is scored in vain
            parts.mkdir(exist_ok=True)
        frame, said = make(Journal(self.folder, key))
        about = {"key": key, "fields": dict(fields), "provenance": dict(said)}
        sealed.write(self._path(key), parts, frame, about)
        return Stored(key, frame, dict(fields), dict(said))


class Journal:
    """The shards of a long work, each named by how many rows come before it.

    A work that was killed finds there what it had done.
    """

    def __init__(self, folder: Path, key: str) -> None:
        """Of the work under `key`, whose lock is held; `folder` is the store's."""
        self._folder, self._key, self._parts = folder, key, _parts(folder, key)

    def shard(self, start: int) -> Stored | None:
        """The shard that begins at row `start`, None if there is none (damaged: set aside).

        Raises:
            StoreError: it cannot be read, or is damaged and cannot be set aside.
        """
        return sealed.read_or_set_aside(self._path(start), self._key, self._folder, start)

    def write(self, start: int, frame: pd.DataFrame, provenance: Mapping[str, Any]) -> None:
        """Write the shard that begins at row `start`, in place of any that is there.

        Raises:
            StoreError: it cannot be written.
        """
        about = {"key": self._key, "start": start, "provenance": dict(provenance)}
        sealed.write(self._path(start), self._parts, frame, about)

    def _path(self, start: int) -> Path:
        return self._parts / f"{start:08d}.parquet"


def _parts(folder: Path, key: str) -> Path:
    """Where the shards of a work are."""
    return folder / f"{key}.parts"


def unfinished(cache: Path) -> int:
    """How many scores are kept of works that were cut and that the next run goes on with."""
    parts = (cache / "scores").glob("*.parts/*.parquet")
    return sum(_rows(path) for path in parts)


def _rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows) if path.is_file() else 0
    except (OSError, ValueError):  # damaged: the next run makes it anew
        return 0


# What is kept, by what each file says of itself: for lists, its scores unread


class Counts(NamedTuple):
    """Whole sweeps that were scored, and sweeps and tables of items that were imported."""

    scored: int = 0
    recorded: int = 0


def counts(cache: Path) -> defaultdict[str, Counts]:
    """By the source (hub id, folder or `embedded`) that the scores say they come from.

    A folder that was trained again is still the same source: these are counts for a list, and no
    promise that the next audit finds its sweep. Files that say nothing of themselves are left out.
    """
    found: defaultdict[str, Counts] = defaultdict(Counts)
    for kept in _listing(cache):
        source = str(kept.fields.get("model") or kept.provenance.get("source"))
        scored, recorded = found[source]
        if "recorded" in kept.fields:
            found[source] = Counts(scored, recorded + 1)
        elif "token_id" in kept.columns and "part" not in kept.fields:
            found[source] = Counts(scored + 1, recorded)
    return found


class _Listed(NamedTuple):
    """A stored file's columns, the fields of its key, and where its scores come from."""

    columns: tuple[str, ...]
    fields: dict[str, str]
    provenance: dict[str, object]


def _listing(cache: Path) -> Iterator[_Listed]:
    for path in sorted(Store(cache).folder.glob("*.parquet")):
        try:
            if path.is_file():  # to open a pipe would wait for ever
                schema = pq.read_schema(path)
                about = json.loads((schema.metadata or {})[META])
                yield _Listed(tuple(schema.names), about["fields"], about["provenance"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
