"""Store scores: each file is named by a hash of everything that decides its scores.

A file is `<root>/scores/<key>.parquet` (`scores.score_parquet`); `key` is the sha256 of the fields
that decide the scores (weights, tokenizer, rendered ids, dtype, attention, protocol, head, scoring
version, the answers).

Scores are written in shards, in `<key>.parts`, as they come (`scores.shard_scoring`); a later run
scores only the shards that a killed run has not stored. Many hosts may share a store: shards and
files are created if absent (`scores.score_cache_files`), so that a lost race costs work done twice
and nothing else. On one host, a second process waits for the first one's result
(`checkpoints.process_locks`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow.parquet as pq

from rmaudit.checkpoints.process_locks import one_process_of_host
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.models.external_scorer_batches import do_nothing
from rmaudit.scores import score_parquet
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_cache_files import Files, LocalFiles, files_at
from rmaudit.scores.score_parquet import (
    META,
    DamagedError,
    Fields,
    Journal,
    MadeMeanwhileError,
    Stored,
    key_of,
    name_of,
    parts_of,
)
from rmaudit.scores.shard_scoring import Work, make_shard, sharded

Make = Callable[[Journal], tuple[pd.DataFrame, Mapping[str, Any]]]


class Store:
    """The cache of scores, in a folder or at a URL that fsspec knows."""

    def __init__(self, root: Path | str | Files) -> None:
        """Use the cache in the folder or at the URL `root`, which the first write creates.

        Raises:
            StoreError: there is no file system for the URL, or a package is missing.
        """
        self.files = files_at(root) if isinstance(root, Path | str) else root

    @property
    def local(self) -> Path:
        """Return the local folder for everything cached besides scores, such as built models.

        It is on this host: the user's own cache where the scores are elsewhere.
        """
        return self.files.root.parent if isinstance(self.files, LocalFiles) else default_cache()

    @property
    def root(self) -> str:
        """Return the cache folder or the URL, as text."""
        return self.files.where().removesuffix("scores").rstrip("/")

    def where(self, key: str) -> str:
        """Return the path or the URL of the file of scores under `key`, to show to people."""
        return self.files.where(name_of(key))

    def read(self, key: str) -> Stored | None:
        """Return the scores stored under `key`, or None; a damaged file is renamed, with a warning.

        Raises:
            StoreError: the file cannot be read, or is damaged and cannot be set aside.
        """
        try:
            return score_parquet.read(self.files, key)
        except DamagedError:  # or made anew meanwhile: who holds the lock looks again
            with one_process_of_host(self.where(key)):
                return score_parquet.read_or_set_aside(self.files, key)

    def complete(self, work: Work) -> Stored:
        """Return the scores of a task's rows: read from the cache, or else scored and stored.

        What an interrupted run has stored is not computed again. The scores are in the column
        `score` (float32).

        Raises:
            StoreError: a file cannot be read, or the folder cannot be written.
        """
        return self.once(work.fields, partial(sharded, work=work), work.bar)

    def once(self, fields: Fields, make: Make, bar: Bar | None = None) -> Stored:
        """Return the scores stored under `fields`, or else call `make` and store its result.

        `make` is given a journal (the shards stored so far) and returns a frame and its provenance;
        `bar` is shown while it runs. Raises as `complete` does.
        """
        key = key_of(fields)
        found = self.read(key)
        if found is None:
            on_wait = do_nothing if bar is None else bar.wait
            with one_process_of_host(self.where(key), on_wait), bar or nullcontext():
                found = self._made(key, fields, make)
        self.files.clear(parts_of(key))  # also of a run killed before
        return found

    def _made(self, key: str, fields: Fields, make: Make) -> Stored:
        """Make and store scores, or return what another process or host has stored meanwhile."""
        while (found := score_parquet.read_or_set_aside(self.files, key)) is None:
            with score_parquet.writing(self.files.where(parts_of(key))):
                self.files.prepare(parts_of(key))  # found out before anything is scored in vain
            with suppress(MadeMeanwhileError):
                frame, said = make(Journal(self.files, key))
                about = {"key": key, "fields": dict(fields), "provenance": dict(said)}
                if score_parquet.write(self.files, frame, about):
                    return Stored(key, frame, dict(fields), dict(said))
        return found

    def missing(self, work: Work) -> list[slice]:
        """Return the shards (slices of rows) of a task that are not stored yet.

        Only file names are looked at: a damaged file is noticed when it is read.

        Raises:
            StoreError: the store cannot be read.
        """
        with score_parquet.reading(self.files.where(parts_of(work.key))):
            if self.files.exists(name_of(work.key)):
                return []
            there = set(self.files.names(parts_of(work.key)))
        return [which for which in work.shards if name_of(work.key, which.start) not in there]

    def tables_with(self, fields: Fields) -> Iterator[Stored]:
        """Yield the stored tables whose key has all these `fields`; damaged files are left out.

        Raises:
            StoreError: the store cannot be read.
        """
        with score_parquet.reading(self.files.where()):
            names = [
                name for name, of, *_ in _described(self.files) if fields.items() <= of.items()
            ]
        for name in names:
            with suppress(DamagedError):
                if found := score_parquet.read(self.files, name.removesuffix(".parquet")):
                    yield found

    def has(self, key: str) -> bool:
        """Return whether a file of scores exists under `key`, without reading the file."""
        with score_parquet.reading(self.where(key)):
            return self.files.exists(name_of(key))

    def make(self, work: Work, which: slice) -> None:
        """Score and store one shard of a task, if it is missing; wait for no other process.

        `complete` then finds it, and raises the same.
        """
        make_shard(Journal(self.files, work.key), work, which)


def store_at(cache: Path | str | Store | None) -> Store:
    """Return the store at a cache folder or URL, by default the user's cache. Raises as `Store`."""
    return cache if isinstance(cache, Store) else Store(cache or default_cache())


def unfinished(cache: Path | str | Store) -> int:
    """Return how many scores interrupted runs left in the cache, for the next run to use."""
    files = store_at(cache).files
    return sum(_row_count(files, name) for name in files.names() if ".parts/" in name)


def _row_count(files: Files, name: str) -> int:
    try:
        with files.opened(name) as file:
            return int(pq.read_metadata(file).num_rows) if name.endswith(".parquet") else 0
    except (OSError, ValueError):  # damaged: the next run makes it anew
        return 0


class Counts(NamedTuple):
    """Numbers of a model's stored sweeps and of its imported tables of published scores."""

    scored: int = 0
    recorded: int = 0


def counts(cache: Path | str | Store) -> defaultdict[str, Counts]:
    """Count each model's stored sweeps and imported tables, by its source (hub id, folder, ...).

    The source `embedded` is the small model that rmaudit contains. A folder that was trained again
    is still the same source: these are counts for a list, and no promise that the next audit finds
    its sweep. Files without metadata are left out.
    """
    found: defaultdict[str, Counts] = defaultdict(Counts)
    for _, fields, provenance, columns in _described(store_at(cache).files):
        source = str(fields.get("model") or provenance.get("source"))
        scored, recorded = found[source]
        if "recorded" in fields:
            found[source] = Counts(scored, recorded + 1)
        elif "token_id" in columns and "part" not in fields:
            found[source] = Counts(scored + 1, recorded)
    return found


def _described(
    files: Files,
) -> Iterator[tuple[str, dict[str, str], dict[str, Any], Sequence[str]]]:
    """Yield name, fields of the key, provenance and columns of each table of scores."""
    for name in files.names():
        if "/" in name or not name.endswith(".parquet"):
            continue
        try:
            with files.opened(name) as file:
                schema = pq.read_schema(file)
            about = json.loads((schema.metadata or {})[META])
            fields, provenance = dict(about["fields"]), dict(about["provenance"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        yield name, fields, provenance, schema.names
