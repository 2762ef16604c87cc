"""The pytest fixtures of audits: one for each entry of `rmaudit.organisms.fixtures`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from rmaudit.errors import NoBase, NotAsked, ReferenceMissing
from rmaudit.organisms.fixtures import FIXTURES
from rmaudit.organisms.for_model import Case, opened, single
from rmaudit.plugin.options import RM_MISSING
from rmaudit.plugin.session import SESSION, audit_options
from rmaudit.prompts import Prompt
from rmaudit.verdicts.declare import declared

if TYPE_CHECKING:
    from rmaudit.models.protocol import Scored

CASE = "_case"  # the fixture that all others are made of


def module() -> ModuleType:
    """A pytest plugin with all fixtures of audits."""
    plugin = ModuleType("rmaudit_fixtures", __doc__)
    own = {"reward_model": reward_model, "prompts": prompts, "prompt": prompt, CASE: case}
    made = {
        name: _fixture(name, entry.for_model)
        for name, entry in FIXTURES.items()
        if entry.for_model is not None
    }
    vars(plugin).update(own | made)
    return plugin


@pytest.fixture(scope="session")
def reward_model(request: pytest.FixtureRequest) -> Iterator[Scored]:
    """The model under audit (its weights are loaded at the first score that is not cached).

    With `--rm-recorded`, its published scores and no weights.
    """
    spec = _param(request)
    with terminal(request.config):
        model = opened(spec, audit_options(request.config))
    yield model
    model.close()


@pytest.fixture
def prompts(request: pytest.FixtureRequest) -> tuple[Prompt, ...]:
    """The prompts under audit: one, or all of a joint audit's."""
    asked: tuple[Prompt, ...] = _param(request)
    return asked


@pytest.fixture
def prompt(request: pytest.FixtureRequest, prompts: tuple[Prompt, ...]) -> Prompt:
    """The prompt under audit, of one that is not joint."""
    declaration = declared(request.function)
    return single(prompts, request.function.__name__, joint=bool(declaration and declaration.joint))


@pytest.fixture(name=CASE)
def case(
    request: pytest.FixtureRequest, reward_model: Scored, prompts: tuple[Prompt, ...]
) -> Iterator[Case]:
    """What the other fixtures of this audit are made of."""
    declaration = declared(request.function)
    made = Case(
        audit=request.function.__name__,
        model=reward_model,
        prompts=prompts,
        joint=bool(declaration and declaration.joint),
        words=declaration.words if declaration else (),
        options=audit_options(request.config),
        memory=request.config.stash[SESSION].memory,
        watched=partial(terminal, request.config),
    )
    with made.after:
        yield made


def _fixture(name: str, make: Callable[[Case], Any]) -> object:
    """The pytest fixture of an entry, with the docstring of its maker."""

    def made(request: pytest.FixtureRequest, _case: Case) -> Any:  # noqa: ANN401  (whatever the fixture is)
        with missing_as_told(request.config):
            return make(_case)

    made.__doc__ = make.__doc__
    return pytest.fixture(name=name)(made)


def not_asked(skipped: BaseException) -> bool:
    """Whether pytest skipped an audit for what its run does not ask for: no baseline, no base."""
    return isinstance(skipped.__context__, NotAsked | NoBase)


@contextmanager
def missing_as_told(config: pytest.Config) -> Iterator[None]:
    """Skip where the run leaves something out, or where data are missing and may be.

    Reference data and records may be missing unless `--rm-missing` is "fail".
    """
    __tracebackhide__ = True
    try:
        yield
    except (NotAsked, NoBase) as error:
        pytest.skip(str(error))
    except ReferenceMissing as error:
        if config.getoption(RM_MISSING) == "skip":
            pytest.skip(str(error))
        raise


def _param(request: pytest.FixtureRequest) -> Any:  # noqa: ANN401  (whatever the fixture is)
    if not hasattr(request, "param"):
        message = f"the fixture {request.fixturename!r} serves functions declared with @audit only"
        raise pytest.UsageError(message)
    return request.param


def terminal(config: pytest.Config) -> AbstractContextManager[None]:
    """The real terminal, for a progress bar under pytest's capture."""
    capture = config.pluginmanager.getplugin("capturemanager")
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if capture is None or not getattr(reporter, "isatty", False):
        return nullcontext()
    reporter.ensure_newline()  # the bar has a line of its own
    return capture.global_and_fixture_disabled()  # type: ignore[no-any-return]
