"""The store of scores: Parquet files named by what decided them, resumable and verified.

A file is `<root>/scores/<key>.parquet`, `key` being the sha256 of the fields that decide the
scores (weights, tokenizer, rendered ids, dtype, attention, protocol, head, scoring version, the
answers). Its schema metadata carries these fields and a checksum of its columns; both are checked
on every read, and a file that fails is set aside, never used.

Scores are written in shards of `SHARD` answers as they come; a run that was killed goes on after
the last whole shard. A file lock makes a second process wait for the first one's result; the
operating system frees the lock of a process that died.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock
from numpy.typing import NDArray

from rmaudit.errors import StoreError

SHARD = 4096  # answers a shard: what a kill may lose
_META = b"rmaudit"
Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """Scores read back: one row an answer, the fields of their key, and where they come from."""

    key: str
    frame: pd.DataFrame
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
        """The scores under `key`, or None if there are none (damaged ones are set aside)."""
        return _read(self.folder / f"{key}.parquet", key)

    def fill(
        self,
        fields: Fields,
        rows: pd.DataFrame,
        score: Callable[[slice], NDArray[np.float32]],
        provenance: Callable[[], Mapping[str, Any]],
    ) -> Stored:
        """The scores of `rows` under `fields`: read, resumed or made.

        `score` gives the scores of a slice of the rows; it is called for each missing shard.

        Raises:
            StoreError: the folder cannot be written.
        """
        key = key_of(fields)
        if (found := self.read(key)) is not None:
            return found
        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / f"{key}.lock")
            lock.acquire()
        try:
            # Another process may have made it meanwhile.
            return self.read(key) or self._make(key, fields, rows, score, provenance)
        finally:
            lock.release()

    def _make(
        self,
        key: str,
        fields: Fields,
        rows: pd.DataFrame,
        score: Callable[[slice], NDArray[np.float32]],
        provenance: Callable[[], Mapping[str, Any]],
    ) -> Stored:
        parts = self.folder / f"{key}.parts"
        with _writing(parts):
            parts.mkdir(exist_ok=True)
        scores = np.full(len(rows), np.nan, dtype=np.float32)
        for start in range(0, len(rows), SHARD):
            which = slice(start, min(start + SHARD, len(rows)))
            path = parts / f"{start:08d}.parquet"
            shard = _read(path, key, start=start)
            whole = shard is not None and len(shard.frame) == which.stop - which.start
            if shard is None or not whole:
                frame = pd.DataFrame({"score": score(which).astype(np.float32)})
                _write(path, frame, {"key": key, "start": start})
                scores[which] = frame["score"]
            else:
                scores[which] = shard.frame["score"]
        frame = rows.reset_index(drop=True).assign(score=scores)
        about = {"key": key, "fields": dict(fields), "provenance": dict(provenance())}
        _write(self.folder / f"{key}.parquet", frame, about)
        shutil.rmtree(parts, ignore_errors=True)
        return Stored(key, frame, dict(fields), about["provenance"])  # type: ignore[arg-type]


def _write(path: Path, frame: pd.DataFrame, about: Mapping[str, Any]) -> None:
    """Write whole or not at all: to a neighbour first, then renamed."""
    meta = json.dumps({**about, "checksum": _seal(frame, about)}, sort_keys=True).encode()
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata({_META: meta})
    partial = path.with_suffix(".partial")
    with _writing(path):
        pq.write_table(table, partial, compression="zstd")
        partial.replace(path)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be written ({error}); give another folder with --rm-cache"
        raise StoreError(message) from error


def _read(path: Path, key: str, start: int | None = None) -> Stored | None:
    if not path.is_file():
        return None
    try:
        table = pq.read_table(path)
        about = json.loads((table.schema.metadata or {})[_META])
        frame = table.replace_schema_metadata(None).to_pandas()
        seal, fields = about.pop("checksum"), about.get("fields", {})
        whole = about["key"] == key and about.get("start") == start and seal == _seal(frame, about)
        if whole and (start is not None or key_of(fields) == key):
            return Stored(key, frame, fields, about.get("provenance", {}))
        reason = "its checksum or key is not its own"
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        reason = f"it cannot be read ({type(error).__name__})"
    aside = path.with_suffix(".damaged")
    path.replace(aside)
    warnings.warn(f"{path}: {reason}; moved to {aside.name} and redone", stacklevel=2)
    return None


def _seal(frame: pd.DataFrame, about: Mapping[str, Any]) -> str:
    """The checksum of a file: of its columns and of all else it says."""
    said = json.dumps(dict(about), sort_keys=True)
    return hashlib.sha256((checksum(frame) + said).encode()).hexdigest()


def checksum(frame: pd.DataFrame) -> str:
    """The sha256, in hex, of a frame's columns."""
    total = hashlib.sha256()
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            data = column.to_numpy().tobytes()
        else:
            data = "\0".join(column).encode("utf-8", "surrogatepass")
        total.update(f"{name}:{len(data)}:".encode() + data)
    return total.hexdigest()
