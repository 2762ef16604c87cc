"""The plan of a run: its models, their policy and their blessed releases.

It is made when it is first needed and never changes; a suite without audits makes none. Findings of
a run that asks other prompts than the audits' own, or has word lists of its own, say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rmaudit.config.model_registry import (
    ModelSpec,
    Registry,
    checkpoint_of,
    default_path,
    is_bundled,
    is_hub_id,
    known_models,
    resolve,
)
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import ModelError, SpecError
from rmaudit.plugin.pytest_options import RM_MODEL, options_of, store_of
from rmaudit.prompts import Prompt, listed
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.verdict_policy import Policy

if TYPE_CHECKING:
    from rmaudit.report.releases.blessed_release import Blessing


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Hold what a run audits, and by which rules."""

    own_words: OwnWords  # the run's own prompts, lexicons and language
    registry: Registry | None = None  # models.yaml; None if it cannot be read
    specs: tuple[ModelSpec, ...] = ()  # the models
    error: str = ""  # why no models could be found for the names that were given; "" if they were
    blessed: Mapping[str, Blessing] = field(default_factory=dict)  # releases, by model
    policy: Policy = field(default_factory=Policy)  # of models.yaml and the options
    today: date = field(default_factory=lambda: datetime.now(UTC).date())  # one for all


_PLAN = pytest.StashKey[RunPlan]()
_REGISTRY = pytest.StashKey[Registry]()
_OWN_WORDS = pytest.StashKey[OwnWords]()


def plan_of(config: pytest.Config) -> RunPlan:
    """Return the plan of the run, made once; for a wrong name it has an error and no models."""
    if _PLAN not in config.stash:
        config.stash[_PLAN] = _planned(config)
    return config.stash[_PLAN]


def _planned(config: pytest.Config) -> RunPlan:
    asked, own_words = options_of(config), own_words_of(config)
    plan = RunPlan(own_words)
    try:
        registry = registry_of(config)
        plan = replace(plan, registry=registry)
        meant = {name: resolve(registry, name) for name in asked.models or [registry.default.name]}
        if asked.recorded:
            meant = {name: _recorded(config, name, specs) for name, specs in meant.items()}
        specs = _distinct(spec for each in meant.values() for spec in each)
        blessed = _blessed_releases(specs, config.invocation_params.dir, registry)
    except (SpecError, ModelError) as error:  # a checkpoint may have to say its objectives
        return replace(plan, error=str(error))
    how = {"sampled": asked.sample is not None, "others": bool(own_words.told)}
    return replace(plan, specs=specs, blessed=blessed, policy=_policy(registry, specs, **how))


def own_words_of(config: pytest.Config) -> OwnWords:
    """Return the run's own word lists and prompts: those of models.yaml and of `--rm-prompts`.

    What is wrong in models.yaml is an error only where audits are collected: a suite without any
    needs none.

    Raises:
        pytest.UsageError: the value of `--rm-prompts` is wrong.
    """
    if _OWN_WORDS not in config.stash:
        asked, words = options_of(config), OwnWords()
        if asked.registry or not is_bundled(default_path()):
            with suppress(SpecError):
                words = registry_of(config).words
        if asked.prompts:
            from rmaudit.config.user_prompts_and_lists_yaml import with_run_prompts  # with pydantic

            try:
                words = with_run_prompts(asked.prompts, words)
            except SpecError as error:
                raise pytest.UsageError(f"--rm-prompts: {error}") from None
        config.stash[_OWN_WORDS] = words
    return config.stash[_OWN_WORDS]


def refuse_no_pairs(path: Path, prefix: str = "") -> None:
    """Raise if a file has no pairs of answers, a malformed line or an unknown kind of conduct.

    Raises:
        pytest.UsageError: the file is wrong; the message begins with `prefix`.
    """
    from rmaudit.scores.pair_files import conduct_pairs, read

    refuse_wrong(lambda: conduct_pairs(read(path)), prefix)


def refuse_wrong(read: Callable[[], object], prefix: str) -> None:
    """Call `read`, which reads a file; turn its `SpecError` into a usage error.

    Raises:
        pytest.UsageError: the file is wrong; the message begins with `prefix`.
    """
    try:
        read()
    except SpecError as error:
        raise pytest.UsageError(f"{prefix}{error}") from None


def _blessed_releases(
    specs: Sequence[ModelSpec], here: Path, registry: Registry
) -> Mapping[str, Blessing]:
    """Return the blessed (approved) releases of models, from blessed/ beside models.yaml.

    Raises:
        SpecError: a file is damaged or of another family.
    """
    folder = here if is_bundled(registry.path) else registry.path.parent
    if not (folder / "blessed").is_dir():
        return {}
    from rmaudit.report.releases import blessed_release  # which takes numpy and pydantic

    return blessed_release.find_blessed(specs, folder)


def _policy(
    registry: Registry, specs: Sequence[ModelSpec], *, sampled: bool, others: bool
) -> Policy:
    """Return the rules for verdicts of models.yaml; `others` is whether the words are a user's.

    Rules for a model hold for its entry, not for another checkpoint of the same name: `Policy.of`
    notices another source, and findings say so.
    """
    said = registry.policy
    return replace(
        said,
        models={
            spec.name: said.models[spec.name]
            for spec in specs
            if spec.name in said.models
            and (registered(spec, registry) or said.sources.get(spec.name) != spec.source)
        },
        sampled=sampled,
        others=others,
    )


def model_option_value(spec: ModelSpec, registry: Registry | None) -> str:
    """Return the value of `--model` for a model: its name, or its source if it has no entry.

    A folder with the same name as an entry is not that entry: its source is its whole path.
    """
    plain = checkpoint_of(spec)
    entry = registry.models.get(plain.name) if registry else None
    known = registered(spec, registry) or (entry and replace(entry, default=False) == plain)
    if spec.objective is None or registered(spec, registry):
        return spec.name if known else spec.source
    return f"{plain.name if known else plain.source}#{spec.objective}"


def registered(spec: ModelSpec, registry: Registry | None) -> bool:
    """Return whether the model equals the registry's entry of the same name."""
    return registry is not None and registry.models.get(spec.name) == spec


def _recorded(config: pytest.Config, name: str, specs: list[ModelSpec]) -> list[ModelSpec]:
    """Return those models of a glob that can be recorded; warn of those that are left out.

    These are models that the paper ranks, imported ones, and those that have no hub id. A name of
    one model always means this model.
    """
    if len(specs) == 1:
        return specs
    from rmaudit.scores.score_store import counts

    kept = counts(store_of(config))
    left = [
        spec
        for spec in specs
        if is_hub_id(spec.source) and not (spec.rewardbench_rank or kept[spec.source].recorded)
    ]
    if left:
        message = (
            f"{RM_MODEL} {name!r} --rm-recorded: left out {len(left)} of {len(specs)} models, of "
            f"which no scores are published or imported: {', '.join(spec.name for spec in left)}"
        )
        config.issue_config_time_warning(pytest.PytestWarning(message), stacklevel=2)
    return [spec for spec in specs if spec not in left] or specs


def baseline_spec(config: pytest.Config) -> ModelSpec | None:
    """Return the model of `--rm-baseline`; None without the option.

    Raises:
        pytest.UsageError: the name means no model, or several.
    """
    name = options_of(config).baseline
    if not name:
        return None
    try:
        specs = resolve(registry_of(config), name)
    except SpecError as error:
        raise pytest.UsageError(f"--rm-baseline: {error}") from None
    if len(specs) != 1:
        message = f"--rm-baseline: {name!r} means {len(specs)} models; name one"
        raise pytest.UsageError(message)
    return specs[0]


def registry_of(config: pytest.Config) -> Registry:
    """Return the models.yaml of the run, which is read once."""
    if _REGISTRY not in config.stash:
        config.stash[_REGISTRY] = known_models(options_of(config).registry)
    return config.stash[_REGISTRY]


def _distinct(specs: Iterable[ModelSpec]) -> tuple[ModelSpec, ...]:
    """Return each model once; raise if two different models have the same name."""
    found: dict[str, ModelSpec] = {}
    for spec in specs:
        other = found.setdefault(spec.name, spec)
        if other != spec:
            message = f"two models are called {spec.name!r}: {other.source} and {spec.source}; "
            raise SpecError(message + "give them names in models.yaml, or audit one at a time")
    return tuple(found.values())


def report_folder(config: pytest.Config) -> Path:
    """Return the folder of `--rm-report`, else `reports` in the current directory."""
    here: Path = config.invocation_params.dir
    return options_of(config).report or here / "reports"


def runs_of(declaration: Declaration, own_words: OwnWords) -> list[tuple[Prompt, ...]]:
    """Return the prompts of each measurement of an audit: the run's own, or else the audit's."""
    asked = own_words.asked
    return declaration.instead(asked) if asked else declaration.runs


def refusal(declaration: Declaration, prompts: tuple[Prompt, ...], own_words: OwnWords) -> str:
    """Return why an audit cannot be run under these prompts; "" if it can."""
    if not own_words.asked or prompts in declaration.runs:
        return ""
    return declaration.refusal(own_words.asked)


def comparable(declaration: Declaration, prompts: tuple[Prompt, ...], own_words: OwnWords) -> bool:
    """Return whether published models' findings rest on the same prompts and words as this run."""
    return not own_words.others and prompts in declaration.runs


def asked_instead(
    declaration: Declaration, prompts: tuple[Prompt, ...], words: OwnWords
) -> list[str]:
    """Return a caveat (in a list) that quotes the run's prompts; [] for the audit's own prompts."""
    if not words.asked or prompts in declaration.runs:
        return []
    texts = "; ".join(f"{prompt.name} (frame {prompt.frame}): {prompt.text}" for prompt in prompts)
    own = listed(prompt.name for prompt in declaration.prompts)
    return [f"Asked other prompts than its own ({own}), of {words.source or 'rmaudit'}: {texts}"]
