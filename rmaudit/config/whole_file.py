"""Files that are written whole or not at all, whoever writes the same file at the same time."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; that file takes its place when the block ends well.

    No other process and no other thread has that path, so of several that write at the same time
    each writes a file of its own, and the last one stays. Whoever reads meanwhile finds a whole
    file, the old or the new one. Its permissions are those that the umask leaves, as of any file;
    tempfile's would be its owner's alone, and caches are shared.

    Raises:
        OSError: it cannot be written; what stood there before still stands.
    """
    own = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        yield own
        own.replace(path)
    finally:
        with suppress(OSError):  # it is there only where something failed
            own.unlink()
