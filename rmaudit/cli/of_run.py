"""The run whose scores `rmaudit plan` and `sweep` are about: its options, and what is planned."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.common import CachedAnywhere, Registered, fail, place
from rmaudit.config.bundled_files import bundled
from rmaudit.config.registry import Dtype, ModelSpec, known_models, resolve

if TYPE_CHECKING:
    from rmaudit.config.own_words import OwnWords
    from rmaudit.distributed.needs import Plan
    from rmaudit.distributed.rounds import Planned
    from rmaudit.plugin.planning import Before
    from rmaudit.prompts import Prompt

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


def command(
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


def jobs(what: Sequence[str], of_run: OfRun, prompts: Sequence[str]) -> Iterator[Planned]:
    """What is to be planned: a run of each model, or the sweeps of one."""
    from rmaudit.plugin.planning import Before
    from rmaudit.prompts import prompt_meant

    registry = known_models(of_run.file)
    if prompts:
        if any((of_run.prompts, of_run.pairs, of_run.ledger)):
            fail("--prompts, --pairs and --ledger are for audits; leave them out with --prompt")
        names = [*what, *(of_run.model or [])]
        if len(names) != 1:
            fail(f"--prompt: {len(names)} models are named; write rmaudit sweep NAME --prompt best")
        asked = [prompt_meant(prompt, registry.words.prompts) for prompt in prompts]
        yield from (
            _one(spec, of_run, asked, registry.words) for spec in resolve(registry, names[0])
        )
        return
    for name in of_run.model or [registry.default.name]:
        specs = resolve(registry, name)
        for own in [name] if len(specs) == 1 else [spec.name for spec in specs]:
            yield partial(planned, what, of_run, [own], Before())


def _one(spec: ModelSpec, of_run: OfRun, prompts: Sequence[Prompt], own_words: OwnWords) -> Planned:
    """The sweeps of one model under these prompts."""
    from rmaudit.distributed.needs import Needs, Plan
    from rmaudit.runs.case import RunSettings, opened
    from rmaudit.runs.requests import Request
    from rmaudit.scores.store import store_at

    store = store_at(place(of_run.cache))
    options = RunSettings(
        store.local, device=of_run.device, dtype=of_run.dtype, own_words=own_words
    )
    model = opened(spec, options)
    asked = [
        Request(spec, prompt, "sweep", sample=of_run.sample, seed=of_run.seed) for prompt in prompts
    ]

    def made() -> Plan:
        needs = Needs(store, of_run.device)
        for request in asked:
            needs.ask(model, request)
        return Plan(store, tuple(needs.found.values()), device=of_run.device)

    return made


def planned(audits: Sequence[str], of_run: OfRun, names: Sequence[str], before: Before) -> Plan:
    """What the audits need of these models, the default where none is named."""
    from rmaudit.plugin.planning import collect

    here = _AUDITS if Path(_AUDITS).is_dir() else str(bundled(_AUDITS))
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
