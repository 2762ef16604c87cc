"""Every audit, for every model and every prompt that it declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from rmaudit.declare import Declaration, declared
from rmaudit.errors import AuditFailed
from rmaudit.gate import known_reason
from rmaudit.plugin.options import SESSION, model_specs
from rmaudit.prompts import Prompt, label
from rmaudit.records import Severity
from rmaudit.registry import ModelSpec


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each audit for every model and every prompt that it declares, a joint one for all."""
    declaration = declared(metafunc.function)
    if declaration is None:
        return
    if not {"reward_model", "prompts"} <= set(metafunc.fixturenames):
        message = (
            f"{metafunc.function.__name__} measures no model: an audit takes at least one of "
            f"the fixtures sweep, sweeps, rewards, references, rng"
        )
        raise pytest.UsageError(message)
    specs = model_specs(metafunc.config)
    names = [spec.name for spec in specs]
    metafunc.parametrize("reward_model", specs, ids=names, indirect=True, scope="session")
    runs = declaration.runs
    metafunc.parametrize("prompts", runs, ids=[label(run) for run in runs], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Stop on a wrong registry; expect the known failures; keep a model on one xdist worker."""
    error = config.stash[SESSION].error
    if error is not None:
        raise pytest.UsageError(str(error))
    for item in items:
        audit = audited(item)
        if audit is None:
            continue
        reason = known_reason(audit.spec.known, audit.declaration.name, audit.prompt)
        if reason and audit.declaration.severity is Severity.GATE:
            item.add_marker(pytest.mark.xfail(reason=reason, raises=AuditFailed, strict=True))
        if config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group(audit.spec.name))


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
    return Audited(declaration, params["reward_model"], params["prompts"])
