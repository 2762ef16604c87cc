"""Make each entry of `runs.fixture_registry` a pytest fixture, which audits take as an argument."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import pytest

from rmaudit.errors import NoBase, NotAsked, NotComparable, NotJudging, NoWeights, ReferenceMissing
from rmaudit.plugin.collection import audited
from rmaudit.plugin.run_plan import plan_of
from rmaudit.plugin.run_state import MEMORY, SELECTED
from rmaudit.prompts import Prompt
from rmaudit.report.safe_text import log
from rmaudit.runs.audit_case import SEARCHED, Audited, Case, RunSettings, opened, single
from rmaudit.runs.fixture_registry import FIXTURES
from rmaudit.verdicts.audit_declaration import Declaration

if TYPE_CHECKING:
    from rmaudit.config.model_spec import ModelSpec
    from rmaudit.models.model_interfaces import Scored
    from rmaudit.scores.sweep_result import Sweep

_WORDS = 5  # of either end of the first sweep
_CLEAR, _UP, _RIGHT = "\r\x1b[K", "\x1b[A", "\x1b[{}C"  # what every terminal of today obeys
_COSTLY = "it costs much and decides nothing; measure it too with --rm-all, or name its file"
CASE = "_case"  # the fixture that all others are made of
SETTINGS = pytest.StashKey[RunSettings]()
_INAPPLICABLE = (NotAsked, NoBase, NotComparable, NotJudging, NoWeights)


def settings_of(config: pytest.Config) -> RunSettings:
    """Return the settings that all audits of this run share, made once they are collected."""
    if SETTINGS not in config.stash:
        from rmaudit.references import stem_cache  # which takes numpy

        plan = plan_of(config)
        stem_cache.load_stems(plan.cache, plan.own_words.language)
        config.stash[SETTINGS] = RunSettings(
            cache=plan.cache,
            asked=plan.options,
            words=config.stash[SELECTED].words,
            baseline=plan.baseline,
            store=plan.store,
            own_words=plan.own_words,
            watched=partial(terminal, config),
            on_request=plan.planner.on_request if plan.planner else None,
        )
    return config.stash[SETTINGS]


def plugin_of_fixtures() -> ModuleType:
    """Return a module that is a pytest plugin with all fixtures of audits."""
    plugin = ModuleType("rmaudit_fixtures", __doc__)
    own = {"reward_model": reward_model, "prompts": prompts, "prompt": prompt, CASE: case}
    made = {
        name: _pytest_fixture(name, entry.for_model)
        for name, entry in FIXTURES.items()
        if entry.for_model is not None
    }
    vars(plugin).update(own | made)
    return plugin


@pytest.fixture(scope="session")
def reward_model(request: pytest.FixtureRequest) -> Iterator[Scored]:
    """Yield the model under audit; its weights are loaded at the first score that is not cached.

    With `--rm-recorded` it has its published scores and no weights. Objectives of one checkpoint
    share its weights, which the last of them frees.
    """
    spec, planner = _param(request), plan_of(request.config).planner
    with terminal(request.config):
        model = (planner.opened if planner else opened)(spec, settings_of(request.config))
    yield model
    if planner is None:
        model.close()


@pytest.fixture
def prompts(request: pytest.FixtureRequest, reward_model: Scored) -> tuple[Prompt, ...]:
    """Return the prompts under audit (of a joint audit, all); skip an audit that does not apply."""
    asked: tuple[Prompt, ...] = _param(request)
    audit, run = _audit(request), plan_of(request.config).own_words.asked
    why = "" if audit.as_declared else audit.declaration.refusal(run)
    with skip_if_missing():
        if why := why or _left_out(request.node, audit.declaration):
            raise NotAsked(why)
        _refuse_across_prompts(reward_model.spec, audit.declaration)
    return asked


def _audit(request: pytest.FixtureRequest) -> Audited:
    """Return the audit that asks; `_param` has refused all other tests."""
    return cast("Audited", audited(request.node))


def _left_out(item: pytest.Item, declaration: Declaration) -> str:
    """Return why this run leaves out an audit that costs much; "" if the run measures it.

    A `costly` audit is measured with `--rm-all`, where its file is named on the command line, where
    the samples or the budget of the searches that it measures are given, and where scores are
    recorded, which cost nothing.
    """
    options = plan_of(item.config).options
    if not declaration.costly or options.everything or options.recorded:
        return ""
    takes = getattr(item, "fixturenames", ())
    budget_given = options.search != SEARCHED
    if ("samples" in takes and options.samples) or ("searches" in takes and budget_given):
        return ""
    here: Path = item.config.invocation_params.dir
    named = (here / argument.partition("::")[0] for argument in item.config.args)
    return "" if any(path.is_file() and path.samefile(item.path) for path in named) else _COSTLY


def _refuse_across_prompts(spec: ModelSpec, declaration: Declaration) -> None:
    """Raise if the audit compares rewards across prompts and the model's reward is implicit.

    An implicit reward is known only up to a number for each prompt.

    Raises:
        NotComparable: the model's reward is implicit.
    """
    unknown = spec.implicit is not None and spec.implicit.reference is not None
    if declaration.across_prompts and unknown:
        message = (
            f"{spec.name}: its reward is implicit, so it is known up to a number for each prompt, "
            f"and this audit compares rewards of different prompts"
        )
        raise NotComparable(message)


@pytest.fixture
def prompt(request: pytest.FixtureRequest, prompts: tuple[Prompt, ...]) -> Prompt:
    """Return the prompt under audit; raise for an audit joint over several prompts."""
    return single(prompts, request.function.__name__, joint=_audit(request).declaration.joint)


@pytest.fixture(name=CASE)
def case(
    request: pytest.FixtureRequest, reward_model: Scored, prompts: tuple[Prompt, ...]
) -> Iterator[Case]:
    """Yield the audit's `Case` (model, prompts, options); its other fixtures are made from it."""
    declaration = _audit(request).declaration
    made = Case(
        audit=request.function.__name__,
        model=reward_model,
        prompts=prompts,
        joint=declaration.joint,
        words=declaration.words,
        pairs=declaration.pairs,
        options=settings_of(request.config),
        memory=request.config.stash[MEMORY],
        on_sweep=partial(_print_first_words, request.node),
    )
    with made.after:
        yield made


def _print_first_words(item: pytest.Item, sweep: Sweep) -> None:
    """Print the best and worst tokens of `sweep` if it is the run's first; nothing with -q."""
    config, plan = item.config, plan_of(item.config)
    caller, reporter = plan.caller, config.pluginmanager.getplugin("terminalreporter")
    first = len(config.stash[MEMORY].sweeps) == 1
    if not first or plan.planner is not None or config.get_verbosity() < 0:
        return
    from rmaudit.scores.sweep_notebook_views import in_lines

    lines = in_lines(sweep.model, sweep.prompt.name, sweep.top(_WORDS), sweep.bottom(_WORDS))
    if caller is not None:
        caller.progress.writelines(f"{log(each)}\n" for each in lines)
    elif reporter is not None:  # a worker of xdist has none
        capture = config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            reporter.ensure_newline()
            for each in lines:
                reporter.write_line(log(each))
            if config.get_verbosity() == 0:  # else pytest itself names the test once more
                reporter.write_fspath_result(item.nodeid, "")
            reporter.flush()  # before pytest captures again


def _pytest_fixture(name: str, make: Callable[[Case], Any]) -> object:
    """Return the pytest fixture `name`, which calls `make` and has its docstring."""

    def made(_case: Case) -> Any:  # noqa: ANN401  (whatever the fixture is)
        with skip_if_missing():
            return make(_case)

    made.__doc__ = make.__doc__
    return pytest.fixture(name=name)(made)


def case_of(item: pytest.Function) -> Case | None:
    """Return the `Case` of a test's fixtures; None if the audit uses none of them."""
    return cast("Case | None", item.funcargs.get(CASE))


def not_asked(skipped: BaseException) -> bool:
    """Return whether pytest skipped an audit that does not apply: say, an option is not given."""
    return isinstance(skipped.__context__, _INAPPLICABLE)


@contextmanager
def skip_if_missing() -> Iterator[None]:
    """Skip the test if the block raises that an option, a base, weights or data are missing."""
    __tracebackhide__ = True
    try:
        yield
    except (*_INAPPLICABLE, ReferenceMissing) as error:
        pytest.skip(str(error))


def _param(request: pytest.FixtureRequest) -> Any:  # noqa: ANN401  (whatever the fixture is)
    if not hasattr(request, "param"):
        message = f"the fixture {request.fixturename!r} serves functions declared with @audit only"
        raise pytest.UsageError(message)
    return request.param


@contextmanager
def terminal(config: pytest.Config) -> Iterator[None]:
    """Turn off pytest's capture in the `with` block, so that progress reaches the terminal or log.

    In a log, progress is a line from time to time. On a terminal it is a bar on the line below
    pytest's own; afterwards the cursor returns to where pytest left it, so that the file's name and
    the results so far stay. (`ensure_newline` would print the name again each time.)
    """
    capture, caller = config.pluginmanager.getplugin("capturemanager"), plan_of(config).caller
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if capture is None:
        yield
        return
    if caller is not None:
        with capture.global_and_fixture_disabled(), redirect_stderr(caller.progress):
            yield
        return
    writer = config.get_terminal_writer()
    writer.flush()
    with capture.global_and_fixture_disabled():
        seen = getattr(reporter, "isatty", False) and sys.stderr.isatty()
        column = writer.width_of_current_line
        if seen:
            sys.stderr.write("\n")
            sys.stderr.flush()
        try:
            yield
        finally:
            if seen:
                sys.stderr.write(f"{_CLEAR}{_UP}{_RIGHT.format(column) if column else ''}")
                sys.stderr.flush()
