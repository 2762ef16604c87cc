"""The pytest plugin: options, fixtures and hooks, a thin skin over the library.

It does nothing in a suite that declares no audit: it loads no torch, prints nothing, and claims
no option but those that start with `--rm-`. `--model` is added only where nobody else owns it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rmaudit.declare import Declaration, declared
from rmaudit.errors import AuditFailed, AuditInconclusive, ReferenceMissing, SpecError
from rmaudit.gate import explain, judge, known_reason, unmeasured
from rmaudit.paths import default_cache
from rmaudit.prompts import Prompt
from rmaudit.records import Estimate, Finding, Verdict
from rmaudit.references import References
from rmaudit.registry import ModelSpec, default_path, load_registry, resolve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rmaudit.models.protocol import RewardModel
    from rmaudit.sweeps.sweep import Sweep

MODEL, RM_MODEL = "--model", "--rm-model"
RM_MODELS, RM_REPORT, RM_CACHE = "--rm-models", "--rm-report", "--rm-cache"
RM_MISSING, RM_SEED = "--rm-missing", "--rm-seed"
_PROPERTY = "rmaudit.finding"  # how a finding travels in a test report, as JSON text


@dataclass(slots=True)
class Session:
    """What one pytest process knows of its audits."""

    specs: list[ModelSpec] | None = None
    registered: frozenset[str] = frozenset()  # names in the registry
    error: SpecError | None = None
    findings: list[Finding] = field(default_factory=list)
    sweeps: dict[tuple[str, str], Sweep] = field(default_factory=dict)
    report: Path | None = None


SESSION = pytest.StashKey[Session]()
FINDING = pytest.StashKey[Finding]()
KEYS = pytest.StashKey[list[str]]()

# --- options ---------------------------------------------------------------------------------


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
        help="what to do when reference data cannot be had: skip the audit (default), or fail it",
    )
    group.addoption(RM_SEED, type=int, default=0, metavar="N", help="seed of every random draw")


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
    if config.getoption("rm_model") or config.getoption(RM_MODELS):
        _specs(config)
        if session.error:
            raise pytest.UsageError(str(session.error))


def _specs(config: pytest.Config) -> list[ModelSpec]:
    """The models to audit, resolved once; none, and the session's error, if they are wrong."""
    session = config.stash[SESSION]
    if session.specs is None:
        try:
            path = config.getoption(RM_MODELS)
            registry = load_registry(Path(path) if path else default_path())
            session.registered = frozenset(registry.models)
            names = config.getoption("rm_model") or [registry.default.name]
            session.specs = _distinct(spec for name in names for spec in resolve(registry, name))
        except SpecError as error:
            session.specs, session.error = [], error
    return session.specs


def _distinct(specs: Iterable[ModelSpec]) -> list[ModelSpec]:
    """Each model once; two models of one name could not be told apart in a report."""
    found: dict[str, ModelSpec] = {}
    for spec in specs:
        other = found.setdefault(spec.name, spec)
        if other != spec:
            message = f"two models are called {spec.name!r}: {other.source} and {spec.source}; "
            raise SpecError(message + "give them names in models.yaml, or audit one at a time")
    return list(found.values())


def _cache(config: pytest.Config) -> Path:
    given = config.getoption(RM_CACHE)
    return Path(given).expanduser() if given else default_cache()


# --- collection ------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each audit for every model and every prompt that it declares."""
    declaration = declared(metafunc.function)
    if declaration is None:
        return
    if not {"reward_model", "prompt"} <= set(metafunc.fixturenames):
        message = (
            f"{metafunc.function.__name__} measures no model: an audit takes at least one of "
            f"the fixtures sweep, rewards, references, rng"
        )
        raise pytest.UsageError(message)
    specs = _specs(metafunc.config)
    names = [spec.name for spec in specs]
    metafunc.parametrize("reward_model", specs, ids=names, indirect=True, scope="session")
    prompts = declaration.prompts
    metafunc.parametrize("prompt", prompts, ids=[p.name for p in prompts], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Stop on a wrong registry; expect the known failures; keep a model on one xdist worker."""
    error = config.stash[SESSION].error
    if error is not None:
        raise pytest.UsageError(str(error))
    for item in items:
        audit = _audit_of(item)
        if audit is None:
            continue
        reason = known_reason(audit.spec.known, audit.declaration.name, audit.prompt.name)
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, raises=AuditFailed, strict=True))
        if config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group(audit.spec.name))


@dataclass(frozen=True, slots=True)
class _Audit:
    """What a collected item audits."""

    declaration: Declaration
    spec: ModelSpec
    prompt: Prompt


def _audit_of(item: pytest.Item) -> _Audit | None:
    if not isinstance(item, pytest.Function):
        return None
    declaration = declared(item.function)
    if declaration is None or not hasattr(item, "callspec"):
        return None
    params: dict[str, Any] = item.callspec.params
    return _Audit(declaration, params["reward_model"], params["prompt"])


# --- fixtures --------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def reward_model(request: pytest.FixtureRequest) -> Iterator[RewardModel]:
    """The model under audit (its weights are loaded at the first score that is not cached)."""
    from rmaudit.models.load import from_spec

    with _terminal(request.config):
        model = from_spec(_param(request), cache=_cache(request.config))
    yield model
    model.close()


@pytest.fixture
def prompt(request: pytest.FixtureRequest) -> Prompt:
    """The prompt under audit."""
    asked: Prompt = _param(request)
    return asked


@pytest.fixture
def sweep(
    request: pytest.FixtureRequest, reward_model: RewardModel, prompt: Prompt, _keys: list[str]
) -> Sweep:
    """Every token id of the model, scored under the prompt; made once, then read from the cache."""
    from rmaudit.sweeps.sweep import sweep as run

    known = request.config.stash[SESSION].sweeps
    place = (reward_model.name, prompt.name)
    if place not in known:
        with _terminal(request.config):
            known[place] = run(reward_model, prompt, cache=_cache(request.config))
    _keys.append(known[place].key)
    return known[place]


@pytest.fixture
def rewards(
    request: pytest.FixtureRequest, reward_model: RewardModel, prompt: Prompt, _keys: list[str]
) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """A function from texts to their rewards under the prompt, shape (n,); cached like sweeps."""
    from rmaudit.sweeps.sweep import score_texts

    def score(texts: Sequence[str]) -> NDArray[np.float32]:
        with _terminal(request.config):
            scores, key = score_texts(reward_model, prompt, texts, cache=_cache(request.config))
        _keys.append(key)
        return scores

    return score


@pytest.fixture
def references(reward_model: RewardModel, prompt: Prompt) -> References:  # noqa: ARG001
    """Lexicons and human ratings, without what the model was trained on."""
    return References(salt=reward_model.spec.trained_on)


@pytest.fixture
def rng(
    request: pytest.FixtureRequest, reward_model: RewardModel, prompt: Prompt
) -> np.random.Generator:
    """A generator of this audit, model and prompt: neither order nor xdist changes its draws."""
    import numpy as np

    name = f"{request.function.__name__}|{reward_model.name}|{prompt.name}"
    place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    return np.random.default_rng([request.config.getoption(RM_SEED), place])


@pytest.fixture
def _keys(request: pytest.FixtureRequest) -> list[str]:
    """The keys of the stored scores that this test read."""
    keys: list[str] = request.node.stash.setdefault(KEYS, [])
    return keys


def _param(request: pytest.FixtureRequest) -> Any:  # noqa: ANN401
    if not hasattr(request, "param"):
        message = f"the fixture {request.fixturename!r} serves functions declared with @audit only"
        raise pytest.UsageError(message)
    return request.param


def _terminal(config: pytest.Config) -> AbstractContextManager[None]:
    """The real terminal, for a progress bar under pytest's capture."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None or not sys.__stderr__ or not sys.__stderr__.isatty():
        return nullcontext()
    return capture.global_and_fixture_disabled()  # type: ignore[no-any-return]


# --- running ---------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an audit, judge its estimate and fail unless it passes."""
    __tracebackhide__ = True
    audit = _audit_of(pyfuncitem)
    if audit is None:
        return None
    names = pyfuncitem.function.__code__.co_varnames[: pyfuncitem.function.__code__.co_argcount]
    try:
        estimate = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    except ReferenceMissing as error:
        if pyfuncitem.config.getoption(RM_MISSING) == "skip":
            pytest.skip(str(error))
        raise
    if not isinstance(estimate, Estimate):
        message = f"{pyfuncitem.name} must return an Estimate, got {type(estimate).__name__}"
        raise TypeError(message)
    given = pyfuncitem.funcargs.get("references")
    if isinstance(given, References) and given.caveats:
        estimate = replace(estimate, caveats=(*estimate.caveats, *given.caveats))
    keys: list[str] = pyfuncitem.stash.setdefault(KEYS, [])
    finding = judge(
        audit.declaration,
        estimate,
        model=audit.spec.name,
        prompt=audit.prompt,
        nodeid=pyfuncitem.nodeid,
        known=known_reason(audit.spec.known, audit.declaration.name, audit.prompt.name),
        repeat=_repeat(pyfuncitem, audit),
        sweeps=tuple(dict.fromkeys(keys)),
    )
    pyfuncitem.stash[FINDING] = finding
    if finding.verdict is Verdict.FAIL:
        raise AuditFailed(explain(finding))
    if finding.verdict is Verdict.INCONCLUSIVE:
        raise AuditInconclusive(explain(finding))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the finding into the test report: plain text, which crosses processes."""
    report = yield
    audit = _audit_of(item)
    if audit is None or report.when == "teardown":
        return report
    finding = item.stash.get(FINDING, None)
    if finding is None and call.excinfo is not None:
        skipped = call.excinfo.errisinstance(pytest.skip.Exception)
        finding = unmeasured(
            audit.declaration,
            Verdict.SKIPPED if skipped else Verdict.ERROR,
            str(call.excinfo.value),
            model=audit.spec.name,
            prompt=audit.prompt,
            nodeid=item.nodeid,
            repeat=_repeat(item, audit),
        )
    if finding is not None:
        report.user_properties.append((_PROPERTY, json.dumps(finding.to_json())))
    if report.failed and call.excinfo is not None and call.excinfo.errisinstance(AuditFailed):
        report.longrepr = str(call.excinfo.value)
    return report


def _repeat(item: pytest.Item, audit: _Audit) -> str:
    """The command that runs one audit again."""
    registered = audit.spec.name in item.config.stash[SESSION].registered
    model = audit.spec.name if registered else audit.spec.source
    seed = item.config.getoption(RM_SEED)
    return shlex.join(["pytest", item.nodeid, RM_MODEL, model, RM_SEED, str(seed)])


# --- reporting -------------------------------------------------------------------------------


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Which models were asked for, where any were."""
    if not config.getoption("rm_model"):
        return []
    names = ", ".join(spec.name for spec in _specs(config))
    return [f"rmaudit: {names}; cache {_cache(config)}"]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Collect the findings of test reports, in the process that reports."""
    if not hasattr(session.config, "workerinput"):
        collector = Collector(session.config.stash[SESSION])
        session.config.pluginmanager.register(collector, "rmaudit-collector")


@dataclass(eq=False, slots=True)  # pytest keeps its plugins in sets
class Collector:
    """Reads findings from test reports, wherever the tests ran."""

    session: Session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the finding out of a report."""
        for name, value in report.user_properties:
            if name == _PROPERTY:
                self.session.findings.append(Finding.from_json(json.loads(str(value))))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the reports; a run that measured nothing is not green."""
    config = session.config
    state = config.stash[SESSION]
    if hasattr(config, "workerinput") or not state.findings:
        return
    state.report = _publish(config, state.findings)
    if exitstatus == pytest.ExitCode.OK and all(f.estimate is None for f in state.findings):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None]:
    """The findings, a line each, after pytest's own summary; the last line names the report."""
    yield
    state = config.stash[SESSION]
    if state.findings:
        from rmaudit.report import terminal

        terminalreporter.section("rmaudit")
        for line in terminal.lines(state.findings, state.report):
            terminalreporter.write_line(line)


def _publish(config: pytest.Config, findings: list[Finding]) -> Path:
    """Write this run's reports; the path of the HTML one, relative to here if it is below."""
    from rmaudit.report.publish import publish
    from rmaudit.sweeps.store import Store

    given = config.getoption(RM_REPORT)
    path = publish(
        findings,
        _specs(config),
        Store(_cache(config)),
        base=Path(given).expanduser() if given else config.invocation_params.dir / "reports",
        command=shlex.join(["pytest", *config.invocation_params.args]),
        seed=config.getoption(RM_SEED),
    ).absolute()
    here = config.invocation_params.dir
    return path.relative_to(here) if path.is_relative_to(here) else path
