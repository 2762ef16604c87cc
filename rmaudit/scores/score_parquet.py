"""Read and write files of scores: written whole or not at all, and verified when read.

A file is Parquet. Its schema metadata says what it is (its key, the fields of that, its provenance)
and carries a checksum of that and of its columns. A file of all scores is never overwritten. A file
that is damaged is renamed, for a person to look at; a file that only cannot be read now stays where
it is.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import PurePosixPath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rmaudit.errors import StoreError
from rmaudit.scores.score_cache_files import Files

META = b"rmaudit"  # where the schema metadata says what a file is
Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """Scores from the cache, one row for each answer, with the key's fields and provenance."""

    key: str
    frame: pd.DataFrame
    fields: Fields
    provenance: Mapping[str, Any]


class DamagedError(Exception):
    """Raised where a stored file's content is not what was written; the text says how."""


def key_of(fields: Fields) -> str:
    """Return the cache key of the fields: the sha256, in hex, of their canonical JSON."""
    return hashlib.sha256(json.dumps(dict(fields), sort_keys=True).encode()).hexdigest()


def checksum(frame: pd.DataFrame) -> str:
    """Return the sha256, in hex, of a frame's columns: their names, types and values."""
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


def read(files: Files, key: str, start: int | None = None) -> Stored | None:
    """Return the verified content of a file of scores; None if there is no file; raise if damaged.

    `start` is the first row of a shard, None for the file of all scores under `key`.

    A file is damaged only if its bytes could be read and are not what was written. A fault of the
    system (no memory, too many open files, no permission, a failing disk) says nothing about the
    file.

    Raises:
        DamagedError: the bytes cannot be decoded, or their checksum or key is not their own.
        StoreError: the bytes cannot be read, or there is no memory to decode them.
    """
    name = name_of(key, start)
    with reading(files.where(name)):
        content = files.read(name)
        return None if content is None else _decoded(content, key, start)


def read_or_set_aside(files: Files, key: str, start: int | None = None) -> Stored | None:
    """Return the verified scores in a file; if it is damaged, rename it, warn and return None.

    Raises:
        StoreError: the file cannot be read, or is damaged and cannot be moved.
    """
    try:
        return read(files, key, start)
    except DamagedError as damage:
        name = name_of(key, start)
        stem = f"{key}-{PurePosixPath(name).stem}" if "/" in name else key
        names = (f"{stem}.damaged" + (f"-{n}" if n > 1 else "") for n in count(1))
        path = files.where(name)
        with writing(path):
            aside = next(new for new in names if not files.exists(new))
            try:
                files.move(name, aside)
            except FileNotFoundError:  # another process has
                return None
        warnings.warn(f"{path}: {damage}; moved to {files.where(aside)} and redone", stacklevel=2)
        return None


def write(
    files: Files, frame: pd.DataFrame, about: Mapping[str, Any], *, anew: bool = False
) -> bool:
    """Write a file of scores; return False if the file exists, unless `anew` overwrites it.

    It is written whole or not at all. `about` has its `key`, and a shard's `start`.

    Raises:
        StoreError: the file cannot be written; what was half written is removed.
    """
    meta = json.dumps({**about, "checksum": _seal(frame, about)}, sort_keys=True).encode()
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata({META: meta})
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd")
    whole, name = content.getvalue().to_pybytes(), name_of(about["key"], about.get("start"))
    with writing(files.where(name)):
        if not anew:
            return files.create(name, whole)
        files.replace(name, whole)
        return True


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Raise a StoreError that names `path` in place of an OSError while writing."""
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be written ({error}); give another folder with --rm-cache"
        raise StoreError(message) from error


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Raise a StoreError that names `path` in place of an OSError or MemoryError while reading."""
    try:
        yield
    except (OSError, MemoryError) as error:
        why = str(error) or type(error).__name__
        message = (
            f"{path} cannot be read ({why}); it stays as it is: put that right and run again, "
            f"delete it to have it made anew, or give another folder with --rm-cache"
        )
        raise StoreError(message) from error


def _decoded(content: bytes, key: str, start: int | None) -> Stored:
    """Return the scores decoded from a file's bytes; raise DamagedError if key or checksum differ.

    On this thread alone: Arrow waits for ever for one that no memory is left to start.
    """
    try:
        table = pq.read_table(pa.BufferReader(content), use_threads=False, pre_buffer=False)
        about = json.loads((table.schema.metadata or {})[META])
        frame = table.replace_schema_metadata(None).to_pandas(use_threads=False)
        seal, fields = about.pop("checksum"), about.get("fields", {})
        whole = about["key"] == key and about.get("start") == start and seal == _seal(frame, about)
        if whole and (start is not None or key_of(fields) == key):
            return Stored(key, frame, fields, about.get("provenance", {}))
    except MemoryError:
        raise
    except Exception as error:  # what decodes damaged bytes raises anything
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's own; Arrow's decoders raise OSError without a number
        raise DamagedError(f"it cannot be read ({type(error).__name__})") from error
    raise DamagedError("its checksum or key is not its own")


def _seal(frame: pd.DataFrame, about: Mapping[str, Any]) -> str:
    """Return the checksum of a file of scores, over its columns and its metadata."""
    said = json.dumps(dict(about), sort_keys=True)
    return hashlib.sha256((checksum(frame) + said).encode()).hexdigest()


def noise_of(frame: pd.DataFrame, provenance: Mapping[str, Any]) -> float:
    """Return the numeric noise that was measured on these scores, or NaN if none was.

    Published scores and those of the first releases have no noise; nor has an empty table, whose
    file says 0.
    """
    return float(provenance.get("noise", math.nan)) if len(frame) else math.nan


class MadeMeanwhileError(Exception):
    """Raised if another host has stored all scores of a task, and removed its shards."""


class Journal:
    """The stored shards of a scoring task that is not finished; each is named by its first row.

    After a run was killed, the next run finds there what was scored.
    """

    def __init__(self, files: Files, key: str) -> None:
        """Use the stored shards under `key` in a store's `files`; nothing is read yet."""
        self._files, self._key = files, key

    def shard(self, which: slice) -> Stored | None:
        """Return the shard of these rows; None if there is none, or it has another size.

        A damaged one is renamed, with a warning.

        Raises:
            StoreError: it cannot be read, or is damaged and cannot be set aside.
        """
        found = read_or_set_aside(self._files, self._key, which.start)
        right = found is not None and len(found.frame) == which.stop - which.start
        return found if right else None

    def write(
        self, start: int, frame: pd.DataFrame, provenance: Mapping[str, Any], *, anew: bool = True
    ) -> bool:
        """Write the shard that begins at row `start`; return False if it is there and not `anew`.

        Raises:
            StoreError: it cannot be written.
        """
        about = {"key": self._key, "start": start, "provenance": dict(provenance)}
        return write(self._files, frame, about, anew=anew)

    @property
    def whole(self) -> bool:
        """Return whether the file with all scores of the task exists by now."""
        return self._files.exists(name_of(self._key))


def name_of(key: str, start: int | None = None) -> str:
    """Return the name of the file of all scores under `key`, or of the shard from row `start`."""
    return f"{key}.parquet" if start is None else f"{parts_of(key)}/{start:08d}.parquet"


def parts_of(key: str) -> str:
    """Return the name of the folder that holds the shards under `key`, while scoring goes on."""
    return f"{key}.parts"
