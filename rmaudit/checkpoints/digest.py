"""What makes a checkpoint's weights and tokenizer the same ones: hashes of their files.

One rule for folders and hub ids: the bytes decide. A commit hash would do for a hub id, but then a
copy in a folder, or a commit that changed the README only, would be another model.

Hashing gigabytes takes minutes, so the cache remembers a file's hash with its path, inode, size
and times. The time of the last change of status is one of these: the system sets it, and programs
that keep the modification time (tar, rsync) cannot. In the hub's own cache, the file of a large
blob is named by its sha256, which is taken as it is while the blob is no younger than the
snapshot's link to it: the hub's client writes first and links then.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rmaudit.checkpoints import locks, shards
from rmaudit.errors import ModelError

_MEMO = "hashes.json"
_HASH = re.compile("[0-9a-f]{64}")
_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx"}
_TOKENIZER = ("tokenizer*.json", "*.model", "*token*.json", "vocab*", "merges.txt")


def weights_identity(folder: Path, cache: Path) -> str:
    """Hash over config.json, the index of the weights if there is one, and the files that are read.

    Raises:
        ModelError: there are no weights, or one that the index names is missing.
    """
    return _combined(weights_files(folder), cache)


def adapter_identity(folder: Path, cache: Path) -> str:
    """Hash over an adapter's configuration and weights."""
    return _combined(adapter_files(folder), cache)


def tokenizer_identity(folder: Path, cache: Path) -> str:
    """Hash over the tokenizer's files (the chat template is covered by the rendered ids)."""
    files = {path for pattern in _TOKENIZER for path in folder.glob(pattern)}
    return _combined(sorted(files), cache)


def layout_identity(folder: Path, cache: Path) -> str:
    """Hash over every file of a folder that is no weights: configuration, tokenizer, templates.

    More than decides anything, so that whatever is remembered of these files is never outdated.
    """
    files = [*folder.glob("*"), *folder.glob("additional_chat_templates/*")]
    small = (path for path in files if path.suffix not in _WEIGHTS and path.is_file())
    return _combined(sorted(small), cache)


def file_identity(path: Path, cache: Path) -> str:
    """Hash of one file, "" where it cannot be read."""
    return _combined([path], cache) if path.is_file() else ""


def weights_files(folder: Path) -> list[Path]:
    """The files that `weights_identity` hashes, in its order.

    Raises:
        ModelError: there are no weights, or one that the index names is missing.
    """
    index = folder / shards.INDEX  # of a tensor in two files, it decides which is read
    which = [folder / "config.json", *([index] if index.is_file() else [])]
    return [*which, *shards.of(folder, model=folder.name)]


def adapter_files(folder: Path) -> list[Path]:
    """The files that `adapter_identity` hashes, in its order."""
    return [folder / shards.ADAPTER_CONFIG, folder / shards.ADAPTER]


@dataclass(frozen=True, slots=True)
class Stamp:
    """The hashes of files when they were looked at, by their paths. Made by `stamp`."""

    hashes: dict[Path, str]
    cache: Path


def stamp(paths: Iterable[Path], cache: Path) -> Stamp:
    """What files hold now, to be compared later by `refuse_changed`.

    Costs next to nothing after an identity of the same files: their hashes are remembered.
    """
    files = list(paths)
    return Stamp(dict(zip(files, _hashes(files, cache), strict=True)), cache)


def refuse_changed(before: Stamp, *, model: str) -> None:
    """Refuse what was loaded from files that were written to since they were hashed.

    To be called after the load and before anything is stored. A file is hashed again only if its
    inode, size or times are others than before.

    Raises:
        ModelError: a file holds other bytes than when the stamp was made, or is gone.
    """
    try:
        now = stamp(before.hashes, before.cache).hashes
    except OSError as error:
        gone = Path(error.filename or "a file").name
        now = {path: "" if path.name == gone else found for path, found in before.hashes.items()}
    changed = [path for path, found in before.hashes.items() if now[path] != found]
    if changed:
        message = (
            f"{model}: {changed[0]} was written to while it was loaded, so which weights are in "
            f"memory is unknown; nothing was stored. Wait until whatever writes there is done, "
            f"and run again"
        )
        raise ModelError(message)


def _combined(files: list[Path], cache: Path) -> str:
    total = hashlib.sha256()
    for path, found in zip(files, _hashes(files, cache), strict=True):
        total.update(f"{path.name}:{found}\n".encode())
    return total.hexdigest()


def _hashes(files: list[Path], cache: Path) -> list[str]:
    """The sha256 of each file's bytes: by its name in the hub's cache, from the memo, or hashed."""
    memo = _read(cache / _MEMO)
    new: dict[str, str] = {}
    found = [_named(path) or _hashed(path, memo, new) for path in files]
    if new:
        _write(cache / _MEMO, new)
    return found


def _hashed(path: Path, memo: dict[str, str], new: dict[str, str]) -> str:
    """The sha256 of a file's bytes, from the memo or into `new`."""
    while (key := _key(path)) not in memo:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if key == _key(path):  # else it was written to meanwhile, and is hashed again
            memo[key] = new[key] = found
    return memo[key]


def _key(path: Path) -> str:
    """A file's path, and what changes where its bytes do."""
    stat = path.stat()
    times = f"{stat.st_mtime_ns}|{stat.st_ctime_ns}"
    return f"{path.resolve()}|{stat.st_size}|{times}|{stat.st_ino}"


def _named(path: Path) -> str | None:
    """The sha256 by which the hub's own cache names a file.

    None of any other file, of a link that lies elsewhere, and of a blob that was written to since.
    """
    if not path.is_symlink():
        return None
    blob, snapshot = path.resolve(), path.parent.resolve()
    home = blob.parent.parent
    if (blob.parent, snapshot.parent) != (home / "blobs", home / "snapshots"):
        return None
    if home.parent != _hub_cache() or not _HASH.fullmatch(blob.name):
        return None
    return blob.name if blob.stat().st_ctime_ns <= path.lstat().st_ctime_ns else None


def _hub_cache() -> Path:
    """Where huggingface_hub keeps what it downloads."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE).expanduser().resolve()


def _read(path: Path) -> dict[str, str]:
    try:
        memo = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}  # no memo or a damaged one: the files are hashed again
    if not isinstance(memo, dict):
        return {}
    return {key: value for key, value in memo.items() if _HASH.fullmatch(str(value))}


def _write(path: Path, new: dict[str, str]) -> None:
    """Add to the memo; what it had of the same paths is outdated."""
    with suppress(OSError, NotImplementedError):  # without a memo the files are hashed again
        path.parent.mkdir(parents=True, exist_ok=True)
        with locks.held(path, doing="writing down hashes of weights"):
            again = {_path_of(key) for key in new}
            kept = {key: value for key, value in _read(path).items() if _path_of(key) not in again}
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(kept | new, indent=0), encoding="utf-8")
            partial.replace(path)


def _path_of(key: str) -> str:
    return key.rsplit("|", 4)[0]
