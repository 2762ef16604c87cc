"""Parts as a SLURM job array, by submitit: submitted, waited for, and submitted again if some lack.

Each job is `rmaudit sweep … --part K/N`, so a job that dies has lost its shard at hand, and the
next round makes what is missing, whoever was to make it. Rounds end when nothing lacks, or when a
round has made nothing.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.distributed.needs import Plan
from rmaudit.distributed.parts import Part
from rmaudit.errors import RmauditError, SpecError

if TYPE_CHECKING:
    from submitit import Job

_POLL = 1.0  # seconds


@dataclass(frozen=True)
class Array:
    """What is submitted.

    Attributes:
        command: the sweep, without its part.
        jobs: how many parts there are.
        cluster: "slurm", or "local" for processes of this host.
        folder: where submitit keeps its files and the jobs' output.
        settings: of sbatch, such as `gres` or `partition`; for SLURM alone.
    """

    command: tuple[str, ...]
    jobs: int
    cluster: str
    folder: Path
    settings: Mapping[str, str]


@dataclass(frozen=True)
class SweepPart:
    """A job: one part of a sweep, in a process of its own. Preempted, it is queued again."""

    command: tuple[str, ...]
    part: Part

    def __call__(self) -> int:
        """The exit code: 0, or 2 where other parts have something left to make.

        Raises:
            RmauditError: the sweep failed; its own words.
        """
        command = [*self.command, "--part", str(self.part)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        sys.stdout.write(done.stdout)
        if done.returncode not in {0, 2}:
            said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()
            raise RmauditError(f"part {self.part}: {said[-1]}")
        return done.returncode

    def checkpoint(self) -> object:
        """What submitit queues when the job is preempted or runs out of time: the same again."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def submit(array: Array) -> list[Job[int]]:
    """Submit the parts.

    Raises:
        SpecError: submitit is missing, or there is no SLURM here.
    """
    try:
        import submitit
    except ImportError:
        message = "--on slurm: the package submitit is missing; pip install 'rmaudit[slurm]'"
        raise SpecError(message) from None
    try:
        executor = submitit.AutoExecutor(folder=array.folder, cluster=array.cluster)
    except RuntimeError as error:  # no sbatch
        message = f"--on slurm: {error}; run it where sbatch is, or print a script with --print"
        raise SpecError(message) from None
    parts = [SweepPart(array.command, Part(k, array.jobs)) for k in range(1, array.jobs + 1)]
    own = {f"slurm_{name}": value for name, value in array.settings.items()}
    executor.update_parameters(name="rmaudit", **(own if array.cluster == "slurm" else {}))
    with executor.batch():
        return [executor.submit(part) for part in parts]


def make(
    plans: Sequence[Callable[[], Plan]],
    array: Array,
    told: Callable[[str], None],
    *,
    on_submit: Callable[[Sequence[Job[int]]], None] = lambda _: None,
) -> list[str]:
    """Submit and wait until nothing lacks, and say why where something does.

    `on_submit` is given the jobs of each round. Ctrl-C leaves the jobs, which go on.
    """
    left = _lacking(plans)
    while left:
        jobs = submit(array)
        told(f"submitted {len(jobs)} parts: {', '.join(job.job_id for job in jobs)}")
        on_submit(jobs)
        failed = _ended(jobs)
        before, left = left, _lacking(plans)
        told(f"{sum(before.values()) - sum(left.values()):,} fewer lack; {sum(left.values()):,} do")
        if left == before:
            return failed or ["no part made anything of what lacks"]
        for reason in failed:
            told(f"{reason}; its shards are submitted again" if left else reason)
    return []


def _ended(jobs: Sequence[Job[int]]) -> list[str]:
    """Wait for jobs, and say which failed."""
    while not all(job.done() for job in jobs):
        time.sleep(_POLL)
    failed: list[str] = []
    for job in jobs:
        try:
            job.result()
        except Exception as error:  # noqa: BLE001  (whatever killed it)
            failed.append(f"job {job.job_id}: {str(error).strip().splitlines()[0]}")
    return failed


def _lacking(plans: Sequence[Callable[[], Plan]]) -> dict[str, int]:
    """How many answers of each key lack."""
    return {need.key: need.missing for planned in plans for need in planned().lacking}


def script(array: Array) -> str:
    """The array as a script for sbatch, to be edited; it needs no submitit."""
    settings: dict[str, Any] = {"job-name": "rmaudit", "array": f"1-{array.jobs}"}
    settings |= {name.replace("_", "-"): value for name, value in array.settings.items()}
    lines = ["#!/bin/bash", *(f"#SBATCH --{name}={value}" for name, value in settings.items())]
    sweep = shlex.join(array.command)
    return "\n".join(
        [
            *lines,
            "#SBATCH --requeue",
            f"{sweep} --part $SLURM_ARRAY_TASK_ID/{array.jobs}",
            "# Exit code 2: other parts have something left. When all have ended, submit it again,",
            f"# until this lists nothing: {sweep.replace(' sweep ', ' plan ', 1)} --missing",
        ]
    )
