"""rmaudit organism and selftest: models with known flaws, and what the audits find of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmaudit.cli.shared_options import FAILED, AsJson, Cached, echo_json, ending_on_failure, say
from rmaudit.config.model_registry import FILE
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.errors import SpecError

if TYPE_CHECKING:
    from rmaudit.organisms.selftest import Bench, BenchOutcome, Judged
    from rmaudit.organisms.word_organisms import Traits

_PART = 10  # runs that a process does at a time
_KINDS = {"clean": "no flaw", "published": "traits of the size of the ten published models'"}


def organism(
    name: Annotated[str, typer.Argument(help="its name; a wrong one lists all")],
    cache: Cached = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Build a model with a known flaw, or with no flaw.

    In `fair` no flaw was planted; each of the others fails at least one gate.
    The path of its registry is printed, for `pytest audits --rm-models PATH`.
    """
    from rmaudit.organisms import trained_organisms

    with ending_on_failure():
        registry = trained_organisms.build(name, cache or default_cache()) / FILE
    if as_json:
        echo_json({"name": name, "registry": str(registry)})
    else:
        say(registry)


def selftest(  # noqa: PLR0913  (its options)
    audits: Annotated[Path, typer.Argument(help="the folder of the audits")] = Path("audits"),
    seeds: Annotated[int, typer.Option(min=2, help="organisms of each kind")] = 200,
    jobs: Annotated[int, typer.Option(min=1, help="processes")] = 1,
    *,
    only: Annotated[
        list[str] | None, typer.Option("--audit", help="an audit whose flaws alone are tried")
    ] = None,
    model: Annotated[str, typer.Option(help="whose vocabulary organisms score")] = "R-Smol-135M",
    out: Annotated[Path | None, typer.Option(help="a folder for selftest.md, .json, .svg")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how many of the planted flaws the audits find.

    Whole runs of organisms without a flaw, and the runs of each flaw at its stated size and where
    it puts the audit's value around its bound: the share that is blocked, and that fails. With
    --audit these flaws alone are tried, and with --out they replace those of the folder's page.
    Exit code 0 if all are as stated, 1 if one is not.
    """
    with ending_on_failure():
        bench = _bench(audits, model)
        outcomes = []
        for outcome in _outcomes(bench, seeds, jobs, only or []):
            outcomes.append(outcome)
            if not as_json:
                say(_line(outcome))
    if out is not None:
        from rmaudit.report.charts import selftest_results

        out.mkdir(parents=True, exist_ok=True)
        before = [one for one in selftest_results.read(out) if one.kind not in only] if only else []
        selftest_results.write([*before, *outcomes], out)
        if not as_json:
            say(", ".join(str(out / name) for name in selftest_results.FILES))
    if as_json:
        echo_json([{**asdict(one), "as_stated": one.as_stated} for one in outcomes])
    if wrong := [outcome for outcome in outcomes if outcome.as_stated is False]:
        from rmaudit.organisms.selftest import FAILED as BY_FAIL
        from rmaudit.organisms.selftest import FALSE_ALARMS, FOUND

        kinds = ", ".join(dict.fromkeys(outcome.kind for outcome in wrong))
        say(
            f"{len(wrong)} of {len(outcomes)} kinds are not judged as stated ({kinds}): "
            f"{FOUND:.0%} of the runs with the stated flaw are to be blocked, {BY_FAIL:.0%} by "
            f"FAIL, and at most {FALSE_ALARMS:.0%} of those without it",
            err=True,
        )
        raise typer.Exit(FAILED)


def _bench(audits: Path, model: str) -> Bench:
    import pandas as pd

    from rmaudit.models.model_factory import checkpoint
    from rmaudit.organisms.selftest import Bench
    from rmaudit.references import References
    from rmaudit.runs.synthetic_scorer_trials import thinned

    vocabulary = checkpoint(model).vocabulary()
    frame = pd.DataFrame(
        {
            "token_id": list(vocabulary.ids),
            "token": list(vocabulary.pieces),
            "text": list(vocabulary.texts),
        }
    )
    return Bench(audits, thinned(frame), References())


def _outcomes(bench: Bench, seeds: int, jobs: int, only: Sequence[str]) -> Iterator[BenchOutcome]:
    """Run the self-test in `jobs` processes; yield its outcomes in order, each as it is done.

    The number of processes does not affect results. `seeds` is the number of runs of each kind.
    With `only`, the flaws of these audits alone are tried.
    """
    from rmaudit.organisms import invariance_selftest
    from rmaudit.organisms import selftest as test

    for name in only:
        bench.audit(name)
    traits, changes = (
        [(audit, flaw) for audit, flaw in bench.flaws(traits=own) if audit in only or not only]
        for own in (True, False)
    )
    if not [*traits, *changes]:
        message = (
            f"{bench.audits}: no audit of this folder declares flaws=[...], so there is nothing"
        )
        raise SpecError(f"{message} to find; give the folder of audits that declare some")
    with ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext() as pool:
        run: Callable[..., Iterator[Any]] = pool.map if pool else map
        wholes = () if only else (("clean", test.CLEAN), ("published", test.PUBLISHED))
        for kind, clean in wholes:
            parts = [range(first, min(first + _PART, seeds)) for first in range(0, seeds, _PART)]
            tasks = [(_judged_runs, bench, clean, part) for part in parts]
            runs = [one for part in run(_call, tasks) for one in part]
            yield test.counted(kind, _KINDS[kind], runs)
        found = list(run(_call, [(test.sizes, bench, audit, flaw) for audit, flaw in traits]))
        few = max(seeds // 4, 2)
        rungs = [
            (test.ladder, bench, audit, flaw, at, size, range(seeds if at == "stated" else few))
            for (audit, flaw), sizes in zip(traits, found, strict=True)
            for at, size in sizes.items()
        ]
        yield from run(_call, rungs)
        outcomes = invariance_selftest.outcomes
        pairs = [(outcomes, bench, audit, flaw, range(seeds)) for audit, flaw in changes]
        for pair in run(_call, pairs):
            yield from pair


def _call(task: tuple[Any, ...]) -> Any:  # noqa: ANN401  (whatever the function returns)
    """Call the first entry of a task with the others, as a process of a pool is to do."""
    function, *arguments = task
    return function(*arguments)


def _judged_runs(bench: Bench, traits: Traits, seeds: Sequence[int]) -> list[Judged]:
    from rmaudit.organisms.selftest import judged

    return [judged(bench, traits, seed) for seed in seeds]


def _line(outcome: BenchOutcome) -> str:
    """Format a self-test outcome: flaw, number of runs, shares of blocked and of failed runs."""
    what = f"{outcome.kind:<20}{outcome.said:<46}{outcome.at:<18}"
    value = "" if outcome.value is None else f"  value {outcome.value:+.3f}"
    shares = f"blocked {100 * outcome.blocked:5.1f} %  FAIL {100 * outcome.failed:5.1f} %"
    by = ", ".join(f"{audit} {100 * share:.1f} %" for audit, share in outcome.by)
    by = f"  ({by})" if by and not outcome.at else ""
    return f"{what}{outcome.runs:>4} runs  {shares}{value}{by}"
