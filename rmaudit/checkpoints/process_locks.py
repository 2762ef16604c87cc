"""Lock between processes: a file that several hosts write, or work on one host.

The operating system frees the lock of a process that died.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

_PATIENCE = 2.0  # seconds of waiting before it is said


@contextmanager
def held(path: Path, *, doing: str) -> Iterator[None]:
    """Hold a lock for `path` in a `with` block; the lock is a file next to `path`.

    Waits as long as another process holds it, and says so on stderr after two seconds; `doing` is
    what the holder does then.

    Raises:
        OSError: the lock's file cannot be written.
    """

    def say() -> None:
        waits = f"rmaudit: waiting for another process that is {doing} ({path}.lock is held)"
        print(waits, file=sys.stderr, flush=True)  # noqa: T201  (a run that stands still says why)

    lock = FileLock(f"{path}.lock")
    _acquire(lock, say, patience=_PATIENCE)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def one_process_of_host(work: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a lock in a `with` block: one process of this user and host at a time does `work`.

    The lock spares work and guards nothing: results are right without it. So its file is in the
    host's folder for temporary files, never beside the scores: their file system may have no
    locks, or may hold one for a host that is gone. No process waits for another host, and none
    waits where the host has no locks. `on_wait` is called once, before waiting.
    """
    lock = FileLock(lock_file(work))
    with suppress(OSError, NotImplementedError):
        Path(lock.lock_file).parent.mkdir(mode=0o700, exist_ok=True)
        _acquire(lock, on_wait)
    try:
        yield
    finally:
        lock.release()


def lock_file(work: str) -> Path:
    """Return the file of the lock that `one_process_of_host` holds for `work`."""
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    name = hashlib.sha256(work.encode()).hexdigest()
    return Path(tempfile.gettempdir()) / f"rmaudit-locks-{user}" / f"{name}.lock"


def _acquire(lock: FileLock, on_wait: Callable[[], None], *, patience: float = 0) -> None:
    """Acquire a lock; call `on_wait` if that takes longer than `patience` seconds."""
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        on_wait()
        lock.acquire()
