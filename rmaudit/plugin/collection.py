"""Every audit, for every model and every prompt that it declares."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from rmaudit.config.registry import ModelSpec, is_brought
from rmaudit.errors import SpecError
from rmaudit.plugin.session import SESSION, model_specs
from rmaudit.prompts import Prompt, label
from rmaudit.scores.sample import checked_words
from rmaudit.verdicts.declare import Declaration, declared
from rmaudit.verdicts.policy import refuse_unknown


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each audit for every model and every prompt that it declares, a joint one for all."""
    declaration = declared(metafunc.function)
    if declaration is None:
        return
    if not {"reward_model", "prompts"} <= set(metafunc.fixturenames):
        message = (
            f"{metafunc.function.__name__} measures no model: an audit takes at least one of "
            f"the fixtures sweep, sweeps, rewards, base_logprobs, references, rng"
        )
        raise pytest.UsageError(message)
    try:
        checked_words(declaration.words)
    except SpecError as error:
        raise pytest.UsageError(f"{metafunc.function.__name__}: {error}") from None
    specs = model_specs(metafunc.config)
    names = [spec.name for spec in specs]
    metafunc.parametrize("reward_model", specs, ids=names, indirect=True, scope="session")
    runs = declaration.runs
    metafunc.parametrize("prompts", runs, ids=[label(run) for run in runs], indirect=True)


@pytest.hookimpl(tryfirst=True)  # before -k and -m take audits away
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Stop on a wrong registry or policy; keep a model on one xdist worker."""
    error = config.stash[SESSION].error
    if error is not None:
        raise pytest.UsageError(str(error))
    audits = [(item, audit) for item in items if (audit := audited(item))]
    try:
        _refuse_misspelt(config, audits)
    except SpecError as error:
        if not hasattr(config, "workerinput"):
            raise pytest.UsageError(str(error)) from None
        # Of an exception in a worker xdist tells that the worker is gone, and not why.
        wrong = pytest.CollectReport("models.yaml", "failed", str(error), [])
        config.hook.pytest_collectreport(report=wrong)
        items.clear()
        return
    if config.pluginmanager.hasplugin("xdist"):
        for item, audit in audits:
            item.add_marker(pytest.mark.xdist_group(audit.spec.name))


def _refuse_misspelt(config: pytest.Config, audits: Sequence[tuple[pytest.Item, Audited]]) -> None:
    """What models.yaml says of an audit that does not exist would do nothing.

    Raises:
        SpecError: it names one.
    """
    registry = config.stash[SESSION].registry
    if not audits or registry is None or is_brought(registry.path):
        return  # a file that the user did not write may know other audits than the user's
    here: dict[str, set[str]] = {}
    for _, audit in audits:
        runs = (label(run) for run in audit.declaration.runs)
        here.setdefault(audit.declaration.name, set()).update(runs)
    named = {each.audit.partition("[")[0] for each in registry.policy.named}
    # pytest's rootdir may be any folder above the values of options, such as --model.
    top = config.inipath.parent if config.inipath else config.invocation_params.dir
    folders = {top, *(item.path.parent for item, _ in audits)}
    elsewhere = _defined(config, named - here.keys(), folders)
    refuse_unknown(registry.policy, str(registry.path), here, elsewhere)


def _defined(config: pytest.Config, names: AbstractSet[str], folders: Iterable[Path]) -> set[str]:
    """Those of the names that are defined in test files, collected or not: read as text, not run.

    A run of one file, or of one test, is to know the audits of the others.
    """
    found: set[str] = set()
    for path in _test_files(config, folders) if names else ():
        text = path.read_text(encoding="utf-8", errors="replace")
        found |= {name for name in names if re.search(rf"\bdef (test_)?{name}\(", text)}
        if found == names:
            break
    return found


def _test_files(config: pytest.Config, folders: Iterable[Path]) -> Iterator[Path]:
    """What pytest would take for test files below the folders, hidden and built ones left out."""
    files, pruned = config.getini("python_files"), config.getini("norecursedirs")
    for folder in folders:
        for at, inner, names in os.walk(folder):
            inner[:] = [
                name
                for name in inner
                if not any(fnmatchcase(name, pattern) for pattern in pruned)
                and not Path(at, name, "pyvenv.cfg").exists()
            ]
            yield from (
                Path(at, name)
                for name in sorted(names)
                if any(fnmatchcase(name, pattern) for pattern in files)
            )


@dataclass(frozen=True, slots=True)
class Audited:
    """What a collected item audits."""

    declaration: Declaration
    spec: ModelSpec
    prompts: tuple[Prompt, ...]

    @property
    def prompt(self) -> str:
        """What the finding calls them."""
        return label(self.prompts)


def audited(item: pytest.Item) -> Audited | None:
    """What an item audits, None for any other test."""
    if not isinstance(item, pytest.Function):
        return None
    declaration = declared(item.function)
    if declaration is None or not hasattr(item, "callspec"):
        return None
    params: dict[str, Any] = item.callspec.params
    spec: ModelSpec = params["reward_model"]
    return Audited(declaration, spec, params["prompts"])
