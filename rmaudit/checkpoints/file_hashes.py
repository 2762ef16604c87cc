"""Hash a checkpoint's files, to tell whether weights and tokenizer are the same.

One rule for folders and hub ids: the bytes decide. A commit hash would do for a hub id, but then a
copy in a folder, or a commit that changed the README only, would be another model.

Hashing gigabytes takes a while, so the cache remembers a file's hash with its path, inode, size
and times. The time of the last change of status is one of these: the system sets it, and programs
that keep the modification time (tar, rsync) cannot. The hub's own cache names the file of a large
blob by its sha256; that is what somebody wrote down, so these are hashed like any other.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from rmaudit.checkpoints import process_locks, weights_headers
from rmaudit.config.paths_and_atomic_writes import in_place_of
from rmaudit.errors import ModelError

_MEMO = "hashes.json"
_AT_ONCE = 4  # files
_LONG = 8e9  # bytes: hashing more takes several seconds
_HASH = re.compile("[0-9a-f]{64}")
_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx"}
_TOKENIZER = ("tokenizer*.json", "*.model", "*token*.json", "vocab*", "merges.txt")


def identity(files: Iterable[Path], cache: Path) -> str:
    """Return a hash over names and bytes of files, by hashes that are remembered in `cache`.

    Raises:
        OSError: a file cannot be read.
    """
    total = hashlib.sha256()
    for path, found in hashes(files, cache).items():
        total.update(f"{path.name}:{found}\n".encode())
    return total.hexdigest()


def hashes(files: Iterable[Path], cache: Path) -> dict[Path, str]:
    """Return the sha256 of each file's bytes, by hashes.json in `cache`; add what is not there.

    Raises:
        OSError: a file cannot be read.
    """
    paths, memo, new = list(files), _read(cache / _MEMO), dict[str, str]()
    if unknown := [path for path in paths if _key(path) not in memo]:
        _announce(unknown)
        ended = Event()  # after Ctrl-C no file is read to its end
        pool = ThreadPoolExecutor(_AT_ONCE)  # one core hashes slower than a disk reads
        try:
            list(pool.map(partial(_hashed, memo=memo, new=new, ended=ended), unknown))
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)
    found = {path: _hashed(path, memo, new, Event()) for path in paths}
    if new:
        _write(cache / _MEMO, new)
    return found


def config_and_weights_files(folder: Path) -> list[Path]:
    """Return config.json, the weights' index if any, and the files of weights and head.

    Raises:
        ModelError: there are no weights, or one that the index names is missing.
    """
    index = folder / weights_headers.INDEX  # of a tensor in two files, it decides which is read
    which = [folder / "config.json", *([index] if index.is_file() else [])]
    return [
        *which,
        *weights_headers.weights_paths(folder, model=folder.name),
        *weights_headers.separate_head(folder),
    ]


def adapter_files(folder: Path) -> list[Path]:
    """Return an adapter's configuration, weights and, if there is one, separate head file."""
    return [
        folder / weights_headers.ADAPTER_CONFIG,
        folder / weights_headers.ADAPTER,
        *weights_headers.separate_head(folder),
    ]


def tokenizer_files(folder: Path) -> list[Path]:
    """Return the tokenizer's files, sorted, without chat_template.jinja.

    The hash of the rendered ids covers that template.
    """
    found = {path for pattern in _TOKENIZER for path in folder.glob(pattern)}
    return sorted(path for path in found if path.is_file())


def layout_files(folder: Path) -> list[Path]:
    """Return all files of a folder but weights, sorted, and those of additional chat templates.

    These are more files than matter, so that nothing cached from them is ever outdated.
    """
    files = [*folder.glob("*"), *folder.glob("additional_chat_templates/*")]
    return sorted(path for path in files if path.suffix not in _WEIGHTS and path.is_file())


class State(NamedTuple):
    """A file's size in bytes, times of its last write and change in ns, inode, and hard links.

    Any write changes one of the first three; a new hard link changes the third.
    """

    size: int
    written: int
    changed: int
    inode: int
    links: int


States = Mapping[Path, State]  # of files, by path


def states(paths: Iterable[Path]) -> States:
    """Return the state of each file, by path.

    Raises:
        OSError: a file is not there.
    """
    return {path: _state(path) for path in paths}


def renewed(before: Mapping[Path, str], cache: Path, *, model: str) -> States:
    """Return the states of the files that had the hashes `before`; raise if one has other bytes.

    To be called before they are loaded. A file is hashed again only if its inode, size or times
    are others than before, so a hard link or a copy of the same bytes is no change.

    Raises:
        ModelError: a file holds other bytes than those of its hash, or is gone.
    """
    try:
        now = states(before)  # first: what is written from here on is seen
        again = hashes(before, cache)
    except OSError as error:
        raise ModelError(_changed(Path(error.filename), model)) from error
    for path, found in again.items():
        if found != before[path]:
            raise ModelError(_changed(path, model))
    return now


def refuse_changed(before: States, *, model: str) -> None:
    """Raise if a file was written to since its state (size, times) was taken in `before`.

    To be called after the load and after every computation, before its numbers go anywhere:
    safetensors maps weights into memory, so whoever writes to the file changes the model. Costs
    microseconds. Size and times decide and not the bytes, for these may be back by now. The inode
    does not: some network file systems number theirs anew, and a file that takes another one's
    name has another time. Of a file with more or fewer hard links the time of the change says
    nothing, only size and time of the write do: `head_writing.write` links to files in use.

    Raises:
        ModelError: a file has another size or other times than then, or is gone.
    """
    for path, was in before.items():
        try:
            now = _state(path)
        except OSError as error:
            raise ModelError(_changed(path, model)) from error
        only_linked = now.inode == was.inode and now.links != was.links
        times = slice(0, 2) if only_linked else slice(0, 3)
        if now[times] != was[times]:
            raise ModelError(_changed(path, model))


def _changed(path: Path, model: str) -> str:
    what = "changed since it was first read" if path.exists() else "is gone"
    return (
        f"{model}: {path} {what}, while the model was loaded or used, so what was computed since "
        f"may be another model's; none of it was stored. Wait until whatever writes there is done, "
        f"and run again"
    )


def _announce(files: list[Path]) -> None:
    """Say on stderr that files are being hashed, if they have 8 GB or more in all."""
    size = sum(path.stat().st_size for path in files)
    if size >= _LONG:
        waits = f"rmaudit: hashing {size / 1e9:,.0f} GB of weights in {files[0].parent}, "
        print(f"{waits}once on this machine", file=sys.stderr, flush=True)  # noqa: T201  (a run that stands still says why)


def _hashed(path: Path, memo: dict[str, str], new: dict[str, str], ended: Event) -> str:
    """Return the sha256 of a file's bytes, from `memo`, or computed and added to `new`.

    It returns "" once `ended` is set.
    """
    while (key := _key(path)) not in memo:
        with _Reading(path, ended) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if ended.is_set():
            return ""
        if key == _key(path):  # else it was written to meanwhile, and is hashed again
            memo[key] = new[key] = found
    return memo[key]


class _Reading(FileIO):
    """A file opened for reading that ends as soon as `ended` is set."""

    def __init__(self, path: Path, ended: Event) -> None:
        super().__init__(str(path))
        self._ended = ended

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  (bytes that can be written)
        """Read the next bytes into a buffer; return how many."""
        return 0 if self._ended.is_set() else super().readinto(buffer)


def _key(path: Path) -> str:
    """Return a file's key in hashes.json: its path, size, times and inode."""
    return "|".join(map(str, (path.resolve(), *_state(path)[:-1])))


def _state(path: Path) -> State:
    stat = path.stat()
    return State(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_nlink)


def _read(path: Path) -> dict[str, str]:
    try:
        memo = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}  # no memo or a damaged one: the files are hashed again
    if not isinstance(memo, dict):
        return {}
    return {key: value for key, value in memo.items() if _HASH.fullmatch(str(value))}


def _write(path: Path, new: dict[str, str]) -> None:
    """Add new hashes to hashes.json at `path`, in place of older ones for the same files."""
    with suppress(OSError, NotImplementedError):  # without a memo the files are hashed again
        path.parent.mkdir(parents=True, exist_ok=True)
        with process_locks.held(path, doing="writing down hashes of weights"):
            again = {_path_of(key) for key in new}
            kept = {key: value for key, value in _read(path).items() if _path_of(key) not in again}
            with in_place_of(path) as own:
                own.write_text(json.dumps(kept | new, indent=0), encoding="utf-8")


def _path_of(key: str) -> str:
    return key.rsplit("|", 4)[0]
