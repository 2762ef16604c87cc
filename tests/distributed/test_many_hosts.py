"""Eight processes at one store, kills among them: what one process alone would have made."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmaudit.distributed.scoring_rounds import Part
from tests.distributed import work
from tests.scores.s3 import bucket

pytest.importorskip("fcntl", reason="processes are forked and killed as POSIX does")

PARTS, PROMPTS, PATIENCE = 8, 18, 240
SERVER: Any = multiprocessing.get_context("forkserver")


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    """Imports once what takes seconds; every process is a fork of it. It ends with this file."""
    SERVER.set_forkserver_preload(["pytest", "tests.distributed.work", "scipy.stats"])
    yield
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, server: None) -> dict[str, bytes | None]:
    """What one process makes."""
    folder = tmp_path_factory.mktemp("alone")
    process = SERVER.Process(target=work.make_part, args=(folder, None, PROMPTS))
    process.start()
    process.join(PATIENCE)
    return work.contents(folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", pytest.param("s3", marks=pytest.mark.nightly)])
def test_parts_at_once_and_kills_among_them_make_what_one_makes(
    alone: dict[str, bytes | None], tmp_path: Path, kind: str
) -> None:
    """No lock is shared. Each part is killed once; a part that is run again makes what is left."""
    rng = np.random.default_rng(0)
    if kind == "folder":
        _shared(tmp_path / "cache", alone, tmp_path, rng)
    else:
        with bucket() as url:
            _shared(url, alone, tmp_path, rng)


def _shared(
    root: Path | str, alone: dict[str, bytes | None], notes: Path, rng: np.random.Generator
) -> None:
    def start(k: int) -> Any:
        own = {work.NOTES: str(notes / f"notes-{k}"), work.SECONDS: "0.5"}
        process = SERVER.Process(target=_in_child, args=(root, Part(k, PARTS), os.environ | own))
        process.start()
        return process

    running, killed = {k: start(k) for k in range(1, PARTS + 1)}, 0
    for k in rng.permutation([*running]).tolist():
        while running[k].exitcode is None and not (notes / f"notes-{k}").exists():
            time.sleep(0.01)
        running[k].join(rng.exponential(0.05))
        if running[k].exitcode is None:
            os.kill(running[k].pid, signal.SIGKILL)
            running[k].join(PATIENCE)
            killed += 1
            running[k] = start(k)
    for process in running.values():
        process.join(PATIENCE)
        assert process.exitcode == 0
    last = start(1)  # whoever comes last joins what the others have made
    last.join(PATIENCE)

    assert killed >= PARTS // 4
    assert work.contents(root) == alone
    shards = work.noted(*notes.glob("notes-*"))
    expected = PROMPTS * work.SHARDS
    assert len(shards) == expected
    assert shards.total() <= expected + killed  # at most the shard at hand, for each kill


def _in_child(root: Path | str, part: Part, environment: dict[str, str]) -> None:
    os.environ.update(environment)  # the server of processes was started before
    work.make_part(root, part, PROMPTS)
