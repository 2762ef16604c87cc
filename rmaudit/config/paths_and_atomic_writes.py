"""Find files that are bundled, in the cache or as users write them; and write them atomically."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import platformdirs

_PARTIAL = re.compile(r"\.[0-9a-f]{16}\.partial")
_DAY = 86_400  # seconds: no write takes as long


def bundled(name: str) -> Path:
    """Return the path of the bundled `audits` or `models.yaml`, in a wheel or a checkout."""
    package = Path(__file__).parents[1]
    inside = package / name
    return inside if inside.exists() else package.parent / name


def default_cache() -> Path:
    """Return the user's cache folder for rmaudit (`--rm-cache` names another)."""
    return platformdirs.user_cache_path("rmaudit")


def expanded(named: str) -> Path:
    """Return a path with the user's home in place of `~`, if there is such a user."""
    try:
        return Path(named).expanduser()
    except RuntimeError:
        return Path(named)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; False for a name that no file system takes."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long a name, or a NUL
        return False


def is_file(path: Path) -> bool:
    """Return whether a path is a file; False for a name that no file system takes."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`; on success, move that file to `path` atomically.

    No other process and no other thread has that path, so of several that write at the same time
    each writes a file of its own, and the last one stays. Whoever reads meanwhile finds a whole
    file, the old or the new one. Its permissions are those that the umask leaves, as of any file;
    tempfile's would be its owner's alone, and caches are shared.

    Raises:
        OSError: it cannot be written; what stood there before still stands.
    """
    _clear_leftovers_once(path.parent)
    own = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        yield own
        own.replace(path)
    finally:
        with suppress(OSError):  # it is there only where something failed
            own.unlink()


def clear_leftovers(folder: Path, below: str = "") -> None:
    """Remove what processes killed a day ago left of files in a folder, or `below` it ("*/").

    What is younger may be another process's, perhaps on another host.
    """
    with suppress(OSError):
        for path in folder.glob(f"{below}.*.partial"):
            if _PARTIAL.fullmatch(path.name) and time.time() - path.lstat().st_mtime > _DAY:
                path.unlink()


_clear_leftovers_once = cache(clear_leftovers)
