"""Gather the findings of a run by pytest's hooks, judge them, and write results and report.

The hooks work in the reporting process: with xdist that is the controller. `Watch` reads findings
from test reports, wherever tests run. At the end `run_outcome` judges them and writes the report.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from rmaudit.interrupts import Terminated, held_back, sigterm_raises
from rmaudit.plugin.collection import handle_signals, in_order, no_models
from rmaudit.plugin.report_of_audit import CARRIED
from rmaudit.plugin.run_audit import unmeasured_finding
from rmaudit.plugin.run_outcome import conclude, ending, render
from rmaudit.plugin.run_plan import plan_of
from rmaudit.plugin.run_state import (
    OUTCOME,
    SELECTED,
    Course,
    RunOutcome,
    SelectedAudits,
    received,
    selected,
)
from rmaudit.report.json_codec import encode
from rmaudit.report.safe_text import line, log

FOLDER = "rmaudit_plan"  # tells xdist's workers where to write what they collected


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Register `Watch`, which reads findings from test reports, in the reporting process."""
    if not hasattr(session.config, "workerinput"):
        watch = session.config.stash[WATCH] = Watch(session.config.stash[OUTCOME])
        session.config.pluginmanager.register(watch, "rmaudit-watch")


@pytest.hookimpl(tryfirst=True)  # before the terminal asks what there is to say of it
def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which audits are selected, once -k, -m and other plugins have removed tests."""
    config, option, blank = session.config, session.config.option, dict[str, str]()
    if no_models(config) or option.collectonly:
        return
    if not option.setuponly:  # nothing is to be measured
        audits = in_order(config, session.items)
        blank = {item.nodeid: encode(unmeasured_finding(item, audit)) for item, audit in audits}
    chosen = config.stash[SELECTED] = selected(config, blank, session.items)
    told = getattr(config, "workerinput", {})
    if FOLDER in told:
        chosen.send(Path(told[FOLDER]), told["workerid"])


@dataclass(eq=False, slots=True)  # pytest keeps its plugins in sets
class Watch:
    """Pytest plugin that reads findings from test reports and notes what goes wrong."""

    outcome: RunOutcome  # notes Ctrl-C and SIGTERM
    course: Course = field(default_factory=Course)  # what is seen of the tests
    folder: TemporaryDirectory[str] | None = None  # where xdist's workers write what they collected
    workers: dict[str, int] = field(default_factory=dict)  # process ids on this machine
    shown: dict[str, list[Any]] = field(default_factory=dict)  # reports to list at the end

    def received(self) -> SelectedAudits | None:
        """Return what xdist's workers selected, and delete their folder; None without workers."""
        if self.folder is None:
            return None
        found = received(Path(self.folder.name))
        self.folder.cleanup()
        return found

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401  (xdist has no types)
        """Tell an xdist worker into which folder to write its list of collected audits."""
        if self.folder is None:
            handle_signals(node.config, sigterm_raises())  # so that the folder goes, too
            self.folder = TemporaryDirectory(prefix="rmaudit-plan-")
        node.workerinput[FOLDER] = self.folder.name
        if node.gateway.spec.popen:  # on this machine
            self.workers[node.gateway.id] = node.gateway._rinfo().pid  # noqa: SLF001  (nothing public has it)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401  (xdist has no types)
        """Forget a worker that ended: its number may be another process's soon."""
        self.workers.pop(node.gateway.id, None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Note the order of the tests, which is the same in all xdist workers."""
        self.course.order = {nodeid: place for place, nodeid in enumerate(ids)}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file or folder that could not be collected."""
        if report.failed:
            self.course.broken.append(report.nodeid or "the folder")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Import what writes results.json and the summary, whole, before somebody may press Ctrl-C.

        NumPy cannot be imported a second time where its first import was broken off.
        """
        if session.config.stash[SELECTED].selected and plan_of(session.config).planner is None:
            with held_back():
                from rmaudit.report import results_of_run, writers  # noqa: F401  (see above)

                writers.own()

    def pytest_runtest_logstart(self) -> None:
        """Note that tests began to run."""
        self.course.begun = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the finding out of a test report; note other failures and workers that died."""
        if finding := report.__dict__.get(CARRIED):
            self.course.carried[report.nodeid] = finding  # of a test that is run again, the last
        elif report.failed and report.when not in {"setup", "call", "teardown"}:
            self.course.crashed[report.nodeid] = str(report.longrepr)
        elif report.failed:
            which = "failed in teardown" if report.when == "teardown" else "failed, and is no audit"
            self.course.beside[report.nodeid] = f"{report.nodeid} {which}"

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note the exit code, and tell xdist's workers to end, which takes it 5 seconds or more."""
        error = excinfo.value
        asked = type(error) in {KeyboardInterrupt, Terminated}  # and is no fault in collecting
        if asked and isinstance(error, KeyboardInterrupt):
            self.outcome.stopping(error)
        for pid in self.workers.values() if self.outcome.stopped else ():
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Give pytest its full lists back, so that its list at the end has what was hidden."""
        terminalreporter.stats.update(self.shown)


WATCH = pytest.StashKey[Watch]()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return a header line with the models to audit, if options name any."""
    return [models_named(config)] if plan_of(config).options.models else []


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Return a line with the default model, if audits are selected and no model was named."""
    chosen = config.stash[SELECTED].selected and not plan_of(config).options.models
    return [models_named(config)] if chosen else []


def models_named(config: pytest.Config) -> str:
    """Return a line that names the audited models, a sample or recorded scores, and the cache."""
    plan = plan_of(config)
    names = ", ".join(
        spec.name if plan.registry.has(spec) else f"{spec.name} ({spec.source})"
        for spec in plan.specs
    )
    if not plan.options.models:
        names += f" (the default of {plan.registry.path}: no model was named)"
    size = plan.options.sample
    what = f"a sample of {size:,} token ids; " if size else ""
    what += "published scores only; " if plan.options.recorded else ""
    return log(line(f"rmaudit: {names}; {what}cache {plan.cache_url or plan.cache}"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Generator[None]:
    """Judge findings and write results.json before pytest's summary, and the pages after it.

    `ending` says with which exit code the run ends.
    """
    config, plan = session.config, plan_of(session.config)
    if hasattr(config, "workerinput") or plan.planner is not None:
        yield
        return
    outcome, watch = config.stash[OUTCOME], config.stash[WATCH]
    with outcome.noting_interrupt():
        audits = watch.received() or config.stash[SELECTED]
        course = watch.course
        looks_whole = course.begun or exitstatus == pytest.ExitCode.OK
        with held_back():
            if course.carried or (looks_whole and audits.selected):
                conclude(session, course, audits, exitstatus)
    with outcome.noting_interrupt():
        yield
    render(config)  # unless the summary has
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if outcome.undrawn and reporter is not None:  # nor was it told there
        reporter.write_line(log(line(outcome.undrawn)))
    session.exitstatus = ending(outcome, session.exitstatus, gate=plan.options.gate)
