"""Pytest hooks that gather the findings of a run, judge them, and write its results and report.

They work in the reporting process: with xdist that is the controller. `Watch` reads findings from
test reports, wherever tests run. At the end they are judged, and results.json and its pages are
written.
"""

from __future__ import annotations

import os
import shlex
import signal
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import pytest

from rmaudit.config.servers import masked_urls
from rmaudit.interrupts import Terminated, held_back, sigterm_raises
from rmaudit.plugin.collection import handle_signals, in_order, left_out
from rmaudit.plugin.pytest_options import cache_named, options_of, planner_of, store_of
from rmaudit.plugin.run_audit import CARRIED, unmeasured_finding
from rmaudit.plugin.session import (
    SESSION,
    Session,
    exit_code,
    model_specs,
    policy_of,
    registered,
    report_folder,
)
from rmaudit.report.json_codec import decode, encode
from rmaudit.report.safe_text import line, log
from rmaudit.verdicts.decision import decide
from rmaudit.verdicts.findings import AnyFinding, Figure, Finding
from rmaudit.verdicts.run_verdict import Outcome, of_run

if TYPE_CHECKING:
    from rmaudit.report.results_document import Results

FOLDER = "rmaudit_plan"  # tells xdist's workers where to write what they collected
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"  # names the file that GitHub shows on a job's page


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Register `Watch`, which reads findings from test reports, in the reporting process."""
    if not hasattr(session.config, "workerinput"):
        watch = Watch(session.config.stash[SESSION])
        session.config.pluginmanager.register(watch, "rmaudit-watch")


@pytest.hookimpl(tryfirst=True)  # before the terminal asks what there is to say of it
def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which audits are selected, once -k, -m and other plugins have removed tests."""
    option, state = session.config.option, session.config.stash[SESSION]
    if option.collectonly or option.setuponly or state.error:  # nothing is to be measured
        return
    plan = state.plan
    audits = in_order(session.config, session.items)
    plan.selected = {item.nodeid: encode(unmeasured_finding(item, audit)) for item, audit in audits}
    told = getattr(session.config, "workerinput", {})
    if FOLDER in told:
        plan.send(Path(told[FOLDER]), told["workerid"])


@dataclass(eq=False, slots=True)  # pytest keeps its plugins in sets
class Watch:
    """Pytest plugin that reads findings from test reports and notes what goes wrong."""

    session: Session

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401  (xdist has no types)
        """Tell an xdist worker into which folder to write its list of collected audits."""
        plan = self.session.plan
        if plan.folder is None:
            handle_signals(node.config, sigterm_raises())  # so that the folder goes, too
            plan.folder = TemporaryDirectory(prefix="rmaudit-plan-")
        node.workerinput[FOLDER] = plan.folder.name
        if node.gateway.spec.popen:  # on this machine
            plan.workers[node.gateway.id] = node.gateway._rinfo().pid  # noqa: SLF001  (kept for others)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401  (xdist has no types)
        """Forget a worker that ended: its number may be another process's soon."""
        self.session.plan.workers.pop(node.gateway.id, None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Note the order of the tests, which is the same in all xdist workers."""
        self.session.order = {nodeid: place for place, nodeid in enumerate(ids)}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file or folder that could not be collected."""
        if report.failed:
            self.session.plan.broken.append(report.nodeid or "the folder")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Import what writes results.json and the summary, whole, before somebody may press Ctrl-C.

        NumPy cannot be imported a second time where its first import was broken off.
        """
        if self.session.plan.selected and planner_of(session.config) is None:
            with held_back():
                from rmaudit.report import results_of_run, writers  # noqa: F401  (see above)

                writers.own()

    def pytest_runtest_logstart(self) -> None:
        """Note that tests began to run."""
        self.session.plan.begun = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the finding out of a test report; note other failures and workers that died."""
        if finding := report.__dict__.get(CARRIED):
            self.session.carried[report.nodeid] = finding  # of a test that is run again, the last
        elif report.failed and report.when not in {"setup", "call", "teardown"}:
            self.session.plan.crashed[report.nodeid] = str(report.longrepr)
        elif report.failed:
            which = "failed in teardown" if report.when == "teardown" else "failed, and is no audit"
            self.session.plan.beside[report.nodeid] = f"{report.nodeid} {which}"

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note the exit code, and tell xdist's workers to end, which takes it 5 seconds or more."""
        error = excinfo.value
        asked = type(error) in {KeyboardInterrupt, Terminated}  # and is no fault in collecting
        if asked and isinstance(error, KeyboardInterrupt):
            self.session.stopped = exit_code(error)
        for pid in self.session.plan.workers.values() if self.session.stopped else ():
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Give pytest its full lists of failures back, of which its summary printed only some."""
        terminalreporter.stats.update({k: v for k, v in self.session.reports.items() if v})


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return a header line with the models to audit, if options name any."""
    return [models_named(config)] if options_of(config).models else []


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Return a line with the default model, if audits are selected and no model was named."""
    chosen = config.stash[SESSION].plan.selected and not options_of(config).models
    return [models_named(config)] if chosen else []


def models_named(config: pytest.Config) -> str:
    """Return a line that names the audited models, a sample or recorded scores, and the cache."""
    specs, registry = model_specs(config), config.stash[SESSION].registry
    names = ", ".join(
        spec.name if registered(spec, registry) else f"{spec.name} ({spec.source})"
        for spec in specs
    )
    if not options_of(config).models:
        names += f" (the default of {registry.path}: no model was named)" if registry else ""
    size = options_of(config).sample
    what = f"a sample of {size:,} token ids; " if size else ""
    what += "published scores only; " if options_of(config).recorded else ""
    return log(line(f"rmaudit: {names}; {what}cache {cache_named(config)}"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Generator[None]:
    """Judge findings and write results.json before pytest's summary, and the pages after it.

    `ending` says with which exit code the run ends.
    """
    config = session.config
    state = config.stash[SESSION]
    if hasattr(config, "workerinput") or planner_of(config) is not None:
        yield
        return
    with _noting_interrupt(state):
        state.plan.receive()
        looks_whole = state.plan.begun or exitstatus == pytest.ExitCode.OK
        with held_back():
            if state.carried or (looks_whole and state.plan.selected):
                _gather_findings(session, state, exitstatus)
                with _guarded(state, "results.json"):
                    _write_results(config, state)
                state.gaps = _why_incomplete(state)
                state.verdict = of_run(state.findings, state.gaps)
    with _noting_interrupt(state):
        yield
    render(state)  # unless the summary has
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if state.undrawn and reporter is not None:  # nor was it told there
        reporter.write_line(log(line(state.undrawn)))
    session.exitstatus = ending(state, session.exitstatus, gate=options_of(config).gate)


@contextmanager
def _noting_interrupt(state: Session) -> Iterator[None]:
    """Note in `state` that Ctrl-C or SIGTERM ended the `with` block, and go on after it."""
    try:
        yield
    except KeyboardInterrupt as error:
        state.stopped = exit_code(error)


def ending(state: Session, code: int, *, gate: bool) -> int:
    """Return the run's exit code, given the `code` with which pytest would end.

    The code is not 0 if a finding blocks, if nothing was measured, or if the run was interrupted.
    With `gate` it is 0 only if the run PASSES, and never for a run without any audit.
    """
    if state.stopped:
        return state.stopped
    if code != pytest.ExitCode.OK or (state.verdict is None and not gate):
        return code
    blocked = any(finding.blocks for finding in state.findings)
    if blocked or state.interrupted or state.unwritten:
        return pytest.ExitCode.TESTS_FAILED
    found: list[AnyFinding] = [*state.findings, *state.figures]
    if all(each.estimate is None for each in found):
        return pytest.ExitCode.NO_TESTS_COLLECTED
    passes = state.verdict is not None and state.verdict.outcome is Outcome.PASSES
    return code if passes or not gate else pytest.ExitCode.TESTS_FAILED


def _why_incomplete(state: Session) -> list[str]:
    """Return the reasons why the run is not complete."""
    if not state.results:
        said = [state.interrupted or "results.json was not written"]
        return [*said, *state.plan.faults()]
    run = state.results[0].run
    if not state.interrupted:
        return list(run.gaps)
    return [state.interrupted, *(gap for gap in run.gaps if gap != run.gap)]


def _gather_findings(session: pytest.Session, state: Session, exitstatus: int) -> None:
    """Gather and judge all findings; a selected audit without a result becomes an ERROR."""
    plan, stopped = state.plan, _why_stopped(session, exitstatus)
    missing = [test for test in plan.selected if test not in state.carried]
    findings = {test: _decoded(text) for test, text in state.carried.items()}
    for test in missing:
        blank = _decoded(plan.selected[test])
        findings[test] = replace(blank, reason=plan.why_not(test, stopped))
    order = {test: place for place, test in enumerate(plan.selected)} or state.order
    ordered = [findings[test] for test in sorted(findings, key=lambda test: order.get(test, 0))]
    state.figures = [each for each in ordered if isinstance(each, Figure)]
    judged = [each for each in ordered if isinstance(each, Finding)]
    state.findings = decide(judged, policy_of(session.config), state.today)
    unfinished = sum(isinstance(findings[test], Finding) for test in missing)
    left = f"{unfinished} of {len(judged)} selected audits have no result" if unfinished else ""
    state.interrupted = "; ".join(filter(None, [stopped, left]))
    state.finished = len(judged) - unfinished


def _decoded(text: str) -> AnyFinding:
    return decode(cast("type[AnyFinding]", AnyFinding), text)


def _why_stopped(session: pytest.Session, exitstatus: int) -> str:
    """Return why pytest ended the run early, "" if it did not."""
    for said in (session.shouldfail, session.shouldstop):
        if said:
            return said if isinstance(said, str) else "the run was stopped"
    if exitstatus not in [*pytest.ExitCode]:  # one's own, given to pytest.exit
        return f"the run was stopped with exit code {exitstatus}"
    return {
        pytest.ExitCode.INTERRUPTED: "the run was interrupted",
        pytest.ExitCode.INTERNAL_ERROR: "pytest or a plugin of it broke",
    }.get(pytest.ExitCode(exitstatus), "")


def _write_results(config: pytest.Config, state: Session) -> None:
    """Write results.json; note in `state` what it has, and how blessed releases compare."""
    from rmaudit.report.releases.release_regressions import blessed_comparisons
    from rmaudit.report.results_of_run import RunCounts, record

    selected = len(state.findings)
    with warnings.catch_warnings(record=True) as said:  # pytest tells none at a run's end
        warnings.simplefilter("always")
        state.results = record(
            state.findings,
            model_specs(config),
            store_of(config),
            base=report_folder(config).absolute(),
            command=masked_urls(shlex.join(["pytest", *config.invocation_params.args])),
            seed=options_of(config).seed,
            made=state.memory.sweeps.values(),
            own_words=state.own_words,
            course=RunCounts(
                collected=max(state.plan.collected, selected),
                selected=selected,
                finished=state.finished,
                interrupted=bool(state.interrupted),
                part=left_out(config),
                sample=options_of(config).sample,
                faults=state.plan.faults(),
            ),
            blessed=state.blessed,
            figures=state.figures,
        )
    told = (each.message for each in said if issubclass(each.category, UserWarning))
    state.warnings += [f"warning: {message}" for message in told]
    state.findings = [*state.results[0].findings]
    for each in blessed_comparisons(state.results[0]):
        state.against.append("; ".join(each.says))
        state.warnings += [each.old] if each.old else []


def render(state: Session) -> None:
    """Write the report's pages and a CI job's summary, and log the run to `--rm-log`; only once.

    After Ctrl-C or SIGTERM only what is quick is written, and `undrawn` says how to have the page.
    """
    if state.results is None:
        return
    (results, folder), state.results = state.results, None
    with _noting_interrupt(state):
        _write_report(state, results, folder)
    if state.stopped:
        undone = f"the page was not drawn{', nor the run logged' if state.log else ''}"
        state.undrawn = f"{undone}; to draw it, run rmaudit replay {_here(folder)}/results.json"


def _write_report(state: Session, results: Results, folder: Path) -> None:
    from rmaudit.report import writers

    with _guarded(state, f"a page of {folder}"):
        state.warnings += writers.write(results, folder, page=not state.stopped)[1]
        state.report = None if state.stopped else _here(folder / "index.html")
        state.warnings += _append_to_github_summary(folder)
    if state.log and not state.unwritten and not state.stopped:
        _log_to_tracker(state, state.log, results, folder)


def _here(path: Path) -> Path:
    """Return the path as one names it from the current folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _log_to_tracker(state: Session, tracker: str, results: Results, folder: Path) -> None:
    """Log the run to a tracker; if that fails, note a warning and do not fail the run."""
    from rmaudit.report import experiment_trackers

    try:
        state.logged += experiment_trackers.log(tracker, results, folder)
    except Exception as error:  # noqa: BLE001  (whatever a client of others raises)
        why = masked_urls(f"{type(error).__name__}: {error}")  # a server's URL may have a password
        state.unlogged.append(f"warning: the run was not logged to {tracker}: {why}")


@contextmanager
def _guarded(state: Session, what: str) -> Iterator[None]:
    """Catch any exception in the block, and note as an error that `what` was not written."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (a full disk, a page that cannot be drawn)
        why = f"{type(error).__name__}: {error}"
        state.unwritten.append(f"error: {what} was not written: {why}")


def _append_to_github_summary(folder: Path) -> list[str]:
    """Append the run's summary to a GitHub job's page, if any; return a warning if that fails."""
    place = os.environ.get(STEP_SUMMARY)
    if not place:
        return []
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    try:
        with Path(place).open("a", encoding="utf-8", newline="\n") as page:
            page.write(f"\n{summary}")  # what others wrote may lack its last line break
    except OSError as error:
        return [f"warning: the summary was not appended to ${STEP_SUMMARY}: {error.strerror}"]
    return []
