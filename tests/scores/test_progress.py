"""A process that waits for another one's scores says so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from tqdm import tqdm

from rmaudit.scores.sweep import sweep
from tests.scores.letters import Letters


@pytest.mark.parametrize(("protocol", "title"), [("exact", ""), ("paper", " · paper")])
def test_who_waits_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, title: str
) -> None:
    """Where nobody looks at a bar, too: on stderr."""
    model = Letters()
    sweep(model, "best", protocol=protocol, cache=tmp_path)
    for path in (tmp_path / "scores").glob("*.parquet"):
        path.unlink()
    locks = [FileLock(path) for path in (tmp_path / "scores").glob("*.lock")]
    for lock in locks:  # as another process would
        lock.acquire()
    said: list[Any] = []

    def write(message: str, file: Any) -> None:
        said.append((message, file))
        for lock in locks:
            lock.release()

    monkeypatch.setattr(tqdm, "write", write)
    sweep(model, "best", protocol=protocol, cache=tmp_path)
    sweep(model, "best", protocol=protocol, cache=tmp_path)

    message = f"letters · best{title}: another process is scoring the same; waiting for it"
    assert said == [(message, sys.stderr)]
