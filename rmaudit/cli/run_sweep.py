"""rmaudit plan and sweep: what a run's audits would score, and its scoring before they run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.common import (
    ERROR,
    UNDECIDED,
    AsJson,
    CachedAnywhere,
    Registered,
    echo_json,
    fail,
    place,
    say,
)
from rmaudit.cli.option_groups import grouped
from rmaudit.config.brought import brought
from rmaudit.config.registry import Dtype, ModelSpec, known_models, resolve
from rmaudit.errors import RmauditError

if TYPE_CHECKING:
    from rmaudit.distributed import making
    from rmaudit.distributed.making import Planned
    from rmaudit.distributed.needs import Plan
    from rmaudit.plugin.planning import Before

_AUDITS = "audits"


@dataclass(frozen=True, slots=True)
class OfRun:
    """Options of the run whose scores are planned or made: those of `pytest audits`."""

    model: Annotated[
        list[str] | None, typer.Option(help="as for pytest audits; may be repeated")
    ] = None
    cache: CachedAnywhere = None
    sample: Annotated[int | None, typer.Option(min=1, help="so many ids of a sweep")] = None
    seed: Annotated[int, typer.Option(min=0, help="seed of every random draw")] = 0
    search: Annotated[int | None, typer.Option(min=0, help="budget of a search, 0: none")] = None
    baseline: Annotated[str | None, typer.Option(help="the model to compare with")] = None
    prompts: Annotated[
        str | None, typer.Option(metavar="FILE", help="other prompts for all audits, or names")
    ] = None
    pairs: Annotated[Path | None, typer.Option(metavar="FILE", help="pairs of answers")] = None
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="strings of searches made elsewhere")
    ] = None
    device: Annotated[str, typer.Option(help="auto, spread, cpu, cuda:0 ...")] = "auto"
    dtype: Annotated[
        Dtype | None, typer.Option(help="in place of the registry's", case_sensitive=False)
    ] = None
    file: Registered = None


@dataclass(frozen=True, slots=True)
class OfArray:
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
class OfRay:
    """Options of Ray's workers."""

    workers: Annotated[
        int | None, typer.Option(min=1, help="with --on ray: so many (default: all there is room)")
    ] = None
    gpus: Annotated[
        float | None, typer.Option(min=0, help="with --on ray: of each worker (default: 1, if any)")
    ] = None
    cpus: Annotated[float, typer.Option(min=0, help="with --on ray: of each worker")] = 1


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
    of_run: OfRun,
    missing: Annotated[bool, typer.Option("--missing", help="only what lacks")] = False,
    as_json: AsJson = False,
) -> None:
    """List the scores that a run of audits needs, and what of them lacks, with its cost.

    Nothing is scored, and no weights are loaded. The audits are asked: nothing is listed twice.
    """
    from rmaudit.distributed import told
    from rmaudit.plugin.planning import Before

    try:
        found = _planned([str(path) for path in audits or ()], of_run, of_run.model or [], Before())
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
    of_run: OfRun,
    prompt: Annotated[
        list[str] | None, typer.Option(help="score the vocabulary under this prompt, no audits")
    ] = None,
    part: Annotated[
        str | None, typer.Option(metavar="K/N", help="only the K-th of N parts, for job arrays")
    ] = None,
    on: On = "here",
    of_array: OfArray,
    of_ray: OfRay,
    as_json: AsJson = False,
) -> None:
    """Make the scores that a run of audits lacks; `pytest audits` then finds them all.

    With --prompt, only the sweep of one model. What is there is not made again.

    Exit code 0 if nothing lacks, 2 if other parts are to make the rest, 3 if some cannot be made.
    """
    from rmaudit.distributed import making, on_ray
    from rmaudit.distributed.parts import part as parsed

    ray = on_ray.is_address(on)
    if on not in {"here", "slurm", "local"} and not ray:
        fail(f"--on {on!r}; write here, slurm, local, ray, or the address of a Ray cluster")
    if part is not None and (on != "here" or of_array.show):
        fail("--part is for one process; leave it out with --on and --print")
    if not ray and (on != "here" or of_array.show):
        if as_json:
            fail("--json is not for job arrays; leave it out with --on and --print")
        _in_array(what or [], of_run, prompt or [], of_array, on)
        return
    told = (lambda _: None) if as_json else say
    try:
        mine = None if part is None else parsed(part)
        jobs = list(_jobs(what or [], of_run, prompt or []))
        if ray:
            cluster = on_ray.Cluster(on, of_ray.workers, of_ray.gpus, of_ray.cpus)
            made = on_ray.make(jobs, cluster, told)
        else:
            made = making.Made()
            for place, planned in enumerate(jobs):
                made.add(making.make(planned, mine, place=place, models=len(jobs), told=told))
    except RmauditError as error:
        fail(error)
    _end(made, as_json=as_json)


def _in_array(
    what: Sequence[str], of_run: OfRun, prompts: Sequence[str], of_array: OfArray, on: str
) -> None:
    """Submit the parts as jobs, or print the script that would."""
    from rmaudit.distributed import on_slurm

    more = [entry.partition("=") for entry in of_array.sbatch or ()]
    if wrong := [name for name, equals, _ in more if not (name and equals)]:
        fail(f"--sbatch {wrong[0]!r}: write NAME=VALUE, such as partition=gpu")
    settings = {name: value for name, _, value in more}
    settings |= {"gres": of_array.gres} if of_array.gres else {}
    command = _command(what, of_run, prompts, printed=of_array.show)
    kind = "local" if on == "local" else "slurm"
    array = on_slurm.Array(command, of_array.array, kind, of_array.logs, settings)
    if of_array.show:
        for line in on_slurm.script(array).splitlines():
            say(line)
        return
    try:
        plans = list(_jobs(what, of_run, prompts))
        if of_array.detach:
            jobs = on_slurm.submit(array)
            say(f"submitted {len(jobs)} parts: {', '.join(job.job_id for job in jobs)}")
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


def _command(
    what: Sequence[str], of_run: OfRun, prompts: Sequence[str], *, printed: bool
) -> tuple[str, ...]:
    """The command of a sweep, for another process."""
    options = [f"--model={name}" for name in of_run.model or ()]
    options += [f"--prompt={prompt}" for prompt in prompts]
    plain = (field.name for field in fields(OfRun) if field.name != "model")
    for name in plain:
        value = getattr(of_run, name)
        if value not in {None, getattr(OfRun(), name)}:
            options.append(f"--{name}={value}")
    program = ["rmaudit"] if printed else [sys.executable, "-m", "rmaudit.cli"]
    return (*program, "sweep", *what, *options)


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


def _jobs(what: Sequence[str], of_run: OfRun, prompts: Sequence[str]) -> Iterator[Planned]:
    """What is to be planned: a run of each model, or the sweeps of one."""
    from rmaudit.plugin.planning import Before

    registry = known_models(of_run.file)
    if prompts:
        if any((of_run.prompts, of_run.pairs, of_run.ledger)):
            fail("--prompts, --pairs and --ledger are for audits; leave them out with --prompt")
        names = [*what, *(of_run.model or [])]
        if len(names) != 1:
            fail(f"--prompt: {len(names)} models are named; write rmaudit sweep NAME --prompt best")
        yield from (_one(spec, of_run, prompts) for spec in resolve(registry, names[0]))
        return
    for name in of_run.model or [registry.default.name]:
        specs = resolve(registry, name)
        for own in [name] if len(specs) == 1 else [spec.name for spec in specs]:
            yield partial(_planned, what, of_run, [own], Before())


def _one(spec: ModelSpec, of_run: OfRun, prompts: Sequence[str]) -> Planned:
    """The sweeps of one model under these prompts."""
    from rmaudit.distributed.needs import Needs, Plan
    from rmaudit.organisms.for_model import Options, opened
    from rmaudit.organisms.requests import Request
    from rmaudit.prompts import prompt_meant
    from rmaudit.scores.store import store_at

    store = store_at(place(of_run.cache))
    options = Options(store.local, device=of_run.device, dtype=of_run.dtype)
    model = opened(spec, options)
    asked = [
        Request(spec, prompt_meant(prompt), "sweep", sample=of_run.sample, seed=of_run.seed)
        for prompt in prompts
    ]

    def planned() -> Plan:
        needs = Needs(store, of_run.device)
        for request in asked:
            needs.ask(model, request)
        return Plan(store, tuple(needs.found.values()), device=of_run.device)

    return planned


def _planned(audits: Sequence[str], of_run: OfRun, names: Sequence[str], before: Before) -> Plan:
    """What the audits need of these models, the default where none is named."""
    from rmaudit.plugin.planning import collect

    here = _AUDITS if Path(_AUDITS).is_dir() else str(brought(_AUDITS))
    options = {
        "--rm-cache": of_run.cache,
        "--rm-sample": of_run.sample,
        "--rm-seed": of_run.seed,
        "--rm-search": of_run.search,
        "--rm-baseline": of_run.baseline,
        "--rm-prompts": of_run.prompts,
        "--rm-pairs": of_run.pairs,
        "--rm-ledger": of_run.ledger,
        "--rm-device": of_run.device,
        "--rm-dtype": of_run.dtype,
        "--rm-models": of_run.file,
    }
    given = [f"{name}={value}" for name, value in options.items() if value is not None]
    named = [f"--rm-model={name}" for name in names]
    return collect([*(audits or [here]), *named, *given], before)
