"""One process of a host at a work at a time: the others wait for what it makes.

The lock spares work and guards nothing: results are right without it. So it lies in the host's own
folder for temporary files, never beside the scores, whose file system may have no locks, or may
keep one for a host that is gone. The operating system frees the lock of a process that died.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def one_of_this_host(work: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Meanwhile no other process of this user and host is at the work; none waits for another host.

    `on_wait` is called once, before waiting. Where the host has no locks, nobody waits.
    """
    lock = _lock(work)
    try:
        if lock is not None:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                on_wait()
                lock.acquire()
    except (OSError, NotImplementedError):
        lock = None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def lock_file(work: str) -> Path:
    """The lock's file."""
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    name = hashlib.sha256(work.encode()).hexdigest()
    return Path(tempfile.gettempdir()) / f"rmaudit-locks-{user}" / f"{name}.lock"


def _lock(work: str) -> FileLock | None:
    path = lock_file(work)
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return FileLock(path)
