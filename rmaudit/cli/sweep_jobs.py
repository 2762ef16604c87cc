"""What `rmaudit sweep` makes: the scores of a run, planned for each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rmaudit.cli.common import fail, place
from rmaudit.config.local_files import bundled
from rmaudit.config.registry import ModelSpec, known_models, resolve
from rmaudit.runs.options import RunOptions

if TYPE_CHECKING:
    from rmaudit.config.own_words import OwnWords
    from rmaudit.distributed.needs import Plan
    from rmaudit.distributed.rounds import Planned
    from rmaudit.plugin.planning import PlanningCache
    from rmaudit.prompts import Prompt

_AUDITS = "audits"


def command(what: Sequence[str], run: RunOptions, prompts: Sequence[str]) -> tuple[str, ...]:
    """Return the command of a sweep, as a person types it."""
    options = run.words(lambda option: option.command)
    return ("rmaudit", "sweep", *what, *options, *(f"--prompt={prompt}" for prompt in prompts))


def jobs(what: Sequence[str], run: RunOptions, prompts: Sequence[str]) -> Iterator[Planned]:
    """Yield what plans the scores of one model: those of a run, or its sweeps under `prompts`."""
    from rmaudit.plugin.planning import PlanningCache
    from rmaudit.prompts import prompt_meant

    registry = known_models(run.registry)
    if prompts:
        if any((run.prompts, run.pairs, run.samples, run.ledger)):
            given = "--prompts, --pairs, --samples and --ledger"
            fail(f"{given} are for audits; leave them out with --prompt")
        names = [*what, *run.models]
        if len(names) != 1:
            fail(f"--prompt: {len(names)} models are named; write rmaudit sweep NAME --prompt best")
        asked = [prompt_meant(prompt, registry.words.prompts) for prompt in prompts]
        yield from (_one(spec, run, asked, registry.words) for spec in resolve(registry, names[0]))
        return
    for name in run.models or [registry.default.name]:
        specs = resolve(registry, name)
        for own in [name] if len(specs) == 1 else [spec.name for spec in specs]:
            yield partial(planned, what, replace(run, models=(own,)), PlanningCache())


def _one(
    spec: ModelSpec, run: RunOptions, prompts: Sequence[Prompt], own_words: OwnWords
) -> Planned:
    """Return what plans the sweeps of one model under these prompts."""
    from rmaudit.distributed.needs import Needs, Plan
    from rmaudit.runs.case import RunSettings, opened
    from rmaudit.runs.requests import Request
    from rmaudit.scores.store import store_at

    store = store_at(place(run.cache))
    options = RunSettings(store.local, device=run.device, dtype=run.dtype, own_words=own_words)
    model = opened(spec, options)
    asked = [Request(spec, prompt, "sweep", sample=run.sample, seed=run.seed) for prompt in prompts]

    def made() -> Plan:
        needs = Needs(store, run.device)
        for request in asked:
            needs.ask(model, request)
        return Plan(store, tuple(needs.found.values()), device=run.device)

    return made


def planned(audits: Sequence[str], run: RunOptions, cache: PlanningCache) -> Plan:
    """Return what the audits need of the models of a run, the default where none is named."""
    from rmaudit.plugin.planning import collect

    here = _AUDITS if Path(_AUDITS).is_dir() else str(bundled(_AUDITS))
    return collect([*(audits or [here]), *run.words(lambda option: option.pytest)], cache)
