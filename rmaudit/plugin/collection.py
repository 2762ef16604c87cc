"""Every audit, for every model and every prompt that it declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
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
            f"the fixtures sweep, sweeps, rewards, base_logprobs, references, rng"
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
    audits = [(item, audit) for item in items if (audit := audited(item))]
    _warn_of_misspelt(config, audits)
    for item, audit in audits:
        reason = known_reason(audit.spec.known, audit.declaration.name, audit.prompt)
        if reason and audit.declaration.severity is Severity.GATE:
            item.add_marker(pytest.mark.xfail(reason=reason, raises=AuditFailed, strict=True))
        if config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group(audit.spec.name))


def _warn_of_misspelt(config: pytest.Config, audits: Sequence[tuple[pytest.Item, Audited]]) -> None:
    """What models.yaml says of an audit that is not here, but nearly, does nothing."""
    names = {audit.declaration.name for _, audit in audits}
    for spec in {audit.spec.name: audit.spec for _, audit in audits}.values():
        said = {"known": [key.partition("[")[0] for key in spec.known], "severity": spec.severity}
        for key, audit in ((key, audit) for key, named in said.items() for audit in named):
            near = [] if audit in names else get_close_matches(audit, names, n=1, cutoff=0.75)
            if near:
                message = f"models.yaml: {spec.name}: {key}: no audit here is called {audit!r}; "
                warning = pytest.PytestWarning(f"{message}did you mean {near[0]!r}?")
                config.issue_config_time_warning(warning, stacklevel=2)


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
    severity = Severity(spec.severity.get(declaration.name, declaration.severity))
    return Audited(replace(declaration, severity=severity), spec, params["prompts"])
