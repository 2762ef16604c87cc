"""What `rmaudit sweep` makes: the scores of a run, planned for each model."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rmaudit.cli.common import fail, place
from rmaudit.config.brought import brought
from rmaudit.config.registry import ModelSpec, known_models, resolve
from rmaudit.runs.options import RunOptions

if TYPE_CHECKING:
    from rmaudit.distributed.making import Planned
    from rmaudit.distributed.needs import Plan
    from rmaudit.plugin.planning import PlanningCache

_AUDITS = "audits"


def command(
    what: Sequence[str], run: RunOptions, prompts: Sequence[str], *, printed: bool
) -> tuple[str, ...]:
    """Return the command of a sweep: for people where it is `printed`, else for this Python."""
    program = ["rmaudit"] if printed else [sys.executable, "-m", "rmaudit.cli"]
    options = run.words(lambda option: option.command)
    return (*program, "sweep", *what, *options, *(f"--prompt={prompt}" for prompt in prompts))


def jobs(what: Sequence[str], run: RunOptions, prompts: Sequence[str]) -> Iterator[Planned]:
    """Yield what plans the scores of one model: those of a run, or its sweeps under `prompts`."""
    from rmaudit.plugin.planning import PlanningCache

    registry = known_models(run.registry)
    if prompts:
        if any((run.prompts, run.pairs, run.ledger)):
            fail("--prompts, --pairs and --ledger are for audits; leave them out with --prompt")
        names = [*what, *run.models]
        if len(names) != 1:
            fail(f"--prompt: {len(names)} models are named; write rmaudit sweep NAME --prompt best")
        yield from (_one(spec, run, prompts) for spec in resolve(registry, names[0]))
        return
    for name in run.models or [registry.default.name]:
        specs = resolve(registry, name)
        for own in [name] if len(specs) == 1 else [spec.name for spec in specs]:
            yield partial(planned, what, replace(run, models=(own,)), PlanningCache())


def _one(spec: ModelSpec, run: RunOptions, prompts: Sequence[str]) -> Planned:
    """Return what plans the sweeps of one model under these prompts."""
    from rmaudit.distributed.needs import Needs, Plan
    from rmaudit.organisms.for_model import Options, opened
    from rmaudit.organisms.requests import Request
    from rmaudit.prompts import prompt_meant
    from rmaudit.scores.store import store_at

    store = store_at(place(run.cache))
    options = Options(store.local, device=run.device, dtype=run.dtype)
    model = opened(spec, options)
    asked = [
        Request(spec, prompt_meant(prompt), "sweep", sample=run.sample, seed=run.seed)
        for prompt in prompts
    ]

    def made() -> Plan:
        needs = Needs(store, run.device)
        for request in asked:
            needs.ask(model, request)
        return Plan(store, tuple(needs.found.values()), device=run.device)

    return made


def planned(audits: Sequence[str], run: RunOptions, cache: PlanningCache) -> Plan:
    """Return what the audits need of the models of a run, the default where none is named."""
    from rmaudit.plugin.planning import collect

    here = _AUDITS if Path(_AUDITS).is_dir() else str(brought(_AUDITS))
    return collect([*(audits or [here]), *run.words(lambda option: option.pytest)], cache)
