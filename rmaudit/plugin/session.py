"""State of one pytest process: its models, the policy (rules for verdicts), and the findings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from rmaudit.config.model_registry import (
    ModelSpec,
    Registry,
    checkpoint_of,
    is_bundled,
    is_hub_id,
    known_models,
    resolve,
)
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import ModelError, SpecError
from rmaudit.interrupts import TERMINATED, Terminated
from rmaudit.plugin.pytest_options import RM_MODEL, cache_folder, options_of, planner_of, store_of
from rmaudit.plugin.selected_audits import SelectedAudits
from rmaudit.runs.audit_case import Memory, RunSettings
from rmaudit.verdicts.findings import Control, Figure, Finding
from rmaudit.verdicts.run_verdict import RunVerdict
from rmaudit.verdicts.verdict_policy import Policy

if TYPE_CHECKING:
    from rmaudit.report.releases.blessed_release import Blessing
    from rmaudit.report.results_document import Results


@dataclass(slots=True)
class Session:
    """The state of one pytest process: models, policy, options, and the findings so far."""

    specs: list[ModelSpec] | None = None
    registry: Registry | None = None
    blessed: Mapping[str, Blessing] = field(default_factory=dict)  # by model
    own_words: OwnWords = field(default_factory=OwnWords)
    today: date = field(default_factory=lambda: datetime.now(UTC).date())  # one for the whole run
    error: str = ""  # why no models could be found for the names that were given
    options: RunSettings | None = None
    memory: Memory = field(default_factory=Memory)
    controls: dict[Hashable, Mapping[str, Control]] = field(default_factory=dict)  # by all of it
    digests: dict[str, str] = field(default_factory=dict)  # of swept tokens, by keys and words
    plan: SelectedAudits = field(default_factory=SelectedAudits)
    words: tuple[str, ...] = ()  # what the selected audits name, for a sample
    carried: dict[str, str] = field(default_factory=dict)  # findings as JSON text, by test
    findings: list[Finding] = field(default_factory=list)  # at the end, decided
    figures: list[Figure] = field(default_factory=list)  # of audits without a bound
    told: dict[str, str] = field(default_factory=dict)  # faults, with the first finding of each
    stopped: int = 0  # the exit code of Ctrl-C or SIGTERM, if one came
    interrupted: str = ""  # why the run is not whole
    gaps: list[str] = field(default_factory=list)  # all that keeps it from being whole
    verdict: RunVerdict | None = None  # of the run, where there is any finding
    finished: int = 0  # selected audits that have a result
    collected: list[pytest.Item] = field(default_factory=list)  # all tests, before any is dropped
    order: dict[str, int] = field(default_factory=dict)  # places by test, where workers run them
    results: tuple[Results, Path] | None = None  # written, with its folder, and not yet rendered
    report: Path | None = None
    undrawn: str = ""  # how to have the page that an interrupted run has not drawn
    shown_first: bool = False  # whether the first sweep's best and worst tokens were printed
    progress: TextIO | None = None  # where progress goes, if not to pytest's terminal
    log: str | None = None  # the tracker to which the run is logged
    logged: list[str] = field(default_factory=list)  # where it was logged
    unlogged: list[str] = field(default_factory=list)  # why it was not
    unwritten: list[str] = field(default_factory=list)  # what could not be written, and why
    warnings: list[str] = field(default_factory=list)
    against: list[str] = field(default_factory=list)  # what came of the comparison with `blessed`
    reports: dict[str, list[Any]] = field(default_factory=dict)  # pytest's, of failures and errors


SESSION = pytest.StashKey[Session]()


def exit_code(error: KeyboardInterrupt) -> int:
    """Return the exit code of a run that Ctrl-C ends, which is pytest's, or SIGTERM."""
    return TERMINATED if isinstance(error, Terminated) else int(pytest.ExitCode.INTERRUPTED)


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


def audit_options(config: pytest.Config) -> RunSettings:
    """Return the settings that all audits of this run share, made once from the options."""
    session = config.stash[SESSION]
    if session.options is None:
        from rmaudit.references import stem_cache  # which takes numpy

        stem_cache.load_stems(cache_folder(config), session.own_words.language)
        store, planner = store_of(config), planner_of(config)
        session.options = RunSettings(
            cache=cache_folder(config),
            asked=options_of(config),
            words=session.words,
            baseline=baseline_spec(config),
            store=store,
            own_words=session.own_words,
            on_request=planner.on_request if planner else lambda *_: None,
        )
    return session.options


def model_specs(config: pytest.Config) -> list[ModelSpec]:
    """Return the models to audit; for a wrong name, [] with the error stored in the session."""
    session = config.stash[SESSION]
    if session.specs is None:
        try:
            registry = registry_of(config)
            names = options_of(config).models or [registry.default.name]
            session.specs = _distinct(
                spec for name in names for spec in _models_meant(config, registry, name)
            )
            session.blessed = _blessed_releases(
                session.specs, config.invocation_params.dir, registry
            )
        except (SpecError, ModelError) as error:  # a checkpoint may have to say its objectives
            session.specs, session.error = [], str(error)
    return session.specs


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


def policy_of(config: pytest.Config) -> Policy:
    """Return the policy: the rules for verdicts that models.yaml and the options set.

    Rules for a model hold for its entry, not for another checkpoint of the same name: `Policy.of`
    notices another source, and findings say so.
    """
    specs, registry = model_specs(config), config.stash[SESSION].registry
    said = registry.policy if registry else Policy()
    return replace(
        said,
        models={
            spec.name: said.models[spec.name]
            for spec in specs
            if spec.name in said.models
            and (registered(spec, registry) or said.sources.get(spec.name) != spec.source)
        },
        sampled=options_of(config).sample is not None,
        others=bool(config.stash[SESSION].own_words.told),
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


def _models_meant(config: pytest.Config, registry: Registry, name: str) -> list[ModelSpec]:
    """Return the models that a name or glob means; --rm-recorded leaves out some without scores.

    These are models that the paper ranks, imported ones, and those that have no hub id. A name of
    one model always means this model.
    """
    specs = resolve(registry, name)
    if len(specs) == 1 or not options_of(config).recorded:
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
    session = config.stash[SESSION]
    if session.registry is None:
        session.registry = known_models(options_of(config).registry)
    return session.registry


def _distinct(specs: Iterable[ModelSpec]) -> list[ModelSpec]:
    """Return each model once; raise if two different models have the same name."""
    found: dict[str, ModelSpec] = {}
    for spec in specs:
        other = found.setdefault(spec.name, spec)
        if other != spec:
            message = f"two models are called {spec.name!r}: {other.source} and {spec.source}; "
            raise SpecError(message + "give them names in models.yaml, or audit one at a time")
    return list(found.values())


def report_folder(config: pytest.Config) -> Path:
    """Return the folder of `--rm-report`, else `reports` in the current directory."""
    here: Path = config.invocation_params.dir
    return options_of(config).report or here / "reports"
