"""Locks between processes that share a cache, with a word on stderr where one waits for another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

_PATIENCE = 2.0  # seconds of waiting before it is said


@contextmanager
def held(path: Path, *, doing: str) -> Iterator[None]:
    """Hold the lock of `path`, a file next to it, during the block.

    Waits as long as another process holds it, and says so on stderr after two seconds; `doing` is
    what the holder does then.

    Raises:
        OSError: the lock's file cannot be written.
    """
    lock = FileLock(f"{path}.lock")
    try:
        lock.acquire(timeout=_PATIENCE)
    except Timeout:
        waits = f"rmaudit: waiting for another process that is {doing} ({path}.lock is held)"
        print(waits, file=sys.stderr, flush=True)  # noqa: T201  (a run that stands still says why)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
