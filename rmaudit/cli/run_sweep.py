"""rmaudit plan and sweep: what a run's audits would score, and its scoring before they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.common import ERROR, UNDECIDED, AsJson, echo_json, fail, grouped, say
from rmaudit.cli.sweep_jobs import command, jobs, planned
from rmaudit.errors import RmauditError
from rmaudit.runs.options import OPTIONS, RunOptions, is_ray

if TYPE_CHECKING:
    from rmaudit.distributed import making


@dataclass(frozen=True, slots=True)
class ArrayOptions:
    """Options of a job array."""

    array: Annotated[int, typer.Option(min=1, help="so many parts of an array")] = 16
    gres: Annotated[str | None, typer.Option(help="of each job, such as gpu:1")] = None
    sbatch: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="more for sbatch; repeatable")
    ] = None
    logs: Annotated[Path, typer.Option(help="where jobs write what they say")] = Path("slurm")
    detach: Annotated[bool, typer.Option("--detach", help="submit, and do not wait")] = False
    show: Annotated[
        bool, typer.Option("--print", help="print a script for sbatch, and submit nothing")
    ] = False


@dataclass(frozen=True, slots=True)
class RayOptions:
    """Options of Ray's workers."""

    workers: Annotated[int | None, OPTIONS["workers"]] = None
    gpus: Annotated[float | None, OPTIONS["gpus"]] = None
    cpus: Annotated[float, typer.Option(min=0, help="CPUs of each of Ray's workers")] = 1


On = Annotated[
    str,
    typer.Option(
        metavar="WHERE",
        help="who makes it: this process (here), a SLURM array (slurm), processes of this host "
        "(local), or Ray's workers (ray, or the address of a cluster)",
    ),
]
Audits = Annotated[list[Path] | None, typer.Argument(help="files and folders (default: audits)")]
What = Annotated[
    list[str] | None,
    typer.Argument(help="files and folders of audits (default: audits); with --prompt, a model"),
]


@grouped
def plan(
    audits: Audits = None,
    *,
    run: RunOptions,
    missing: Annotated[bool, typer.Option("--missing", help="only what lacks")] = False,
    as_json: AsJson = False,
) -> None:
    """List the scores that a run of audits still needs, and what they will cost.

    Nothing is scored, and no weights are loaded. The audits are asked: nothing is listed twice.
    """
    from rmaudit.distributed import told
    from rmaudit.plugin.planning import PlanningCache

    try:
        found = planned([str(path) for path in audits or ()], run, PlanningCache())
        if as_json:
            echo_json(told.as_json(found, missing=missing))
        else:
            for line in told.lines(found, missing=missing):
                say(line)
    except RmauditError as error:
        fail(error)


@grouped
def sweep(  # noqa: PLR0913  (groups of options)
    what: What = None,
    *,
    run: RunOptions,
    prompt: Annotated[
        list[str] | None, typer.Option(help="score the vocabulary under this prompt, no audits")
    ] = None,
    part: Annotated[
        str | None, typer.Option(metavar="K/N", help="only the K-th of N parts, for job arrays")
    ] = None,
    on: On = "here",
    slurm: ArrayOptions,
    ray_options: RayOptions,
    as_json: AsJson = False,
) -> None:
    """Make the scores that a run of audits still needs; `pytest audits` then finds them.

    With --prompt, only the sweep of one model. What is there is not made again.

    Exit code 0 if nothing lacks, 2 if other parts are to make the rest, 3 if some cannot be made.
    """
    from rmaudit.distributed import making, on_ray
    from rmaudit.distributed.parts import part as parsed

    ray = is_ray(on)
    if on not in {"here", "slurm", "local"} and not ray:
        fail(f"--on {on!r}; write here, slurm, local, ray, or the address of a Ray cluster")
    if part is not None and (on != "here" or slurm.show):
        fail("--part is for one process; leave it out with --on and --print")
    if not ray and (on != "here" or slurm.show):
        if as_json:
            fail("--json is not for job arrays; leave it out with --on and --print")
        _in_array(what or [], run, prompt or [], slurm, on)
        return
    told = (lambda _: None) if as_json else say
    try:
        mine = None if part is None else parsed(part)
        plans = list(jobs(what or [], run, prompt or []))
        if ray:
            cluster = on_ray.Cluster(on, ray_options.workers, ray_options.gpus, ray_options.cpus)
            made = on_ray.make(plans, cluster, told)
        else:
            made = making.Made()
            for place, each in enumerate(plans):
                made.add(making.make(each, mine, place=place, models=len(plans), told=told))
    except RmauditError as error:
        fail(error)
    _end(made, as_json=as_json)


def _in_array(
    what: Sequence[str], run: RunOptions, prompts: Sequence[str], slurm: ArrayOptions, on: str
) -> None:
    """Submit the parts as jobs, or print the script that would."""
    from rmaudit.distributed import on_slurm

    more = [entry.partition("=") for entry in slurm.sbatch or ()]
    if wrong := [name for name, equals, _ in more if not (name and equals)]:
        fail(f"--sbatch {wrong[0]!r}: write NAME=VALUE, such as partition=gpu")
    settings = {name: value for name, _, value in more}
    settings |= {"gres": slurm.gres} if slurm.gres else {}
    own = command(what, run, prompts, printed=slurm.show)
    kind = "local" if on == "local" else "slurm"
    array = on_slurm.Array(own, slurm.array, kind, slurm.logs, settings)
    if slurm.show:
        for line in on_slurm.script(array).splitlines():
            say(line)
        return
    try:
        plans = list(jobs(what, run, prompts))
        if slurm.detach:
            submitted = on_slurm.submit(array)
            names = ", ".join(job.job_id for job in submitted)
            say(f"submitted {len(submitted)} parts: {names}")
            say("when they have ended, run the same again, until nothing lacks")
            return
        failed = on_slurm.make(plans, array, say)
    except RmauditError as error:
        fail(error)
    for reason in failed:
        say(reason, err=True)
    if failed:
        raise typer.Exit(ERROR)
    say("nothing lacks")


def _end(made: making.Made, *, as_json: bool) -> None:
    """Say what came of it, and what to do next."""
    failed, left = [*made.failed.values()], sum(need.missing for need in made.left)
    if as_json:
        echo_json({"scored": made.answers, "left": left, "failed": failed})
    else:
        rest = f"; {left:,} lack" if left else "; nothing lacks"
        say(f"{made.answers:,} answers scored{rest}")
    for reason in failed:
        say(reason, err=True)
    if failed:
        raise typer.Exit(ERROR)
    if left and not as_json:
        say("when all parts have ended, run the same again: it makes what is left")
    if left:
        raise typer.Exit(UNDECIDED)
