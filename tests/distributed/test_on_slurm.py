"""Parts as a job array: on this host in place of a cluster, one job killed, and all is there."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.config.registry import ModelSpec
from rmaudit.distributed import on_slurm
from rmaudit.distributed.making import make
from rmaudit.distributed.needs import Needs, Plan
from rmaudit.models.named import load
from rmaudit.prompts import FAMILY
from rmaudit.runs.requests import Request
from rmaudit.scores.store import Store
from tests.toys import toy_checkpoint

PROMPTS = list(FAMILY)[:6]


def planned(folder: Path, cache: Path) -> Callable[[], Plan]:
    """The sweeps of a toy under several prompts."""
    model, kept = load(str(folder), cache=cache), Store(cache)

    def plan() -> Plan:
        needs = Needs(kept)
        for prompt in PROMPTS:
            spec = ModelSpec("toy", str(folder))
            needs.ask(model, Request(spec, FAMILY[prompt], "sweep"))
        return Plan(kept, tuple(needs.found.values()))

    return plan


def array_of(jobs: int, folder: Path, tmp_path: Path) -> on_slurm.Array:
    """The sweeps of a toy, as processes of this host."""
    command = (sys.executable, "-m", "rmaudit.cli", "sweep", str(folder))
    command += tuple(f"--prompt={prompt}" for prompt in PROMPTS)
    command += (f"--cache={tmp_path / 'cache'}",)
    return on_slurm.Array(command, jobs, "local", tmp_path / "logs", {})


def assert_as_alone(folder: Path, tmp_path: Path) -> None:
    """The cache has what one process makes."""
    make(planned(folder, tmp_path / "alone"))
    ours, alone = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "scores").rglob("*.parquet")}
        for name in ("cache", "alone")
    )
    assert len(alone) == len(PROMPTS)
    assert ours == alone


@pytest.mark.slow
def test_an_array_of_four_loses_a_job_and_is_complete(tmp_path: Path) -> None:
    """The first round loses a job to SIGKILL; the next makes what that job was to make."""
    pytest.importorskip("submitit")
    folder = toy_checkpoint(tmp_path / "toy")
    array = array_of(4, folder, tmp_path)
    rounds: list[Sequence[Any]] = []

    def kill_one(jobs: Sequence[Any]) -> None:
        rounds.append(jobs)
        if len(rounds) > 1:
            return
        job = psutil.Process(int(jobs[0].job_id))  # so submitit numbers the jobs of a host
        for process in (*job.children(recursive=True), job):
            process.kill()

    told: list[str] = []
    plan = planned(folder, tmp_path / "cache")
    failed = on_slurm.make([plan], array, told.append, on_submit=kill_one)

    assert failed == []
    assert [len(jobs) for jobs in rounds] == [4, 4]
    assert any("its shards are submitted again" in line for line in told)
    assert_as_alone(folder, tmp_path)


@pytest.mark.slow
def test_a_preempted_job_is_queued_again(tmp_path: Path) -> None:
    """It is told so while its sweep runs; queued again, it makes its part, in the same round."""
    pytest.importorskip("submitit")
    folder, rounds = toy_checkpoint(tmp_path / "toy"), list[Sequence[Any]]()

    def preempt(jobs: Sequence[Any]) -> None:
        rounds.append(jobs)
        job, sweeping = psutil.Process(int(jobs[0].job_id)), list[psutil.Process]()
        while job.is_running() and not sweeping:
            sweeping = [task for task in job.children() if task.children()]
            time.sleep(0.01)
        sweeping[0].send_signal(signal.SIGUSR2)

    plan = planned(folder, tmp_path / "cache")
    failed = on_slurm.make([plan], array_of(2, folder, tmp_path), print, on_submit=preempt)

    assert failed == []
    assert len(rounds) == 1
    assert any("Requeued job" in log.read_text() for log in (tmp_path / "logs").glob("*.out"))
    assert_as_alone(folder, tmp_path)


def test_a_script_can_be_printed_and_edited() -> None:
    """It has what was asked for, and needs no submitit."""
    asked = ["sweep", "audits", "--model", "a b", "--cache", "s3://b/x", "--array", "8"]
    ran = CliRunner().invoke(app, [*asked, "--gres", "gpu:1", "--sbatch", "time=60", "--print"])

    assert ran.exit_code == 0
    script = ran.output
    for line in ("#SBATCH --array=1-8", "#SBATCH --gres=gpu:1", "#SBATCH --time=60"):
        assert line in script.splitlines()
    sweep = "rmaudit sweep audits '--model=a b' --cache=s3://b/x"
    assert f"\n{sweep} --part $SLURM_ARRAY_TASK_ID/8\n" in script
    assert f"{sweep.replace('sweep', 'plan', 1)} --missing" in script


def test_what_is_missing_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package; with an option that is none."""
    monkeypatch.setitem(sys.modules, "submitit", None)
    array = on_slurm.Array(("x",), 1, "slurm", tmp_path, {})
    with pytest.raises(Exception, match=r"^--on slurm: .*pip install 'rmaudit\[slurm\]'$"):
        on_slurm.submit(array)
    ran = CliRunner().invoke(app, ["sweep", "--on", "slurm", "--sbatch", "partition"])
    assert ran.exit_code == 4
    assert "partition=gpu" in ran.output
