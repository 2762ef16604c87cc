"""Collect every audit as tests: one for each model and each prompt of the audit."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rmaudit.config.model_registry import ModelSpec, is_bundled
from rmaudit.errors import SpecError
from rmaudit.interrupts import raised_once, sigterm_raises
from rmaudit.plugin.outdated_audits import missing_from_rmaudit
from rmaudit.plugin.pytest_options import (
    MODEL,
    OTHERS_MODEL,
    refuse_cache,
    refuse_no_pairs,
    refuse_unwritable,
)
from rmaudit.plugin.run_plan import RM_MODEL, plan_of
from rmaudit.plugin.uncollected_audits import bundled_audits
from rmaudit.prompts import label
from rmaudit.references.published_model_values import base_rate
from rmaudit.runs.audit_case import Audited
from rmaudit.runs.fixture_registry import FIXTURES
from rmaudit.scores.token_sample import checked_words
from rmaudit.verdicts.audit_declaration import Declaration, declared
from rmaudit.verdicts.verdict_policy import refuse_unknown

NARROWED = ("lf", "ignore", "ignore_glob", "deselect")  # pytest's options that leave tests out
PLACE = pytest.StashKey[int]()  # of a test among all, in the order of their declaration
_FEW = 3  # files and tests that a line names


@dataclass(slots=True)
class Collected:
    """Hold what pytest collects, as the hooks of this module note it for `run_state`."""

    items: list[pytest.Item] = field(default_factory=list)  # before any is dropped
    expected: dict[str, set[tuple[str, str]]] = field(default_factory=dict)  # models, prompts
    skipped: dict[Path, str] = field(default_factory=dict)  # why, by file or folder


COLLECTED = pytest.StashKey[Collected]()


def audited(item: pytest.Item) -> Audited | None:
    """Return the audit, model and prompts of a test item, or None for a test that is no audit."""
    if not isinstance(item, pytest.Function):
        return None
    declaration = declared(item.function, plan_of(item.config).own_words.prompts)
    if declaration is None or not hasattr(item, "callspec"):
        return None
    params: dict[str, Any] = item.callspec.params
    spec: ModelSpec = params["reward_model"]
    return Audited(declaration, spec, params["prompts"])


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Record why pytest skipped a whole file or folder; say what a file misses in rmaudit."""
    report = yield
    raised = report.call.excinfo if report.failed else None  # pytest takes `call` away afterwards
    if raised is not None:
        error = raised.value.__cause__ or raised.value  # pytest wraps an ImportError
        said = missing_from_rmaudit(error, collector.config.invocation_params.dir)
        report.longrepr = said or report.longrepr
    path: Path | None = getattr(collector, "path", None)
    if report.skipped and path is not None:
        said = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = said.removeprefix("Skipped: ")
        collector.config.stash[COLLECTED].skipped[path.resolve()] = reason
    return report


def pytest_itemcollected(item: pytest.Item) -> None:
    """Note each test, and its place in the test files, before any plugin drops or shuffles some."""
    items = item.config.stash[COLLECTED].items
    item.stash[PLACE] = len(items)
    items.append(item)


def in_order(
    config: pytest.Config, items: Sequence[pytest.Item]
) -> list[tuple[pytest.Item, Audited]]:
    """Return the audits among `items`, sorted by model and then by place in the test files."""
    if not (audits := [(item, audit) for item in items if (audit := audited(item))]):
        return []
    names = [spec.name for spec in plan_of(config).specs]
    return sorted(
        audits, key=lambda each: (names.index(each[1].spec.name), each[0].stash.get(PLACE, 0))
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize an audit over models and prompts (joint: all at once); refuse a wrong audit."""
    plan = plan_of(metafunc.config)
    try:
        declaration = declared(metafunc.function, plan.own_words.prompts)
    except SpecError as error:
        raise pytest.UsageError(f"{metafunc.function.__name__}: {error}") from None
    if declaration is None:
        return
    if not {"reward_model", "prompts"} <= set(metafunc.fixturenames):
        measuring = ", ".join(name for name, entry in FIXTURES.items() if entry.for_model)
        message = (
            f"{metafunc.function.__name__} measures no model: an audit takes at least one of "
            f"the fixtures {measuring}"
        )
        raise pytest.UsageError(message)
    try:
        checked_words(declaration.words, plan.own_words)
        if declaration.stops:
            from rmaudit.runs.null_controls import checked_stops  # which takes numpy

            checked_stops(declaration.stops)
    except SpecError as error:
        raise pytest.UsageError(f"{metafunc.function.__name__}: {error}") from None
    unsaid = [run for run in map(label, declaration.runs) if not rate(declaration, run)]
    if unsaid and not declaration.figure:
        message = (
            f"{metafunc.function.__name__} states no base rate: say where known models stand, "
            f"base_rate='...' (only of the ten published models is it known here, and not of "
            f"{declaration.name}[{unsaid[0]}] in {declaration.bound.unit})"
        )
        raise pytest.UsageError(message)
    names = [spec.name for spec in plan.specs]
    metafunc.parametrize("reward_model", plan.specs, ids=names, indirect=True, scope="session")
    runs = declaration.instead(plan.own_words.asked)
    metafunc.parametrize("prompts", runs, ids=[label(run) for run in runs], indirect=True)
    pairs = {(name, label(run)) for name in names for run in runs}
    metafunc.config.stash[COLLECTED].expected[metafunc.definition.nodeid] = pairs


def rate(declaration: Declaration, prompt: str) -> str:
    """Return the audit's base rate, a sentence on how known models score; "" if none is known."""
    unit = declaration.bound.unit
    return declaration.base_rate or base_rate(declaration.name, prompt, unit=unit)


@pytest.hookimpl(tryfirst=True)  # before -k and -m take audits away
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Stop on wrong input before anything is measured; keep each model on one xdist worker."""
    if error := no_models(config):
        raise pytest.UsageError(error)
    if not (audits := all_audits(config)):
        return
    worker = hasattr(config, "workerinput")
    handle_signals(config, raised_once() if worker else sigterm_raises())
    try:
        _refuse_model_of_other_plugin(config)
        _refuse_misspelt(config, [audit for _, audit in audits])
        for file in {audit.declaration.pairs for _, audit in audits} - {""}:
            refuse_no_pairs(Path(file))
        if not config.option.collectonly:
            refuse_unwritable("--rm-report", plan_of(config).report)
            refuse_cache(plan_of(config))
    except (SpecError, pytest.UsageError, pytest.PytestWarning) as wrong:  # -W error raises
        if not worker:
            raise pytest.UsageError(str(wrong)) from None
        # Of an exception in a worker xdist tells that the worker is gone, and not why.
        report = pytest.CollectReport("rmaudit", "failed", str(wrong), [])
        config.hook.pytest_collectreport(report=report)
        items.clear()
        return
    if config.pluginmanager.hasplugin("xdist"):
        for item, audit in audits:
            item.add_marker(pytest.mark.xdist_group(audit.spec.name))


def no_models(config: pytest.Config) -> str:
    """Return why there are no models for the audits that were collected; "" if there are some."""
    return plan_of(config).error if config.stash[COLLECTED].expected else ""


def all_audits(config: pytest.Config) -> list[tuple[pytest.Item, Audited]]:
    """Return all audits: of the tests that a hook is given, a conftest.py may have taken some."""
    items = config.stash[COLLECTED].items
    return [(item, audit) for item in items if (audit := audited(item))]


def dropped(config: pytest.Config, audits: Sequence[tuple[pytest.Item, Audited]]) -> list[str]:
    """Return a sentence on models and prompts of audits that became no tests; [] if all did.

    A plugin or a conftest.py may drop single tests while they are made. A part of the tests that
    somebody asked for says so itself.
    """
    missing = {test: {*pairs} for test, pairs in config.stash[COLLECTED].expected.items()}
    for item, audit in audits:
        test = f"{item.parent.nodeid if item.parent else ''}::{getattr(item, 'originalname', '')}"
        missing.get(test, set()).discard((audit.spec.name, audit.prompt))
    tests = [f"{test}[{'-'.join(pair)}]" for test in missing for pair in sorted(missing[test])]
    if not tests or left_out(config):
        return []
    said = "1 test of an audit was" if len(tests) == 1 else f"{len(tests)} tests of audits were"
    return [f"{said} never collected, dropped by a plugin or a conftest.py: {_first_names(tests)}"]


def handle_signals(config: pytest.Config, handling: AbstractContextManager[None]) -> None:
    """Begin to handle signals so, until pytest ends its run."""
    until_the_end = ExitStack()
    until_the_end.enter_context(handling)
    config.add_cleanup(until_the_end.close)


def _refuse_model_of_other_plugin(config: pytest.Config) -> None:
    """Raise if the user gave `--model` but it belongs to another plugin: rmaudit would ignore it.

    Raises:
        pytest.UsageError: `--model` was given, and `--rm-model` was not.
    """
    if not config.stash.get(OTHERS_MODEL, False) or plan_of(config).options.models:
        return
    given = [
        *config.invocation_params.args,
        *shlex.split(os.environ.get("PYTEST_ADDOPTS", "")),
        *config.getini("addopts"),
    ]
    if any(str(arg) == MODEL or str(arg).startswith(f"{MODEL}=") for arg in given):
        (spec, *_) = plan_of(config).specs
        message = (
            f"{MODEL} belongs to another plugin here, so rmaudit would audit {spec.name} and not "
            f"what it names; name the model to audit with {RM_MODEL}"
        )
        raise pytest.UsageError(message)


def _refuse_misspelt(config: pytest.Config, audits: Sequence[Audited]) -> None:
    """Raise if models.yaml names an unknown audit or prompt; a run of a part only warns of audits.

    A run of single files, or of a part of the tests, does not know all audits: it warns of a name
    that is none of the audits that come with rmaudit.

    Raises:
        SpecError: the file names an audit that was not collected, or a prompt that one has not.
    """
    registry, asked = plan_of(config).registry, plan_of(config).own_words.asked
    if is_bundled(registry.path):
        return  # a file that the user did not write may know other audits than the user's
    here: dict[str, set[str]] = {}
    figures = {each.declaration.name for each in audits if each.declaration.figure}
    for audit in audits:
        runs = map(label, (*audit.declaration.runs, *audit.declaration.instead(asked)))
        here.setdefault(audit.declaration.name, set()).update(runs)
    elsewhere = {each.audit.partition("[")[0] for each in registry.policy.named} - here.keys()
    whole = not left_out(config)
    try:
        allowed = () if whole else elsewhere
        refuse_unknown(registry.policy, str(registry.path), here, allowed, figures)
    except SpecError as error:
        hint = "; name the folders of all audits, if its file was not collected"
        raise SpecError(f"{error}{hint if elsewhere and whole else ''}") from None
    unknown = set() if whole or not elsewhere else elsewhere - bundled_audits().keys()
    if unknown:
        message = (
            f"{registry.path}: {', '.join(sorted(unknown))}: no audit of this name was collected "
            f"by this run of a part of the tests; run their whole folder to check the names"
        )
        warnings.warn(pytest.PytestWarning(message), stacklevel=2)


def left_out(config: pytest.Config) -> str:
    """Return in a few words why tests were not collected; "" if all of them were."""
    here: Path = config.invocation_params.dir
    caller = plan_of(config).caller
    functions = caller.functions if caller else {}
    files = [arg for arg in config.args if not (here / arg).is_dir()]
    named = [name for file in files for name in functions.get(Path(file), [file])]
    options = [f"--{name.replace('_', '-')}" for name in NARROWED if config.getoption(name, None)]
    return ", ".join(
        [
            *([f"only {_first_names(named)} was asked for"] if named else []),
            *([f"tests were left out by {' '.join(options)}"] if options else []),
        ]
    )


def _first_names(named: Sequence[str]) -> str:
    """Return the first three test files or ids, without folders, and how many more there are."""
    names = [arg.replace("\\", "/").rpartition("/")[2] for arg in named]
    more = len(names) - _FEW
    return " ".join(names[:_FEW]) + (f" and {more} more" if more > 0 else "")
