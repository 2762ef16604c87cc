"""Find which scores a run needs, without scoring anything.

A pytest of its own collects the audits. Each is run on the cached scores and, where these are
missing, on random numbers (`rmaudit.distributed.missing_scores`): only what it requests matters,
and its result is thrown away.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import inspect
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest

from rmaudit.errors import RmauditError
from rmaudit.interrupts import Terminated
from rmaudit.plugin.collection import audited
from rmaudit.plugin.pytest_fixtures import case_of, terminal
from rmaudit.plugin.run_from_python import run_quietly
from rmaudit.plugin.run_plan import PLANNER, plan_of
from rmaudit.plugin.run_state import loads_base
from rmaudit.report.safe_text import line, log
from rmaudit.runs.audit_case import Audited, Case, opened
from rmaudit.runs.fixture_registry import FIXTURES
from rmaudit.runs.run_scores import Request

if TYPE_CHECKING:
    from rmaudit.config.model_registry import ModelSpec
    from rmaudit.distributed.missing_scores import Needs, Plan
    from rmaudit.models.model_interfaces import Scored
    from rmaudit.runs.audit_case import RunSettings
    from rmaudit.scores.score_store import Store

_OUTCOMES = (pytest.skip.Exception, pytest.fail.Exception, pytest.xfail.Exception)
_MODELS = {"reward_model", "baseline_model"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Score what the audits need on a Ray cluster before they run (`--rm-on ray`).

    This happens only in the reporting process. The audits then find their scores in the cache;
    scores that Ray could not make are made when an audit requests them.

    Raises:
        pytest.UsageError: Ray is missing or cannot be reached, or the audits cannot be planned.
    """
    config, plan = session.config, plan_of(session.config)
    on = plan.options.on
    if not on or hasattr(config, "workerinput") or plan.planner or config.option.collectonly:
        return
    from rmaudit.distributed import ray_scoring

    cluster = ray_scoring.Cluster(on)
    planned = partial(collect, [*map(str, config.invocation_params.args)], PlanningCache())
    try:
        with terminal(config):
            made = ray_scoring.make([planned], cluster, lambda _: None)
    except RmauditError as error:
        raise pytest.UsageError(log(line(str(error)))) from None
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        said = [f"{made.answers:,} answers scored on {cluster.address}", *made.failed.values()]
        for each in said:
            reporter.write_line(log(line(f"rmaudit: {each}")))


@dataclass
class PlanningCache:
    """Results of earlier dry runs of the same audits, so that the next dry run is quick.

    Attributes:
        models: the models that were opened, by their entries.
        known: the requests of an audit while it runs, by test, once no score can change them.
    """

    models: dict[ModelSpec, Scored] = field(default_factory=dict)
    known: dict[str, list[tuple[Scored, Request]]] = field(default_factory=dict)


class Planner:
    """Pytest plugin that collects which scores a run's audits need.

    Attributes:
        before: what earlier plannings found out; this one adds to it.
        needs: what was requested so far; None before the run begins.
        unknown: audits that take the model itself, so that nobody knows what they score.
        broken: why an audit could not be planned, by test.
        stopped: Ctrl-C or SIGTERM, which pytest keeps to itself.
    """

    __name__ = PLANNER

    def __init__(self, before: PlanningCache) -> None:
        """Start with `before`, the results of earlier dry runs."""
        self.before = before
        self.needs: Needs | None = None
        self.unknown: list[str] = []
        self.broken: dict[str, str] = {}
        self.stopped: KeyboardInterrupt | None = None

    def opened(self, spec: ModelSpec, options: RunSettings) -> Scored:
        """Return the model of a registry entry; each is opened only once.

        Raises as `audit_case.opened`.
        """
        models = self.before.models
        if spec not in models:
            models[spec] = opened(spec, options)
        return models[spec]

    def on_request(self, model: Scored, request: Request) -> None:
        """Note a request; scores that are looked up before the next request belong to it."""
        if self.needs is not None:
            self.needs.on_request(model, request)

    def watch(self, store: Store, device: str) -> Needs:
        """Return a stand-in for `store` that notes the requests, and set it as `needs`.

        `device` is where a base model runs.
        """
        from rmaudit.distributed.missing_scores import Needs

        self.needs = Needs(store, device)
        return self.needs

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note why an audit could not be planned (a failed test report)."""
        if report.failed:
            self.broken[report.nodeid] = str(report.longrepr).strip().splitlines()[-1]

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that somebody ends the planning; errors in collecting come here, too."""
        if type(excinfo.value) in {KeyboardInterrupt, Terminated}:
            self.stopped = cast("KeyboardInterrupt", excinfo.value)

    def note(self, item: pytest.Function) -> None:
        """Note what an audit requests besides its fixtures; one that takes a model is `unknown`."""
        audit, case = audited(item), case_of(item)
        if audit is None or case is None or self.needs is None:
            return
        names = inspect.signature(item.obj).parameters
        given = {name: item.funcargs[name] for name in names}
        if _MODELS & set(names):
            self.unknown.append(item.name)
        elif any(name not in FIXTURES or FIXTURES[name].asks for name in names):
            self._record_requests(item, given, case)
        if _asks_base(item, audit, case):
            for prompt in case.prompts:
                with contextlib.suppress(RmauditError):  # then there is no such null control
                    self.needs.scores.base(case.model, prompt)

    def _record_requests(self, item: pytest.Function, given: Mapping[str, Any], case: Case) -> None:
        """Run the audit to record its requests; if scores are missing, run again on random ones."""
        from rmaudit.distributed.missing_scores import settled

        needs, known = cast("Needs", self.needs), self.before.known
        if item.nodeid in known:
            for model, request in known[item.nodeid]:
                needs.ask(model, request)
            return
        there = dict(needs.found)
        again = {  # so that a second run of the audit draws the same random numbers
            name: copy.deepcopy(value) if name == "rng" else value for name, value in given.items()
        }
        needs.requests, needs.cut = 0, False
        _run_for_requests(item, given)
        asked = {key: need for key, need in needs.found.items() if key not in there}
        if needs.any_missing(needs.found):
            sweeps = case.memory.sweeps
            for place in [
                place for place, sweep in sweeps.items() if needs.any_missing(sweep.keys)
            ]:
                del sweeps[place]  # a search asks for it as the audit runs
            needs.found, needs.turn, needs.patience = dict(there), 1, needs.requests
            needs.requests = 0
            _run_for_requests(
                item, {name: _with_new_random_scores(value, needs) for name, value in again.items()}
            )
            asked = settled(asked, needs.found)
            needs.found, needs.turn, needs.patience = {**there, **asked}, 0, None
        if not needs.cut and all(need.settled for need in asked.values()):
            known[item.nodeid] = [(need.model, need.request) for need in asked.values()]


def _asks_base(item: pytest.Function, audit: Audited, case: Case) -> bool:
    """Return whether a null control of the audit will need the base model's log-probabilities."""
    from rmaudit.runs.null_controls import BASE

    named = BASE in audit.declaration.stops and case.model.spec.base is not None
    return named and not case.options.asked.recorded and loads_base(item)


def _run_for_requests(item: pytest.Function, given: Mapping[str, Any]) -> None:
    """Run an audit only to record its requests; its result and every error are ignored."""
    with contextlib.suppress(Exception, *_OUTCOMES):
        item.obj(**given)


def _with_new_random_scores(value: Any, needs: Needs) -> Any:  # noqa: ANN401  (any fixture)
    """Return an audit's argument; each sweep in it with missing scores gets new random ones."""
    import numpy as np

    from rmaudit.scores.sweep_result import Sweep

    if isinstance(value, Mapping):
        return {name: _with_new_random_scores(each, needs) for name, each in value.items()}
    if isinstance(value, Sweep) and needs.any_missing(value.keys):
        scores = np.random.default_rng(1).standard_normal(len(value.frame)).astype(np.float32)
        return replace(value, frame=value.frame.assign(score=scores))
    return value


def collect(arguments: Sequence[str], before: PlanningCache | None = None) -> Plan:
    """Return which scores a run with these pytest arguments needs, and which are missing.

    `before` is what earlier plannings of the same run found out; this one adds to it.

    Raises:
        RmauditError: pytest rejects the arguments or the audits, in its own words.
        KeyboardInterrupt: somebody ends it.
    """
    from rmaudit.distributed.missing_scores import Plan

    planner = Planner(before or PlanningCache())
    with tempfile.TemporaryDirectory(prefix="rmaudit-plan-") as reports:
        own = ["--rm-report", reports, "-p", "no:cacheprovider", "-q"]
        own += ["-n0"] if importlib.util.find_spec("xdist") else []
        code, said = run_quietly([*arguments, *own], planner)
    if planner.stopped is not None:
        raise planner.stopped
    bad = {pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR}
    needs = planner.needs
    if code in bad or needs is None or (planner.broken and not needs.found):
        why = [*planner.broken.values()] or said[-1:] or ["no audit was collected"]
        raise RmauditError(why[0].removeprefix("ERROR: "))
    found = tuple(needs.found.values())
    return Plan(needs.store, found, tuple(planner.unknown), planner.broken, needs.device)
