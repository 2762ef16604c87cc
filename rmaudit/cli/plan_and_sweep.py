"""Run `rmaudit plan` and `sweep`: list the scores that audits need, and make them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.printing import ERROR, UNDECIDED, echo_json, fail, say, show
from rmaudit.cli.shared_options import AsJson, grouped
from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import known_models
from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.config.servers import BARE_URL, secret_in
from rmaudit.errors import RmauditError, SpecError
from rmaudit.runs.option_parsing import (
    LARGEST,
    Option,
    is_ray,
    text_matching,
    whole_number_from,
)
from rmaudit.runs.run_options import RunOptions

if TYPE_CHECKING:
    from rmaudit.distributed import scoring_rounds
    from rmaudit.distributed.missing_scores import Plan
    from rmaudit.distributed.scoring_rounds import Planned
    from rmaudit.plugin.score_planning import PlanningCache

_AUDITS = "audits"  # the folder that is asked where none is named


@dataclass(frozen=True, slots=True)
class ArrayOptions:
    """Options for printing an sbatch script, which runs a sweep as a SLURM job array."""

    show: Annotated[
        bool, typer.Option("--print", help="print a script for sbatch, and score nothing")
    ] = False
    parts: Annotated[
        int, typer.Option("--array", min=1, help="with --print: so many parts of an array")
    ] = 16
    gres: Annotated[str | None, typer.Option(help="with --print: of each job, as gpu:1")] = None
    sbatch: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="with --print: more for sbatch; repeatable"),
    ] = None


@grouped
def plan(
    audits: Annotated[
        list[Path] | None, typer.Argument(help="files and folders (default: audits)")
    ] = None,
    *,
    run: RunOptions,
    missing: Annotated[bool, typer.Option("--missing", help="only what is missing")] = False,
    as_json: AsJson = False,
) -> None:
    """List the scores that a run of audits still needs, and what they will cost.

    Nothing is scored, and no weights are loaded. The audits are asked: nothing is listed twice.
    """
    from rmaudit.distributed import cost
    from rmaudit.plugin.score_planning import PlanningCache

    found = planned(_words(audits), run, PlanningCache())
    if as_json:
        echo_json(cost.as_json(found, missing=missing))
        return
    for line in cost.lines(found, missing=missing):
        say(line)


@grouped
def sweep(  # noqa: PLR0913  (groups of options)
    audits: Annotated[
        list[Path] | None, typer.Argument(help="files and folders (default: audits)")
    ] = None,
    *,
    run: RunOptions,
    part: Annotated[
        str | None, typer.Option(metavar="K/N", help="only the K-th of N parts, for job arrays")
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="who makes it: this process (here), or Ray's workers (ray, or the address of a "
            "cluster); for a job array see --part and --print",
        ),
    ] = "here",
    array: ArrayOptions,
    workers: Annotated[
        int | None,
        Option(
            "how many workers Ray is given",
            "N",
            f"a positive whole number up to {LARGEST}",
            whole_number_from(1),
            unset="as many as there is room for",
            command="--workers",
        ),
    ] = None,
    gpus: Annotated[
        float | None,
        Option(
            "GPUs of each of Ray's workers",
            "N",
            "a number of GPUs, such as 1 or 0.5",
            text_matching(r"[0-9]{1,6}(\.[0-9]{1,6})?", float),
            unset="1, where there are any",
            command="--gpus",
        ),
    ] = None,
    cpus: Annotated[float, typer.Option(min=0, help="CPUs of each of Ray's workers")] = 1,
    as_json: AsJson = False,
) -> None:
    """Make the scores that a run of audits still needs; `pytest audits` then finds them.

    What is there is not made again.

    Exit code 0 if nothing is missing, 2 if other parts are to make the rest, 3 if some cannot be
    made.
    """
    from rmaudit.distributed import ray_scoring, scoring_rounds
    from rmaudit.distributed.scoring_rounds import part as parsed

    ray = is_ray(on)
    if secret := secret_in(on):
        fail(f"--on: {secret}; {BARE_URL}")
    if on != "here" and not ray:
        message = f"--on {on!r}; write here, ray, or the address of a Ray cluster"
        fail(f"{message}; --print prints a script for a SLURM array")
    if part is not None and (on != "here" or array.show):
        fail("--part is for one process; leave it out with --on and --print")
    if array.show:
        if as_json:
            fail("--json is not for scripts; leave it out with --print")
        _print_script(_words(audits), run, array)
        return
    progress = (lambda _: None) if as_json else say
    mine = None if part is None else parsed(part)
    plans = list(jobs(_words(audits), run))
    cluster = ray_scoring.Cluster(on, workers, gpus, cpus)
    _exit_with_counts(
        ray_scoring.make(plans, cluster, progress)
        if ray
        else scoring_rounds.make(plans, mine, progress),
        as_json=as_json,
    )


def _words(audits: Sequence[Path] | None) -> list[str]:
    return [str(path) for path in audits or ()]


def _print_script(audits: Sequence[str], run: RunOptions, array: ArrayOptions) -> None:
    """Print a script for sbatch whose jobs are the parts of this sweep."""
    from rmaudit.distributed.scoring_rounds import array_script

    more = [entry.partition("=") for entry in array.sbatch or ()]
    if wrong := [name for name, equals, _ in more if not (name and equals)]:
        fail(f"--sbatch {wrong[0]!r}: write NAME=VALUE, such as partition=gpu")
    settings = {name: value for name, _, value in more}
    settings |= {"gres": array.gres} if array.gres else {}
    own = ("rmaudit", "sweep", *audits, *run.words(lambda option: option.command))
    for line in array_script(own, array.parts, settings).splitlines():
        say(line)


def _exit_with_counts(made: scoring_rounds.Made, *, as_json: bool) -> None:
    """Print the counts of scored and missing answers; exit with 3 on failures, 2 if any is left."""
    failed, left = [*made.failed.values()], sum(need.missing for need in made.left)
    rest = f"{left:,} missing" if left else "nothing is missing"
    said = {"scored": made.answers, "left": left, "failed": failed}
    show(said, [f"{made.answers:,} answers scored; {rest}"], as_json=as_json)
    for reason in failed:
        say(reason, err=True)
    if failed:
        raise typer.Exit(ERROR)
    if left and not as_json:
        say("when all parts have ended, run the same again: it makes what is left")
    if left:
        raise typer.Exit(UNDECIDED)


def jobs(audits: Sequence[str], run: RunOptions) -> Iterator[Planned]:
    """Yield, for each model, a function that plans the scores which the run's audits need."""
    from rmaudit.plugin.score_planning import PlanningCache

    registry = known_models(run.registry)
    for name in run.models or [registry.default.name]:
        try:
            specs = resolve(registry, name)
        except SpecError as unknown:  # to whoever reads no conftest.py
            yield partial(_planned_by_pytest, audits, replace(run, models=(name,)), unknown)
            continue
        for own in [name] if len(specs) == 1 else [spec.name for spec in specs]:
            yield partial(planned, audits, replace(run, models=(own,)), PlanningCache())


def _planned_by_pytest(audits: Sequence[str], run: RunOptions, unknown: SpecError) -> Plan:
    """Plan for a model that a conftest.py may declare; raise `unknown` if pytest says the same."""
    from rmaudit.plugin.score_planning import PlanningCache

    try:
        return planned(audits, run, PlanningCache())
    except RmauditError as error:
        same = str(error).partition(";")[0] == str(unknown).partition(";")[0]
        raise unknown if same else error from None


def planned(audits: Sequence[str], run: RunOptions, cache: PlanningCache) -> Plan:
    """Return a plan of the scores that `audits` need; if none, those in audits/ or bundled ones."""
    from rmaudit.plugin.score_planning import collect

    here = _AUDITS if Path(_AUDITS).is_dir() else str(bundled(_AUDITS))
    return collect([*(audits or [here]), *run.words(lambda option: option.pytest)], cache)
