"""What makes a checkpoint's weights and tokenizer the same ones: hashes of their files.

One rule for folders and hub ids: the bytes decide. A commit hash would do for a hub id, but then a
copy in a folder, or a commit that changed the README only, would be another model.

Hashing gigabytes takes minutes, so a file's hash is remembered in the cache by its path, size and
modification time, and computed again only when one of them changes. In the hub's cache the file of
a large blob is named by its sha256, which is taken as it is while the blob is older than the
snapshot's link to it: the hub's client writes first and links then, so a blob that was written to
afterwards is younger, and is hashed like any file.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from rmaudit.checkpoints import shards

_MEMO = "hashes.json"
_HASH = re.compile("[0-9a-f]{64}")
_TOKENIZER = ("tokenizer*.json", "*.model", "*token*.json", "vocab*", "merges.txt")


def weights_identity(folder: Path, cache: Path) -> str:
    """Hash over config.json, the index of the weights if there is one, and the files that are read.

    Raises:
        ModelError: there are no weights, or one that the index names is missing.
    """
    index = folder / shards.INDEX  # of a tensor in two files, it decides which is read
    which = [folder / "config.json", *([index] if index.is_file() else [])]
    return _combined([*which, *shards.of(folder, model=folder.name)], cache)


def adapter_identity(folder: Path, cache: Path) -> str:
    """Hash over an adapter's configuration and weights."""
    return _combined([folder / "adapter_config.json", folder / "adapter_model.safetensors"], cache)


def tokenizer_identity(folder: Path, cache: Path) -> str:
    """Hash over the tokenizer's files (the chat template is covered by the rendered ids)."""
    files = {path for pattern in _TOKENIZER for path in folder.glob(pattern)}
    return _combined(sorted(files), cache)


def _combined(files: list[Path], cache: Path) -> str:
    total = hashlib.sha256()
    memo = _read(cache / _MEMO)
    known = dict(memo)
    for path in files:
        total.update(f"{path.name}:{_named(path) or _hashed(path, memo)}\n".encode())
    if memo != known:
        _write(cache / _MEMO, memo)
    return total.hexdigest()


def _hashed(path: Path, memo: dict[str, str]) -> str:
    """The sha256 of a file's bytes, from the memo or into it."""
    stat = path.stat()
    key = f"{path.resolve()}|{stat.st_size}|{stat.st_mtime_ns}"
    if key not in memo:
        with path.open("rb") as file:
            memo[key] = hashlib.file_digest(file, "sha256").hexdigest()
    return memo[key]


def _named(path: Path) -> str | None:
    """The sha256 by which the hub's cache names a file; None of any other, and of a changed one."""
    if not path.is_symlink():
        return None
    blob = path.resolve()
    if blob.parent.name != "blobs" or not _HASH.fullmatch(blob.name):
        return None
    return blob.name if blob.stat().st_mtime_ns <= path.lstat().st_mtime_ns else None


def _read(path: Path) -> dict[str, str]:
    try:
        memo = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # no memo or a damaged one: the files are hashed again
    if not isinstance(memo, dict):
        return {}
    return {key: value for key, value in memo.items() if _HASH.fullmatch(str(value))}


def _write(path: Path, memo: dict[str, str]) -> None:
    with suppress(OSError):  # without a memo the files are hashed again, nothing worse
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(_read(path) | memo, indent=0), encoding="utf-8")
            partial.replace(path)
