"""One file of scores: written whole or not at all, checked whenever it is read, never overwritten.

A file is Parquet. Its schema metadata says what it is (its key, the fields of that, its provenance)
and carries a checksum of that and of its columns. A file that is damaged is set aside, for a person
to look at; a file that only cannot be read now stays where it is.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rmaudit.errors import StoreError

META = b"rmaudit"  # where the schema metadata says what a file is
Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """Scores read back: one row an answer, the fields of their key, and where they come from."""

    key: str
    frame: pd.DataFrame
    fields: Fields
    provenance: Mapping[str, Any]


class DamagedError(Exception):
    """A file is not what was once written under its name; says why."""


def key_of(fields: Fields) -> str:
    """The sha256, in hex, of the fields in canonical JSON."""
    return hashlib.sha256(json.dumps(dict(fields), sort_keys=True).encode()).hexdigest()


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


def read(path: Path, key: str, start: int | None = None) -> Stored | None:
    """What a file holds under `key`, or None if there is none; `start` is that of a shard.

    A file is damaged only if its bytes could be had and are not what was written. A fault of the
    system (no memory, too many open files, no permission, a failing disk) says nothing of it.

    Raises:
        DamagedError: the bytes cannot be decoded, or their checksum or key is not their own.
        StoreError: the bytes cannot be had, or there is no memory to decode them.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # to open a pipe would wait for ever
            raise _unreadable(path, "it is not a file")
        return _decoded(path.read_bytes(), key, start)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, MemoryError) as error:
        raise _unreadable(path, str(error) or type(error).__name__) from error


def read_or_set_aside(
    path: Path, key: str, folder: Path, start: int | None = None
) -> Stored | None:
    """What `read` gives; a damaged file is moved to `folder`, with a warning. Its lock is held.

    Raises:
        StoreError: the file cannot be read, or is damaged and cannot be moved.
    """
    try:
        return read(path, key, start)
    except DamagedError as damage:
        stem = key if start is None else f"{key}-{path.stem}"
        names = (f"{stem}.damaged" + (f"-{n}" if n > 1 else "") for n in count(1))
        aside = next(new for name in names if not os.path.lexists(new := folder / name))
        with writing(path):
            path.replace(aside)
        warnings.warn(f"{path}: {damage}; moved to {aside} and redone", stacklevel=2)
        return None


def write(path: Path, parts: Path, frame: pd.DataFrame, about: Mapping[str, Any]) -> None:
    """Write whole or not at all: to a file of this process's own in `parts`, then renamed.

    Raises:
        StoreError: the file cannot be written; what was half written is removed.
    """
    meta = json.dumps({**about, "checksum": _seal(frame, about)}, sort_keys=True).encode()
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata({META: meta})
    partial = parts / f"{path.stem}.{os.getpid()}.partial"
    with writing(path):
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
def writing(path: Path) -> Iterator[None]:
    """Meanwhile a fault of the system is told as a StoreError of `path`."""
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be written ({error}); give another folder with --rm-cache"
        raise StoreError(message) from error


def _decoded(content: bytes, key: str, start: int | None) -> Stored:
    """What the bytes of a file hold.

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
    """The checksum of a file: of its columns and of all else it says."""
    said = json.dumps(dict(about), sort_keys=True)
    return hashlib.sha256((checksum(frame) + said).encode()).hexdigest()


def _unreadable(path: Path, why: str) -> StoreError:
    return StoreError(
        f"{path} cannot be read ({why}); it stays as it is: put that right and run again, delete "
        f"it to have it made anew, or give another folder with --rm-cache"
    )


def noise_of(frame: pd.DataFrame, provenance: Mapping[str, Any]) -> float:
    """The noise that was measured on these scores, or NaN.

    Published scores and those of the first releases say nothing of it; of no scores a file says 0.
    """
    return float(provenance.get("noise", math.nan)) if len(frame) else math.nan
