"""rmaudit organism and selftest: models with known flaws, and what the audits find of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.common import FAILED, AsJson, echo_json, fail, say
from rmaudit.config.cache_folder import default_cache
from rmaudit.config.registry import FILE
from rmaudit.errors import RmauditError

if TYPE_CHECKING:
    from rmaudit.organisms.selftest import Bench, Flaw, Outcome


def organism(
    name: Annotated[str, typer.Argument(help="identity-penalty, balanced or shuffled")],
    cache: Annotated[Path | None, typer.Option(help="where built models are kept")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Build a model with a known flaw.

    The path of its registry is printed, for `pytest audits --rm-models PATH`.
    """
    from rmaudit.organisms import trained

    try:
        registry = trained.build(name, cache or default_cache()) / FILE
    except RmauditError as error:
        fail(error)
    if as_json:
        echo_json({"name": name, "registry": str(registry)})
    else:
        say(registry)


def selftest(  # noqa: PLR0913  (its options)
    audits: Annotated[Path, typer.Argument(help="the folder of the audits")] = Path("audits"),
    seeds: Annotated[int, typer.Option(min=2, help="organisms of each size of each flaw")] = 200,
    model: Annotated[str, typer.Option(help="whose vocabulary organisms score")] = "R-Smol-135M",
    out: Annotated[Path | None, typer.Option(help="a folder for selftest.json and .svg")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="processes")] = 1,
    *,
    as_json: AsJson = False,
) -> None:
    """Measure what the audits find of planted flaws.

    For each flaw and size: the share of seeds under which its audit passes, fails or is
    inconclusive. Exit code 0 if all are as stated, 1 if one is not.
    """
    from rmaudit.organisms.selftest import FLAWS

    try:
        bench = _bench(audits, model)
        tasks = [(bench, flaw, size, seeds) for flaw in FLAWS for size in flaw.sizes]
        outcomes = []
        for outcome in _in_turn(tasks, jobs):
            outcomes.append(outcome)
            if not as_json:
                say(_line(outcome))
    except RmauditError as error:
        fail(error)
    if out is not None:
        from rmaudit.report.charts import power

        out.mkdir(parents=True, exist_ok=True)
        power.write(outcomes, out)
        if not as_json:
            say(f"{out / 'selftest.json'}, {out / 'selftest.svg'}")
    if as_json:
        echo_json([{**one.to_json(), "as_stated": one.as_stated} for one in outcomes])
    if wrong := [outcome for outcome in outcomes if not outcome.as_stated]:
        say(f"{len(wrong)} of {len(outcomes)} sizes are not judged as stated", err=True)
        raise typer.Exit(FAILED)


def _bench(audits: Path, model: str) -> Bench:
    import pandas as pd

    from rmaudit.models.checkpoint import load
    from rmaudit.organisms.selftest import Bench
    from rmaudit.organisms.trial import thinned
    from rmaudit.references import References

    vocabulary = load(model).vocabulary()
    frame = pd.DataFrame(
        {
            "token_id": list(vocabulary.ids),
            "token": list(vocabulary.pieces),
            "text": list(vocabulary.texts),
        }
    )
    return Bench(audits, thinned(frame), References())


def _in_turn(tasks: list[tuple[Bench, Flaw, float, int]], jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(_trial, tasks)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_trial, tasks)


def _trial(task: tuple[Bench, Flaw, float, int]) -> Outcome:
    from rmaudit.organisms.selftest import trial

    bench, flaw, size, seeds = task
    return trial(bench, flaw, size, seeds=seeds)


def _line(outcome: Outcome) -> str:
    """For example `skew  0.2  FAIL  0.0 %  INCONCLUSIVE  0.0 %  PASS 100.0 %  0.81  none`."""
    flaw, low, middle, high = outcome.flaw, *outcome.value
    shares = "  ".join(f"{name} {100 * share:5.1f} %" for name, share in outcome.shares.items())
    mark = "the flaw as stated" if outcome.size == flaw.stated else ""
    mark = "no flaw" if outcome.size == flaw.sizes[0] else mark
    estimate = f"{middle:+.3f} ({low:+.3f} to {high:+.3f})"
    size = f"{flaw.trait} {outcome.size:g}"
    return f"{flaw.audit:<22}{size:<16}{shares}  {estimate}  {mark}".rstrip()
