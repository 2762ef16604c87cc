"""Cache small JSON values: computed once, and read by every later run with the same key.

A value is stored in `<cache>/kept/<kind>-<key>.json`; the key is the sha256 of the kind and of all
fields that determine the value. The first line of a file is the sha256 of the rest, which holds the
fields and the value. A damaged or foreign file is replaced, with a warning. Files are written whole
or not at all (`in_place_of`), and equal values give equal bytes, so no lock is needed. Where the
cache cannot be written, values are computed at every run.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache as once
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from rmaudit.config.paths_and_atomic_writes import in_place_of

STARTED = time.time()
_PACKAGE = Path(__file__).parent
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def cached(
    cache: Path,
    kind: str,
    fields: Mapping[str, str],
    make: Callable[[], Any],
    *,
    sure: Callable[[], bool] = lambda: True,
) -> Any:  # noqa: ANN401  (JSON)
    """Return the value cached under `kind` and `fields`, or make it, and cache it if `sure()`.

    `sure` is called after `make` and says whether the value still belongs to `fields`. If not, for
    example because a file changed between its hash and its reading, nothing is written. Nothing is
    written either if `make` raises; its error is passed on.
    """
    found = read(cache, kind, fields)
    if found is None:
        found = make()
        if sure():
            write(cache, kind, fields, found)
    return found


def read(cache: Path, kind: str, fields: Mapping[str, str]) -> Any:  # noqa: ANN401  (JSON)
    """Return the value cached under `kind` and `fields`, or None; warn if its file is damaged."""
    path = _path(cache, kind, fields)
    try:
        content = path.read_bytes()
    except OSError:
        return None
    seal, _, said = content.partition(b"\n")
    try:
        if seal.decode() == hashlib.sha256(said).hexdigest():
            about = json.loads(said)
            if about["fields"] == dict(fields) and about["kind"] == kind:
                return about["value"]
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    warnings.warn(f"{path}: its checksum or its content is not its own; made anew", stacklevel=2)
    return None


def write(cache: Path, kind: str, fields: Mapping[str, str], value: Any) -> None:  # noqa: ANN401  (JSON)
    """Write a value to the cache; do nothing where the cache cannot be written."""
    path = _path(cache, kind, fields)
    about = {"kind": kind, "fields": dict(sorted(fields.items())), "value": value}
    said = json.dumps(about).encode()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with in_place_of(path) as own:
            own.write_bytes(hashlib.sha256(said).hexdigest().encode() + b"\n" + said)


@once
def code() -> str:
    """Return a digest of rmaudit's files and of the versions of its requirements and of Python.

    Cached values have it among their fields, so a change of any of these recomputes them. If a
    file was written while this process ran, it is unknown which code runs, so no value is shared.
    """
    total = hashlib.sha256(platform.python_version().encode())
    for path in sorted(_PACKAGE.rglob("*")):
        if path.suffix in {".py", ".json", ".jsonl", ".csv", ".safetensors"} and path.is_file():
            if written_since(path):
                return f"changed in process {os.getpid()} of {STARTED}"
            name = path.relative_to(_PACKAGE).as_posix()
            total.update(f"\n{name} {hashlib.sha256(path.read_bytes()).hexdigest()}".encode())
    for name in _required():
        with suppress(PackageNotFoundError):
            total.update(f"\n{name} {version(name)}".encode())
    return total.hexdigest()


def written_since(path: Path) -> bool:
    """Return whether a file changed after this process began, so that imported code may differ."""
    stat = path.stat()
    return max(stat.st_mtime, stat.st_ctime) > STARTED


def _required() -> list[str]:
    """Return the sorted names of the packages whose versions are part of the digest of `code`."""
    try:
        asked = [given for given in requires("rmaudit") or () if "extra ==" not in given]
    except PackageNotFoundError:
        asked = []
    found = {match[0] for given in asked if (match := _NAME.match(given))}
    return sorted(found | {"tokenizers", "transformers", "numpy", "pandas", "scipy"})


def _path(cache: Path, kind: str, fields: Mapping[str, str]) -> Path:
    said = json.dumps([kind, dict(fields)], sort_keys=True)
    return cache / "kept" / f"{kind}-{hashlib.sha256(said.encode()).hexdigest()}.json"
