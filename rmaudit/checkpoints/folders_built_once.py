"""Build a folder below the cache once, for all processes, and check it at each use.

A file next to the folder, FOLDER.sha256, has the hashes of what was written. A folder that was
damaged since is built again.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from rmaudit.checkpoints import file_hashes, process_locks
from rmaudit.errors import ModelError


def build(folder: Path, cache: Path, write: Callable[[Path], None]) -> Path:
    """Return `folder`, after `write` has built it if it was missing or damaged.

    Its files may be read by whoever the umask lets. Builds that were killed leave folders next to
    it, which are removed here.

    Raises:
        ModelError: the folder cannot be written; or whatever `write` raises.
    """
    if folder.is_dir() and not _damaged(folder, cache):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with process_locks.held(folder, doing=f"building {folder.name}"):
            return _build(folder, cache, write)
    except OSError as error:
        said = error.strerror or str(error)
        state = f"is damaged ({_damaged(folder, cache)}) and " if folder.is_dir() else ""
        raise ModelError(
            f"{folder} {state}cannot be built ({said}); make room there or give another cache with "
            f"--rm-cache FOLDER, or audit a checkpoint that is already here: "
            f"pytest audits --model FOLDER"
        ) from error


def _build(folder: Path, cache: Path, write: Callable[[Path], None]) -> Path:
    """Build the folder while its lock is held, unless another process has built it; see `build`."""
    _clean(folder)
    if folder.is_dir():
        damaged = _damaged(folder, cache)
        if not damaged:  # another process has built it
            return folder
        told = f"rmaudit: {folder} was changed since it was built ({damaged}): building it again"
        print(told, file=sys.stderr, flush=True)  # noqa: T201  (a user who waits is told why)
    partial = folder.with_name(f"{folder.name}.partial")
    try:
        partial.mkdir()
        write(partial)
        shared = partial.stat().st_mode & 0o666  # safetensors' files are their owner's only
        for path in partial.iterdir():
            path.chmod(shared)
        _write_manifest(partial, cache)
        if folder.is_dir():
            folder.rename(folder.with_name(f"{folder.name}.damaged"))
        _manifest(partial).replace(_manifest(folder))
        partial.rename(folder)  # atomic: the folder is whole or absent
    finally:
        _clean(folder)
    return folder


def _manifest(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.sha256")


def _write_manifest(folder: Path, cache: Path) -> None:
    written = [path for path in folder.iterdir() if path.suffix != ".yaml"]  # a user's to change
    hashes = file_hashes.hashes(sorted(written), cache)
    named = {path.name: found for path, found in hashes.items()}
    _manifest(folder).write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")


def _damaged(folder: Path, cache: Path) -> str:
    """Return the name of the first file missing, unreadable or changed since the build; or ""."""
    try:
        named: dict[str, str] = json.loads(_manifest(folder).read_text(encoding="utf-8"))
        files = {folder / name: str(found) for name, found in named.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return _manifest(folder).name
    for path in files:
        if not path.is_file():
            return path.name
    now = file_hashes.hashes(files, cache)
    return next((path.name for path, found in files.items() if now[path] != found), "")


def _clean(folder: Path) -> None:
    """Remove what killed builds of this folder left; its lock is held."""
    for left in ("partial", "damaged"):
        shutil.rmtree(folder.with_name(f"{folder.name}.{left}"), ignore_errors=True)
    _manifest(folder.with_name(f"{folder.name}.partial")).unlink(missing_ok=True)
