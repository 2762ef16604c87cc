"""A sweep survives SIGKILL at any moment, and any number of processes may ask for it at once.

The processes here are real ones, of a real checkpoint. Each one stops at every step of its work,
says where it is and goes on when told to, so a test chooses which step a kill falls into, knows
what was scored by then, and depends on no clock.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import shutil
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from rmaudit.config.registry import ModelSpec
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.scores import store
from rmaudit.scores.store import Store
from rmaudit.scores.sweep import sweep
from tests.toys import toy_checkpoint

fcntl = pytest.importorskip("fcntl", reason="processes are forked and killed as POSIX does")

SHARD = 8  # answers a shard, so that a small vocabulary has many
PATIENCE = 120  # seconds after which a process that says nothing is taken for hung
KILLS = 20
IN_A_SHARD = ("score", "scored", "write shard", "half a shard", "a shard", "shard renamed")
AT_THE_END = ("write file", "half the file", "the file")
AFTER = ("file renamed", "clear up", "half cleared up")
SERVER: Any = multiprocessing.get_context("forkserver")


class Step(NamedTuple):
    """Where a process is: a name, and the first answer of a shard or what came out."""

    name: str
    what: Any = None


# What runs in the processes


def sweeping(told: Connection, folder: Path, cache: Path) -> None:
    """Sweep a checkpoint, stopping at every step."""
    tell = _stopping(told)
    _stop_at_every_step(tell)
    with _said(tell):
        model = Watched(ModelSpec("toy", str(folder)), cache=cache, tell=tell)
        tell("done", sweep(model, "best", cache=cache).frame)


def waiting(told: Connection, cache: Path, key: str) -> None:
    """Ask for what another process is at work on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the test's parent ignores
    tell = _stopping(told)
    real, attempts = fcntl.flock, count(1)

    def flock(*args: int) -> None:
        if next(attempts) == 3:  # the first one is to see whether there is anybody
            tell("tries again")
        real(*args)

    fcntl.flock = flock
    with _said(tell), Store(cache)._locked(key, on_wait=lambda: tell("waits")):
        tell("done")


class Watched(Checkpoint):
    """A checkpoint that says what it scores."""

    def __init__(self, spec: ModelSpec, *, cache: Path, tell: Callable[..., None]) -> None:
        super().__init__(spec, cache=cache)
        self.tell = tell

    def score(self, prompt: str, responses: Sequence[Any], **settings: Any) -> NDArray[np.float32]:
        """The scores, between two steps. A toy's ids are its rows; no shard has a single one."""
        if len(responses) == 1:  # once more, to measure the noise
            return super().score(prompt, responses, **settings)
        self.tell("score", [i for (i,) in responses])
        scores = super().score(prompt, responses, **settings)
        self.tell("scored", responses[0][0])
        return scores


def _stopping(told: Connection) -> Callable[..., None]:
    def tell(name: str, what: Any = None) -> None:
        told.send(Step(name, what))
        told.recv()

    return tell


@contextmanager
def _said(tell: Callable[..., None]) -> Iterator[None]:
    """Say what went wrong; a warning is wrong too."""
    warnings.simplefilter("error")
    try:
        yield
    except BaseException:  # noqa: BLE001
        tell("failed", traceback.format_exc())


def _stop_at_every_step(tell: Callable[..., None]) -> None:
    """Put the steps into the store's way of writing. This process is used up after that."""
    store.SHARD = SHARD
    real_lock = store.FileLock
    real_write, real_replace, real_remove = pq.write_table, Path.replace, shutil.rmtree

    def lock(path: Path) -> store.FileLock:
        tell("lock")
        return real_lock(path)

    def write_table(table: Any, where: Any, **settings: Any) -> None:
        shard = table.num_columns == 1
        tell("write shard" if shard else "write file")
        whole = io.BytesIO()
        real_write(table, whole, **settings)
        content = whole.getvalue()
        file = Path(where).open("wb") if isinstance(where, (str, Path)) else where  # noqa: SIM115
        file.write(content[: len(content) // 2])
        file.flush()
        tell("half a shard" if shard else "half the file")
        file.write(content[len(content) // 2 :])
        if file is not where:
            file.close()

    def replace(self: Path, target: Path) -> Path:
        if self.suffix != ".partial" or target.suffix != ".parquet":
            return real_replace(self, target)
        shard = target.parent.suffix == ".parts"
        tell("a shard" if shard else "the file")
        new = real_replace(self, target)
        tell("shard renamed" if shard else "file renamed")
        return new

    def rmtree(path: Path, **settings: Any) -> None:
        files = sorted(path.glob("*.parquet"))
        if files:
            tell("clear up")
            files[len(files) // 2].unlink()
            tell("half cleared up")
        real_remove(path, **settings)

    store.FileLock = lock  # type: ignore[assignment, misc]
    pq.write_table, Path.replace, shutil.rmtree = write_table, replace, rmtree  # type: ignore[method-assign, assignment]


# What the tests see of them


class Process:
    """A process that stops at every step."""

    def __init__(self, work: Callable[..., None], *args: Any) -> None:
        self.told, theirs = SERVER.Pipe()
        self.process: ForkServerProcess = SERVER.Process(target=work, args=(theirs, *args))
        self.process.start()
        theirs.close()
        self.steps: list[Step] = []

    def next(self) -> Step:
        """The step at which it stops."""
        assert self.told.poll(PATIENCE), f"hangs after {self.steps[-3:]}"
        step: Step = self.told.recv()
        assert step.name != "failed", step.what
        self.steps.append(step)
        return step

    def go(self) -> None:
        """Let it go on."""
        self.told.send(None)

    def kill(self) -> None:
        """SIGKILL, while it is at work: only that ended it."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join(PATIENCE)
        assert self.process.exitcode == -signal.SIGKILL
        with suppress(EOFError, OSError):  # what it did between the last step seen and the kill
            while self.told.poll(0):
                self.steps.append(self.told.recv())
        self.end()

    def finish(self) -> pd.DataFrame:
        """Let it do all that is left; what it made."""
        while (step := self.next()).name != "done":
            self.go()
        self.go()
        self.process.join(PATIENCE)
        assert self.process.exitcode == 0
        self.end()
        frame: pd.DataFrame = step.what
        return frame

    def end(self) -> None:
        """Leave nothing of it behind."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join(PATIENCE)
        self.told.close()

    @property
    def scored(self) -> list[int]:
        """The answers whose scoring began, in order."""
        return [i for step in self.steps if step.name == "score" for i in step.what]


Start = Callable[..., Process]


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    """Imports what takes seconds once; every process is a fork of it. It ends with this file."""
    SERVER.set_forkserver_preload(
        [
            "pytest",
            "rmaudit.scoring.engine",
            "rmaudit.scores.sweep",
            "transformers.models.auto.modeling_auto",
            "transformers.models.llama.modeling_llama",
        ]
    )
    yield
    assert multiprocessing.active_children() == []
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes, and ends those that a failed test leaves."""
    started: list[Process] = []

    def start(work: Callable[..., None], *args: Any) -> Process:
        started.append(Process(work, *args))
        return started[-1]

    yield start
    for process in started:
        process.end()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real checkpoint."""
    return toy_checkpoint(tmp_path_factory.mktemp("toy") / "toy")


class Undisturbed(NamedTuple):
    """What a sweep gives that nobody disturbs."""

    frame: pd.DataFrame
    key: str
    content: bytes


@pytest.fixture(scope="module")
def undisturbed(
    folder: Path, server: None, tmp_path_factory: pytest.TempPathFactory
) -> Undisturbed:
    """The same sweep in a cache of its own."""
    cache = tmp_path_factory.mktemp("undisturbed")
    process = Process(sweeping, folder, cache)
    try:
        frame = process.finish()
    finally:
        process.end()
    assert process.scored == frame["token_id"].tolist() == list(range(len(frame)))
    path = only_file(cache)
    return Undisturbed(frame, path.stem, path.read_bytes())


def only_file(cache: Path) -> Path:
    """The stored sweep: besides its lock nothing else is left."""
    (path,) = (path for path in (cache / "scores").iterdir() if path.suffix != ".lock")
    assert path.suffix == ".parquet"
    return path


def whole_shards(cache: Path) -> set[int]:
    """The first answers of the shards that are in their places."""
    return {int(path.stem) for path in (cache / "scores").glob("*.parts/*.parquet")}


# Kills


def test_twenty_kills_lose_at_most_a_shard_each(
    folder: Path, undisturbed: Undisturbed, tmp_path: Path, start: Start
) -> None:
    """Killed while scoring, writing, renaming and clearing up; the file is the undisturbed one's.

    A generator draws the step, how often it is let pass first, and how long after it the kill
    comes: the process stops again at its next step, so whenever it comes there is work left.
    """
    rng = np.random.default_rng(0)
    in_a_shard = rng.permutation([*IN_A_SHARD * 2, *rng.choice(IN_A_SHARD, KILLS - 12 - 4)])
    planned = [*in_a_shard, *rng.permutation(AT_THE_END), rng.choice(AFTER)]
    assert len(planned) == KILLS
    scored: Counter[int] = Counter()
    hit: list[str] = []

    for name in planned:
        finished = whole_shards(tmp_path)
        process = start(sweeping, folder, tmp_path)
        passes = int(rng.integers(0, 2)) if name in IN_A_SHARD else 0
        while (step := process.next()).name != name or passes:
            passes -= step.name == name
            assert step.name != "done", f"no {name} in {[s.name for s in process.steps]}"
            process.go()
        if rng.random() < 0.5 and name not in {AT_THE_END[-1], AFTER[-1]}:
            process.go()  # not after these two, behind which the plan or the work is at its end
            time.sleep(rng.exponential(0.002))
        process.kill()

        assert not finished & set(process.scored), "a finished shard was scored again"
        scored.update(process.scored)
        lost = set(process.scored) - {i + k for i in whole_shards(tmp_path) for k in range(SHARD)}
        if name not in AFTER:
            assert len(lost) <= SHARD
        hit.append(name)

    last = start(sweeping, folder, tmp_path)
    pd.testing.assert_frame_equal(last.finish(), undisturbed.frame)
    scored.update(last.scored)

    assert set(hit) >= {*IN_A_SHARD, *AT_THE_END}
    total = len(undisturbed.frame)
    assert set(scored) == set(range(total))
    assert total < scored.total() <= total + KILLS * SHARD
    assert only_file(tmp_path).name == f"{undisturbed.key}.parquet"
    assert only_file(tmp_path).read_bytes() == undisturbed.content


@pytest.mark.parametrize("name", AFTER)
def test_a_kill_after_the_renaming_loses_nothing(
    folder: Path, undisturbed: Undisturbed, tmp_path: Path, start: Start, name: str
) -> None:
    """The file is in its place; the next run only clears up."""
    first = start(sweeping, folder, tmp_path)
    while first.next().name != name:
        first.go()
    first.kill()
    assert whole_shards(tmp_path)

    second = start(sweeping, folder, tmp_path)
    pd.testing.assert_frame_equal(second.finish(), undisturbed.frame)

    assert second.scored == []
    assert only_file(tmp_path).read_bytes() == undisturbed.content


# Several at once


def together(processes: Sequence[Process], until: Callable[[Process, Step], bool]) -> None:
    """Let all go on, whoever says something first, until one of them stops where it should."""
    running = {process.told: process for process in processes}
    while running:
        ready = wait(list(running), PATIENCE)
        assert ready, "all hang"
        for told in ready:
            process = running[told]  # type: ignore[index]
            step = process.next()
            if until(process, step):
                return
            if step.name == "done":
                del running[told]  # type: ignore[arg-type]
            process.go()


def assert_done_once(
    processes: Sequence[Process], undisturbed: Undisturbed, cache: Path, *, twice: int = 0
) -> None:
    """All have the same frame, and at most `twice` answers were scored more than once."""
    scored = Counter(i for process in processes for i in process.scored)
    assert set(scored) == set(range(len(undisturbed.frame)))
    assert scored.total() == len(undisturbed.frame) + twice
    for process in processes:
        if process.steps[-1].name == "done":
            pd.testing.assert_frame_equal(process.steps[-1].what, undisturbed.frame)
    assert only_file(cache).read_bytes() == undisturbed.content


def test_four_at_once_do_the_work_once(
    folder: Path, undisturbed: Undisturbed, tmp_path: Path, start: Start
) -> None:
    """Four processes, none of which finds anything: one scores, all get the same, and no warning.

    All four stop before their first look at the lock until the last one is there.
    """
    processes = [start(sweeping, folder, tmp_path) for _ in range(4)]
    for process in processes:
        while process.next().name != "lock":
            process.go()
    for process in processes:
        process.go()
    together(processes, lambda process, step: False)
    for process in processes:
        process.process.join(PATIENCE)
        assert process.process.exitcode == 0

    assert [process.steps[-1].name for process in processes] == ["done"] * 4
    assert_done_once(processes, undisturbed, tmp_path)


def test_when_the_one_at_work_is_killed_another_goes_on(
    folder: Path, undisturbed: Undisturbed, tmp_path: Path, start: Start
) -> None:
    """The lock of a dead process is free, and its shards are used."""
    processes = [start(sweeping, folder, tmp_path) for _ in range(4)]
    together(
        processes,
        lambda process, step: step.name == "half a shard" and bool(whole_shards(tmp_path)),
    )
    (at_work,) = (process for process in processes if process.scored)
    finished = whole_shards(tmp_path)
    assert finished
    at_work.kill()
    others = [process for process in processes if process is not at_work]
    together(others, lambda process, step: False)

    assert [process.steps[-1].name for process in others] == ["done"] * 3
    assert sum(bool(process.scored) for process in others) == 1
    assert_done_once(processes, undisturbed, tmp_path, twice=SHARD)


def test_control_c_ends_the_wait_for_another(tmp_path: Path, start: Start) -> None:
    """Who waits says so once and can be stopped; who is at work is not disturbed."""
    with Store(tmp_path)._locked("key"):
        second = start(waiting, tmp_path, "key")
        assert second.next().name == "waits"
        second.go()
        assert second.next().name == "tries again"
        assert second.process.pid is not None
        os.kill(second.process.pid, signal.SIGINT)
        assert second.told.poll(PATIENCE)
        step = second.told.recv()
        second.go()

    assert step.name == "failed"
    assert "KeyboardInterrupt" in step.what
