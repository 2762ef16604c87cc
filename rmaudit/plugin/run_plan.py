"""Plan a run: its options, models, policy, blessed releases, own words and cache.

Findings of a run that asks other prompts than the audits' own, or has word lists of its own, say
so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO, cast

import pytest

from rmaudit.checkpoints.adapter_files import refuse_missing_base
from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import (
    ModelSpec,
    Registry,
    default_path,
    is_bundled,
    is_hub_id,
    known_models,
)
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import ModelError, SpecError, StoreError
from rmaudit.runs.run_options import OPTIONS, RunOptions
from rmaudit.verdicts.verdict_policy import Policy

if TYPE_CHECKING:
    from rmaudit.models.model_interfaces import Scored
    from rmaudit.report.releases.blessed_release import Blessing
    from rmaudit.runs.audit_case import RunSettings
    from rmaudit.runs.run_scores import Request
    from rmaudit.scores.score_store import Store

RM_MODEL = OPTIONS["models"].pytest
PLANNER = "rmaudit-planner"  # the plugin of a pytest that plans


@dataclass(frozen=True, slots=True)
class Caller:
    """A program that runs pytest in its own process, by `rmaudit.run`."""

    progress: TextIO  # where progress goes, as pytest's terminal is not shown
    pages: bool  # whether the report's pages are written
    functions: Mapping[Path, Sequence[str]]  # the audits that it declared, by their temporary file


CALLER = pytest.StashKey[Caller]()


class RunPlanner(Protocol):
    """Interface of a dry run: it notes requests for scores and answers them with random numbers."""

    def opened(self, spec: ModelSpec, options: RunSettings) -> Scored:
        """Open a model without its weights."""

    def on_request(self, model: Scored, request: Request) -> None:
        """Note which scores an audit requests, before the request is answered."""

    def watch(self, store: Store, device: str) -> Store:
        """Return a store that wraps `store` and notes which scores are missing there.

        `device` is where a base model runs.
        """

    def note(self, item: pytest.Function) -> None:
        """Run an audit to note the scores that it requests itself, besides those of fixtures."""


class _RunModels(NamedTuple):
    """The models of a run, and their blessed releases; or why there are none, as `error`."""

    specs: tuple[ModelSpec, ...] = ()
    blessed: Mapping[str, Blessing] = {}
    error: str = ""


@dataclass(frozen=True, eq=False)
class RunPlan:
    """What a run audits, and by which rules.

    Each part is worked out when it is first read, and never changes: a suite without audits reads
    the options alone. A wrong option is a `pytest.UsageError` where it is read.
    """

    config: pytest.Config
    today: date = field(default_factory=lambda: datetime.now(UTC).date())  # one for all

    @cached_property
    def options(self) -> RunOptions:
        """Return the options of this run."""
        given = {name: self.config.getoption(one.pytest) for name, one in OPTIONS.items()}
        for name, value in given.items():
            if value == [] or (isinstance(value, list) and [] in value):  # argparse drops the value
                raise pytest.UsageError(f"{OPTIONS[name].pytest}: '--' is no value; write './--'")
        try:
            return RunOptions.of(given, lambda name: OPTIONS[name].pytest)
        except SpecError as error:
            raise pytest.UsageError(str(error)) from None

    @property
    def caller(self) -> Caller | None:
        """Return the program that called `rmaudit.run`; None in a run from the command line."""
        return self.config.stash.get(CALLER, None)

    @property
    def planner(self) -> RunPlanner | None:
        """Return the plugin that plans a dry run (`rmaudit plan`); None in a run that measures."""
        return cast("RunPlanner | None", self.config.pluginmanager.get_plugin(PLANNER))

    @cached_property
    def own_words(self) -> OwnWords:
        """Return the run's own word lists and prompts: of models.yaml and of `--rm-prompts`.

        What is wrong in models.yaml is an error only where audits are collected: a suite without
        any needs none.
        """
        words = OwnWords()
        if self.options.registry or not is_bundled(default_path()):
            with suppress(SpecError):
                words = self.registry.words
        if not self.options.prompts:
            return words
        from rmaudit.config.user_prompts_and_lists_yaml import with_run_prompts  # with pydantic

        try:
            return with_run_prompts(self.options.prompts, words)
        except SpecError as error:
            raise pytest.UsageError(f"--rm-prompts: {error}") from None

    @cached_property
    def registry(self) -> Registry:
        """Return the models of models.yaml; raise `SpecError` if it cannot be read."""
        return known_models(self.options.registry)

    @property
    def specs(self) -> tuple[ModelSpec, ...]:
        """Return the models; none where `error` says why."""
        return self._models.specs

    @property
    def blessed(self) -> Mapping[str, Blessing]:
        """Return the blessed (approved) releases, by model: of blessed/ beside models.yaml."""
        return self._models.blessed

    @property
    def error(self) -> str:
        """Return why no models could be found for the names that were given; "" if they were."""
        return self._models.error

    @cached_property
    def _models(self) -> _RunModels:
        try:
            names = self.options.models or [self.registry.default.name]
            meant = {name: resolve(self.registry, name) for name in names}
            if self.options.recorded:
                meant = {name: self._with_scores(name, specs) for name, specs in meant.items()}
            specs = _distinct(spec for each in meant.values() for spec in each)
            if len(specs) == 1:  # of several models, the others are audited
                refuse_missing_base(Path(specs[0].source), model=specs[0].name)
            return _RunModels(specs, self._blessed_releases(specs))
        except (SpecError, ModelError) as error:  # a checkpoint may have to say its objectives
            return _RunModels(error=str(error))

    def _with_scores(self, name: str, specs: list[ModelSpec]) -> list[ModelSpec]:
        """Return those models of a glob that can be recorded; warn of those that are left out.

        These are models that the paper ranks, imported ones, and those that have no hub id. A name
        of one model always means this model.
        """
        if len(specs) == 1:
            return specs
        from rmaudit.scores.score_store import counts

        there = counts(self.store)
        left = [
            spec
            for spec in specs
            if is_hub_id(spec.source) and not (spec.rewardbench_rank or there[spec.source].recorded)
        ]
        if left:
            message = (
                f"{RM_MODEL} {name!r} --rm-recorded: left out {len(left)} of {len(specs)} models, "
                f"of which no scores are published or imported: "
                f"{', '.join(spec.name for spec in left)}"
            )
            self.config.issue_config_time_warning(pytest.PytestWarning(message), stacklevel=2)
        return [spec for spec in specs if spec not in left] or specs

    def _blessed_releases(self, specs: Sequence[ModelSpec]) -> Mapping[str, Blessing]:
        """Return the models' blessed releases; raise `SpecError` for a damaged or foreign file."""
        path = self.registry.path
        folder = self.config.invocation_params.dir if is_bundled(path) else path.parent
        if not (folder / "blessed").is_dir():
            return {}
        from rmaudit.report.releases import blessed_release  # which takes numpy and pydantic

        return blessed_release.find_blessed(specs, folder)

    @cached_property
    def policy(self) -> Policy:
        """Return the rules for verdicts: of models.yaml and of the options; none with an `error`.

        Rules for a model hold for its entry, not for another checkpoint of the same name:
        `Policy.of` notices another source, and findings say so.
        """
        if self.error:
            return Policy()
        said = self.registry.policy
        return replace(
            said,
            models={
                spec.name: said.models[spec.name]
                for spec in self.specs
                if spec.name in said.models
                and (self.registry.has(spec) or said.sources.get(spec.name) != spec.source)
            },
            sampled=self.options.sample is not None,
            others=bool(self.own_words.told),
        )

    @property
    def baseline(self) -> ModelSpec | None:
        """Return the model of `--rm-baseline`, which must mean one; None without the option."""
        name = self.options.baseline
        if not name:
            return None
        try:
            specs = resolve(self.registry, name)
        except SpecError as error:
            raise pytest.UsageError(f"--rm-baseline: {error}") from None
        if len(specs) != 1:
            message = f"--rm-baseline: {name!r} means {len(specs)} models; name one"
            raise pytest.UsageError(message)
        return specs[0]

    @property
    def report(self) -> Path:
        """Return the folder of `--rm-report`, else `reports` in the run's folder."""
        return self.options.report or self.config.invocation_params.dir / "reports"

    @property
    def cache_url(self) -> str:
        """Return the URL of `--rm-cache`; "" where that is a folder, or not given."""
        given = self.options.cache or ""
        return given if "://" in given else ""

    @property
    def cache(self) -> Path:
        """Return the folder of `--rm-cache`; the default cache if that is not given or is a URL."""
        given = self.options.cache
        return Path(given) if given and not self.cache_url else default_cache()

    @cached_property
    def store(self) -> Store:
        """Return the store of the run's scores, at the URL or in the folder of the cache.

        Raises:
            pytest.UsageError: the URL cannot be used, or a package for it is missing.
        """
        from rmaudit.scores.score_store import Store

        try:
            store = Store(self.cache_url or self.cache)
        except StoreError as error:
            raise pytest.UsageError(f"--rm-cache: {error}") from None
        return self.planner.watch(store, self.options.device) if self.planner else store


_PLAN = pytest.StashKey[RunPlan]()


def plan_of(config: pytest.Config) -> RunPlan:
    """Return the plan of the run."""
    return config.stash.setdefault(_PLAN, RunPlan(config))


def _distinct(specs: Iterable[ModelSpec]) -> tuple[ModelSpec, ...]:
    """Return each model once; raise if two different models have the same name."""
    found: dict[str, ModelSpec] = {}
    for spec in specs:
        other = found.setdefault(spec.name, spec)
        if other != spec:
            message = f"two models are called {spec.name!r}: {other.source} and {spec.source}; "
            raise SpecError(message + "give them names in models.yaml, or audit one at a time")
    return tuple(found.values())
