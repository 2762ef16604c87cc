"""A sweep survives SIGKILL at any moment, and several processes that ask for it do it once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.scores import shard_scoring
from rmaudit.scores.sweep import sweep
from rmaudit.scoring import Begun

pytest.importorskip("fcntl", reason="processes are forked and killed as POSIX does")

SHARD = 8  # answers a shard, so that a small vocabulary has many
PATIENCE = 120  # seconds after which a process is taken for hung
SERVER: Any = multiprocessing.get_context("forkserver")


class Watched(Checkpoint):
    """A checkpoint that notes in a file what it begins to score, a line an answer."""

    def __init__(self, spec: ModelSpec, *, cache: Path, notes: Path) -> None:
        super().__init__(spec, cache=cache)
        self.notes = notes

    def begin(self, prompt: str, responses: Sequence[Any], **settings: Any) -> Begun:
        """The scores; slowly, so that a kill has something to fall into."""
        line = "".join(f"{i}\n" for (i,) in responses).encode()
        with self.notes.open("ab") as notes:
            os.write(notes.fileno(), line)
        time.sleep(0.005)
        return super().begin(prompt, responses, **settings)


def sweeping(folder: Path, cache: Path, notes: Path) -> None:
    """What runs in a process."""
    shard_scoring.SHARD = SHARD
    notes.touch()
    sweep(Watched(ModelSpec("toy", str(folder)), cache=cache, notes=notes), "best", cache=cache)


@pytest.fixture(scope="module")
def server() -> Iterator[None]:
    """Imports what takes seconds once; every process is a fork of it. It ends with this file."""
    SERVER.set_forkserver_preload(
        ["pytest", "rmaudit.scoring.engine", "rmaudit.scores.sweep", "transformers"]
    )
    yield
    assert multiprocessing.active_children() == []
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def undisturbed(folder: Path, server: None, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a sweep that nobody disturbs."""
    cache = tmp_path_factory.mktemp("undisturbed")
    start(folder, cache, cache / "notes").join(PATIENCE)
    return only_file(cache).read_bytes()


def start(folder: Path, cache: Path, notes: Path) -> Any:
    """A process that sweeps."""
    process = SERVER.Process(target=sweeping, args=(folder, cache, notes))
    process.start()
    return process


def only_file(cache: Path) -> Path:
    """The stored sweep: nothing else is left."""
    (path,) = (cache / "scores").iterdir()
    assert path.suffix == ".parquet"
    return path


def kill(process: Any) -> bool:
    """SIGKILL; whether it was still at work."""
    os.kill(process.pid, signal.SIGKILL)
    process.join(PATIENCE)
    return bool(process.exitcode == -signal.SIGKILL)


def scored(notes: Path) -> list[int]:
    """The answers whose scoring began, in order."""
    return [int(line) for line in notes.read_text().split()] if notes.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, pytest.param(40, marks=pytest.mark.nightly)])
def test_kills_lose_at_most_a_shard_each(
    folder: Path, undisturbed: bytes, tmp_path: Path, most: int
) -> None:
    """So many kills at random moments of the work: the file is the undisturbed one's.

    A finished sweep is begun anew in another cache, until there were so many kills.
    """
    rng, kills, lives = np.random.default_rng(0), 0, 0
    while kills < most or lives % 2:
        cache, notes = tmp_path / f"cache-{lives}", tmp_path / f"notes-{lives}"
        killed_here = 0
        while True:
            began = notes.exists()
            process = start(folder, cache, notes)
            while not began and not notes.exists():
                time.sleep(0.001)
            process.join(rng.exponential(0.15) if killed_here < 5 else PATIENCE)
            if process.exitcode is not None or not kill(process):
                break
            kills, killed_here = kills + 1, killed_here + 1
        assert process.exitcode == 0
        assert only_file(cache).read_bytes() == undisturbed
        times = Counter(scored(notes))
        assert set(times) == set(range(len(times)))
        assert times.total() <= len(times) + killed_here * SHARD
        lives += 1
        assert lives < 200, "hardly a kill falls into a sweep"


@pytest.mark.slow
def test_four_at_once_do_the_work_once(folder: Path, undisturbed: bytes, tmp_path: Path) -> None:
    """One scores, all finish; where the one at work is killed, another goes on with its shards."""
    for killed in (False, True):
        cache = tmp_path / f"cache-{killed}"
        notes = [tmp_path / f"{killed}-{i}" for i in range(4)]
        processes = [start(folder, cache, note) for note in notes]
        dead = None
        while killed and dead is None:
            time.sleep(0.005)  # else it takes the processor from those that it waits for
            dead = next((i for i, note in enumerate(notes) if len(scored(note)) > 5 * SHARD), None)
        if dead is not None:
            assert kill(processes[dead])
        for process in processes:
            process.join(PATIENCE)

        assert [p.exitcode for p in processes].count(0) == 4 - killed
        assert only_file(cache).read_bytes() == undisturbed
        times = Counter(i for note in notes for i in scored(note))
        assert set(times) == set(range(len(times)))
        assert times.total() <= len(times) + killed * SHARD
