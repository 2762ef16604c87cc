"""Packages of others that tests need: fetched once into the user's cache, never committed.

Who uses a file of them checks its sha256.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import platformdirs
from filelock import FileLock

from tests.conftest import unavailable


def npm_package(spec: str) -> Path:
    """What a package of npm (`name@version`) holds, unpacked."""
    npm = shutil.which("npm")
    if npm is None:
        unavailable(f"no npm, which fetches {spec}: install Node.js to run this")
    return _unpacked(spec, [npm, "pack", "--silent", spec]) / "package"


def wheel(spec: str, *, python: str) -> Path:
    """What a wheel (`name==version`) for a release of Python holds; nothing of it is installed."""
    only = ["--no-deps", "--only-binary=:all:", "--python-version", python]
    return _unpacked(spec, [sys.executable, "-m", "pip", "download", "-q", *only, spec])


def _unpacked(spec: str, command: list[str]) -> Path:
    cache = platformdirs.user_cache_path("rmaudit-tests")
    place = cache / re.sub(r"[^\w.-]+", "-", spec).strip("-")
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not place.is_dir():
            _fetch(spec, command, place)
    return place


def _fetch(spec: str, command: list[str], place: Path) -> None:
    partial = place.with_name(f"{place.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    done = subprocess.run(command, cwd=partial, check=False, capture_output=True, text=True)
    archives = [path for path in partial.iterdir() if path.suffix in {".tgz", ".whl"}]
    if done.returncode or not archives:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        unavailable(f"{Path(command[0]).name} could not fetch {spec}: {said}")
    for archive in archives:
        if archive.suffix == ".tgz":
            with tarfile.open(archive) as packed:
                packed.extractall(partial, filter="data")
        else:
            shutil.unpack_archive(archive, partial, "zip")
        archive.unlink()
    partial.rename(place)
