"""The options, and what they mean: which models, which cache. And the state of a session."""

from __future__ import annotations

import argparse
import re
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from rmaudit.config.cache_folder import default_cache
from rmaudit.config.registry import (
    Dtype,
    ModelSpec,
    Registry,
    default_path,
    is_hub_id,
    load_registry,
    resolve,
)
from rmaudit.errors import SpecError
from rmaudit.verdicts.policy import Policy
from rmaudit.verdicts.records import Finding

if TYPE_CHECKING:
    import pandas as pd

    from rmaudit.scores.sweep import Sweep

MODEL, RM_MODEL = "--model", "--rm-model"
RM_MODELS, RM_REPORT, RM_CACHE = "--rm-models", "--rm-report", "--rm-cache"
RM_MISSING, RM_SEED, RM_SAMPLE = "--rm-missing", "--rm-seed", "--rm-sample"
RM_DEVICE, RM_DTYPE = "--rm-device", "--rm-dtype"
RM_RECORDED, RM_BASELINE, RM_INCONCLUSIVE = "--rm-recorded", "--rm-baseline", "--rm-inconclusive"
RM_SEARCH, RM_LEDGER = "--rm-search", "--rm-ledger"


@dataclass(slots=True)
class Session:
    """What one pytest process knows of its audits."""

    specs: list[ModelSpec] | None = None
    registry: Registry | None = None
    today: date = field(default_factory=lambda: datetime.now(UTC).date())  # one for the whole run
    error: SpecError | None = None
    findings: list[Finding] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)  # places by test, where workers run them
    controls: dict[Any, dict[str, float]] = field(default_factory=dict)
    vocabularies: dict[str, int] = field(default_factory=dict)  # hashes by the keys of sweeps
    sweeps: dict[tuple[ModelSpec, str, tuple[str, ...]], Sweep] = field(default_factory=dict)
    ledger: pd.DataFrame | None = None  # as it was before this session searched
    report: Path | None = None
    warnings: list[str] = field(default_factory=list)  # lines before the summary's


SESSION = pytest.StashKey[Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--rm-` options."""
    group = parser.getgroup("rmaudit", "audits of reward models")
    group.addoption(RM_MODEL, **_MODEL_OPTION)
    group.addoption(RM_MODELS, metavar="FILE", help="the registry (default: models.yaml)")
    group.addoption(RM_REPORT, metavar="DIR", help="where reports go (default: reports)")
    group.addoption(RM_CACHE, metavar="DIR", help="where sweeps and built models are kept")
    group.addoption(
        RM_MISSING,
        choices=("skip", "fail"),
        default="skip",
        help="what to do when reference data cannot be had, or an audit that gates is not measured "
        "for any other reason: skip it (default), or fail",
    )
    group.addoption(
        RM_INCONCLUSIVE,
        choices=("fail", "pass"),
        default="fail",
        help="what an interval that straddles its bound does to the run: fail it (default), or not",
    )
    group.addoption(RM_SEED, type=int, default=0, metavar="N", help="seed of every random draw")
    group.addoption(
        RM_SAMPLE,
        type=_sample,
        metavar="N",
        help="a first look at a large model: score a random sample of N token ids, and those of "
        "the words that audits name (default: the whole vocabulary)",
    )
    group.addoption(
        RM_DEVICE,
        type=_device,
        default="auto",
        metavar="NAME",
        help="where models run: auto (default: one GPU, all if it does not fit, or the CPU), "
        "spread (over all devices), cpu, cuda:1 ...",
    )
    group.addoption(
        RM_DTYPE,
        type=_dtype,
        metavar="DTYPE",
        help=f"what models run in, whatever the registry says: {', '.join(_DTYPES)}",
    )
    group.addoption(
        RM_RECORDED,
        action="store_true",
        help="audit published scores (rmaudit import, rmaudit data elo), without any weights",
    )
    group.addoption(
        RM_BASELINE,
        metavar="NAME",
        help="the model that the audited one is to replace: a name, a folder or a hub id, as for "
        "--model (default: none; audits that compare are skipped)",
    )
    group.addoption(
        RM_SEARCH,
        type=_budget,
        default=SEARCHED,
        metavar="BUDGET",
        help="how many sequences each search for what the model loves or hates may score "
        f"(default: {SEARCHED}; 0: none, and audits that search are skipped)",
    )
    group.addoption(
        RM_LEDGER,
        metavar="FILE",
        help="strings that searches found elsewhere (rmaudit search --ledger FILE), to be replayed "
        "besides those that are published or were found here",
    )


SEARCHED = 2000  # sequences that a search scores, unless told otherwise

# A wrong value is one line. (argparse would print its usage first, which is a screenful.)
_DTYPES = tuple(name for name in get_args(Dtype) if name != "auto")
_DEVICES = r"auto|spread|cpu|mps|(cuda|xpu|hpu|npu)(:\d+)?"


def _sample(given: str) -> int:
    if not (re.fullmatch(r"[0-9]+", given) and int(given)):
        message = f"{RM_SAMPLE}: {given!r}; a positive whole number of token ids is needed"
        raise pytest.UsageError(message)
    return int(given)


def _budget(given: str) -> int:
    if not re.fullmatch(r"[0-9]+", given):
        message = f"{RM_SEARCH}: {given!r}; a whole number of evaluations is needed, 0 for none"
        raise pytest.UsageError(message)
    return int(given)


def _device(given: str) -> str:
    if not re.fullmatch(_DEVICES, given):
        message = f"{RM_DEVICE}: unknown device {given!r}; known: auto, spread, cpu, mps, cuda, "
        raise pytest.UsageError(message + "cuda:0 and the like; xpu, hpu and npu likewise")
    return given


def _dtype(given: str) -> str:
    if given not in _DTYPES:
        message = f"{RM_DTYPE}: unknown dtype {given!r}; known: {', '.join(_DTYPES)}"
        raise pytest.UsageError(message)
    return given


_MODEL_OPTION: dict[str, Any] = {
    "action": "append",
    "dest": "rm_model",
    "metavar": "NAME",
    "help": "a model of the registry, a glob over its names, a checkpoint folder, or a hub id; "
    "may be repeated (default: the registry's default)",
}


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None]:
    """Add `--model` last, once every plugin and conftest.py has had its chance to own it."""
    yield
    with suppress(
        ValueError, argparse.ArgumentError
    ):  # somebody else's `--model`; `--rm-model` does the same
        parser.getgroup("rmaudit").addoption(MODEL, **_MODEL_OPTION)


def pytest_configure(config: pytest.Config) -> None:
    """Make the session's state; check the models at once where some were named."""
    session = config.stash[SESSION] = Session()
    if config.getoption(RM_RECORDED):
        for option in (RM_SAMPLE, RM_DEVICE, RM_DTYPE):
            if config.getoption(option) not in {None, "auto"}:
                message = f"{option} does nothing with {RM_RECORDED}: nothing is scored"
                raise pytest.UsageError(f"{message}; leave out one of them")
    if config.getoption("rm_model") or config.getoption(RM_MODELS):
        model_specs(config)
        if session.error:
            raise pytest.UsageError(str(session.error))
    baseline_spec(config)
    if given := config.getoption(RM_LEDGER):
        from rmaudit.search.ledger import read

        try:
            read(Path(given).expanduser())
        except SpecError as error:
            raise pytest.UsageError(f"{RM_LEDGER}: {error}") from None


def model_specs(config: pytest.Config) -> list[ModelSpec]:
    """The models to audit, resolved once; none, and the session's error, if they are wrong."""
    session = config.stash[SESSION]
    if session.specs is None:
        try:
            registry = _registry(config)
            session.registry = registry
            names = config.getoption("rm_model") or [registry.default.name]
            session.specs = _distinct(
                spec for name in names for spec in _meant(config, registry, name)
            )
        except SpecError as error:
            session.specs, session.error = [], error
    return session.specs


def policy_of(config: pytest.Config) -> Policy:
    """What models.yaml and the options say of verdicts.

    What is said of a model holds for its entry, not for another checkpoint of the same name.
    """
    specs, registry = model_specs(config), config.stash[SESSION].registry
    said = registry.policy if registry else Policy()
    return replace(
        said,
        models={spec.name: said.models[spec.name] for spec in specs if _ruled(spec, registry)},
        inconclusive=config.getoption(RM_INCONCLUSIVE),
        missing=config.getoption(RM_MISSING),
    )


def _ruled(spec: ModelSpec, registry: Registry | None) -> bool:
    return (
        registry is not None
        and spec.name in registry.policy.models
        and registry.models[spec.name] == spec
    )


def _meant(config: pytest.Config, registry: Registry, name: str) -> list[ModelSpec]:
    """The models that a name means; recorded, a glob means those of which there may be records.

    These are what the paper ranks, what was imported, and what has no hub id to be published under.
    """
    specs = resolve(registry, name)
    if len(specs) == 1 or not config.getoption(RM_RECORDED):
        return specs
    from rmaudit.scores.inventory import counts

    kept = counts(cache_folder(config))
    left = [
        spec
        for spec in specs
        if is_hub_id(spec.source) and not (spec.rewardbench_rank or kept[spec.source].recorded)
    ]
    if left:
        message = (
            f"{RM_MODEL} {name!r} {RM_RECORDED}: left out {len(left)} of {len(specs)} models, of "
            f"which no scores are published or imported: {', '.join(spec.name for spec in left)}"
        )
        config.issue_config_time_warning(pytest.PytestWarning(message), stacklevel=2)
    return [spec for spec in specs if spec not in left] or specs


def baseline_spec(config: pytest.Config) -> ModelSpec | None:
    """The model of `--rm-baseline`, None where none is named."""
    name = config.getoption(RM_BASELINE)
    if not name:
        return None
    try:
        specs = resolve(_registry(config), name)
    except SpecError as error:
        raise pytest.UsageError(f"{RM_BASELINE}: {error}") from None
    if len(specs) != 1:
        message = f"{RM_BASELINE}: {name!r} means {len(specs)} models; name one"
        raise pytest.UsageError(message)
    return specs[0]


def _registry(config: pytest.Config) -> Registry:
    path = config.getoption(RM_MODELS)
    return load_registry(Path(path) if path else default_path())


def _distinct(specs: Iterable[ModelSpec]) -> list[ModelSpec]:
    """Each model once; two models of one name could not be told apart in a report."""
    found: dict[str, ModelSpec] = {}
    for spec in specs:
        other = found.setdefault(spec.name, spec)
        if other != spec:
            message = f"two models are called {spec.name!r}: {other.source} and {spec.source}; "
            raise SpecError(message + "give them names in models.yaml, or audit one at a time")
    return list(found.values())


def cache_folder(config: pytest.Config) -> Path:
    """The folder of `--rm-cache`, else the user's."""
    given = config.getoption(RM_CACHE)
    return Path(given).expanduser() if given else default_cache()
