"""The store of scores: Parquet files named by what decided them, resumable and verified.

A file is `<root>/scores/<key>.parquet`, `key` being the sha256 of the fields that decide the
scores (weights, tokenizer, rendered ids, dtype, attention, protocol, head, scoring version, the
answers). Its schema metadata carries these fields and a checksum of its columns; both are checked
on every read, and a file that fails is set aside as `<key>.damaged`, never used.

Scores are written in shards of `SHARD` answers, in `<key>.parts`, as they come; a run that was
killed goes on after the last whole shard. A file lock makes a second process wait for the first
one's result; the operating system frees the lock of a process that died. Whole files are read
without the lock; files are written and set aside only with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from rmaudit.errors import StoreError

SHARD = 4096  # answers a shard: what a kill may lose
_META = b"rmaudit"
Fields = Mapping[str, str]
Score = Callable[[slice], NDArray[np.float32]]
Measured = Callable[[NDArray[np.float32]], Mapping[str, Any]]
Make = Callable[["Journal"], tuple[pd.DataFrame, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Stored:
    """Scores read back: one row an answer, the fields of their key, and where they come from."""

    key: str
    frame: pd.DataFrame
    fields: Fields
    provenance: Mapping[str, Any]


class Listed(NamedTuple):
    """A stored file's columns, the fields of its key, and where its scores come from."""

    columns: tuple[str, ...]
    fields: Fields
    provenance: Mapping[str, Any]


def key_of(fields: Fields) -> str:
    """The sha256, in hex, of the fields in canonical JSON."""
    return hashlib.sha256(json.dumps(dict(fields), sort_keys=True).encode()).hexdigest()


class Store:
    """A folder of stored scores."""

    def __init__(self, root: Path) -> None:
        """`root` is the cache folder; it is made when first written to."""
        self.folder = root / "scores"

    def read(self, key: str) -> Stored | None:
        """The scores under `key`, or None if there are none (damaged ones are set aside).

        Raises:
            StoreError: damaged scores cannot be set aside.
        """
        try:
            return _read(self._path(key), key)
        except _DamagedError:  # or made anew meanwhile: who holds the lock looks again
            with self._locked(key):
                return self._whole(self._path(key), key)

    def listing(self) -> Iterator[Listed]:
        """What each file says of itself, its scores unread and unverified; odd files are left out.

        For lists to look at: whoever needs the scores uses `read`.
        """
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                schema = pq.read_schema(path)
                about = json.loads((schema.metadata or {})[_META])
                yield Listed(tuple(schema.names), about["fields"], about["provenance"])
            except (OSError, ValueError, KeyError, TypeError):
                continue

    def fill(  # noqa: PLR0913  (keyword-only after what every caller gives)
        self,
        fields: Fields,
        rows: pd.DataFrame,
        score: Score,
        provenance: Callable[[], Mapping[str, Any]],
        *,
        measured: Measured = lambda _: {},
        on_wait: Callable[[], None] = lambda: None,
    ) -> Stored:
        """The scores of `rows` under `fields`: read, resumed or made.

        `score` gives the scores of a slice of the rows; it is called for each missing shard, and
        `provenance` after it; the first shard's is kept. `measured` is called once with all scores;
        what it says of them is kept with the provenance.
        `on_wait` is called once if another process is at work on the same scores, before waiting.

        Raises:
            StoreError: the folder cannot be written.
        """
        return self.once(
            fields, lambda journal: _sharded(journal, rows, score, provenance, measured), on_wait
        )

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
                found = self._whole(self._path(key), key) or self._make(key, fields, make)
        shutil.rmtree(self._parts(key), ignore_errors=True)  # or of a run killed before this
        return found

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.parquet"

    def _parts(self, key: str) -> Path:
        return self.folder / f"{key}.parts"

    @contextmanager
    def _locked(self, key: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
        with _writing(self.folder):
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
        parts = self._parts(key)
        with _writing(parts):  # found out before anything is scored in vain
            parts.mkdir(exist_ok=True)
        frame, said = make(Journal(self, key))
        about = {"key": key, "fields": dict(fields), "provenance": dict(said)}
        _write(self._path(key), parts, frame, about)
        return Stored(key, frame, dict(fields), dict(said))

    def _whole(self, path: Path, key: str, start: int | None = None) -> Stored | None:
        """What is read from `path`, or None; what is damaged is set aside. The lock is held."""
        try:
            return _read(path, key, start)
        except _DamagedError as damage:
            stem = key if start is None else f"{key}-{path.stem}"
            names = (f"{stem}.damaged" + (f"-{n}" if n > 1 else "") for n in count(1))
            aside = next(new for name in names if not os.path.lexists(new := self.folder / name))
            with _writing(path):
                path.replace(aside)
            warnings.warn(f"{path}: {damage}; moved to {aside} and redone", stacklevel=2)
            return None


class Journal:
    """The shards of a long work, each named by how many rows come before it.

    A work that was killed finds there what it had done.
    """

    def __init__(self, store: Store, key: str) -> None:
        """Of the work under `key`, whose lock is held."""
        self._store, self._key = store, key

    def shard(self, start: int) -> Stored | None:
        """The shard that begins at row `start`, None if there is none (damaged: set aside)."""
        return self._store._whole(self._path(start), self._key, start)  # noqa: SLF001  (one module)

    def write(self, start: int, frame: pd.DataFrame, provenance: Mapping[str, Any]) -> None:
        """Write the shard that begins at row `start`, in place of any that is there."""
        about = {"key": self._key, "start": start, "provenance": dict(provenance)}
        _write(self._path(start), self._path(start).parent, frame, about)

    def _path(self, start: int) -> Path:
        return self._store._parts(self._key) / f"{start:08d}.parquet"  # noqa: SLF001


def _sharded(
    journal: Journal,
    rows: pd.DataFrame,
    score: Score,
    provenance: Callable[[], Mapping[str, Any]],
    measured: Measured,
) -> tuple[pd.DataFrame, Mapping[str, Any]]:
    """The scores of `rows`, shard by shard."""
    scores = np.full(len(rows), np.nan, dtype=np.float32)
    made: Mapping[str, Any] = {}  # of the first shard: who puts all together may load no model
    for start in range(0, len(rows), SHARD):
        which = slice(start, min(start + SHARD, len(rows)))
        shard = journal.shard(start)
        if shard is not None and len(shard.frame) == which.stop - which.start:
            scores[which] = shard.frame["score"]
            made = made or shard.provenance
        else:  # none, damaged, or of a version with shards of another size
            scores[which] = score(which)
            now = dict(provenance())
            journal.write(start, pd.DataFrame({"score": scores[which]}), now)
            made = made or now
    frame = rows.reset_index(drop=True).assign(score=scores)
    return frame, {**(made or provenance()), **measured(scores)}


def _write(path: Path, parts: Path, frame: pd.DataFrame, about: Mapping[str, Any]) -> None:
    """Write whole or not at all: to a file of this process's own in `parts`, then renamed."""
    meta = json.dumps({**about, "checksum": _seal(frame, about)}, sort_keys=True).encode()
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata({_META: meta})
    partial = parts / f"{path.stem}.{os.getpid()}.partial"
    with _writing(path):
        parts.mkdir(parents=True, exist_ok=True)  # somebody may have cleared the cache
        try:
            with partial.open("wb") as file:
                pq.write_table(table, file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())  # a power cut after the renaming finds the scores there
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be written ({error}); give another folder with --rm-cache"
        raise StoreError(message) from error


class _DamagedError(Exception):
    """A file is not what was once written under its name; says why."""


def _read(path: Path, key: str, start: int | None = None) -> Stored | None:
    """What a whole file holds, or None if there is none. Raises `_DamagedError`."""
    try:
        table = pq.read_table(pa.BufferReader(path.read_bytes()))
        about = json.loads((table.schema.metadata or {})[_META])
        frame = table.replace_schema_metadata(None).to_pandas()
        seal, fields = about.pop("checksum"), about.get("fields", {})
        whole = about["key"] == key and about.get("start") == start and seal == _seal(frame, about)
        if whole and (start is not None or key_of(fields) == key):
            return Stored(key, frame, fields, about.get("provenance", {}))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Exception as error:  # what reads a damaged file raises anything
        raise _DamagedError(f"it cannot be read ({type(error).__name__})") from error
    raise _DamagedError("its checksum or key is not its own")


def _seal(frame: pd.DataFrame, about: Mapping[str, Any]) -> str:
    """The checksum of a file: of its columns and of all else it says."""
    said = json.dumps(dict(about), sort_keys=True)
    return hashlib.sha256((checksum(frame) + said).encode()).hexdigest()


def checksum(frame: pd.DataFrame) -> str:
    """The sha256, in hex, of a frame's columns: their names, types and values."""
    total = hashlib.sha256()
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy()
            kind, data = values.dtype.str, values.tobytes()
        else:
            kind, data = "text", "\0".join(column.tolist()).encode("utf-8", "surrogatepass")
        total.update(f"{name}:{kind}:{len(data)}:".encode() + data)
    return total.hexdigest()
