"""Gather the findings, write the reports, end with a summary."""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rmaudit.plugin.options import RM_RECORDED, RM_SAMPLE, RM_SEED
from rmaudit.plugin.running import CARRIED
from rmaudit.plugin.session import (
    SESSION,
    Session,
    cache_folder,
    model_specs,
    policy_of,
    report_folder,
)
from rmaudit.report.codec import decode
from rmaudit.report.safe_text import line, log
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.judge import decide

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"  # names the file that GitHub shows on a job's page


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Which models were asked for, where any were."""
    if not config.getoption("rm_model"):
        return []
    names = log(line(", ".join(spec.name for spec in model_specs(config))))
    size = config.getoption(RM_SAMPLE)
    what = f"a sample of {size:,} token ids; " if size else ""
    what += "published scores only; " if config.getoption(RM_RECORDED) else ""
    return [f"rmaudit: {names}; {what}cache {cache_folder(config)}"]


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

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Take the order of the tests: workers have one and the same, or none is run."""
        self.session.order = {nodeid: place for place, nodeid in enumerate(ids)}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the finding out of a report."""
        if carried := report.__dict__.get(CARRIED):
            self.session.findings.append(decode(Finding, carried))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the reports; a run that measured nothing, or that a finding blocks, is not green."""
    config = session.config
    state = config.stash[SESSION]
    if hasattr(config, "workerinput") or not state.findings:
        return
    state.findings.sort(key=lambda finding: state.order.get(finding.claim.nodeid, 0))
    state.findings = decide(state.findings, policy_of(config), state.today)
    state.report = _publish(config, state.findings)
    state.warnings = _summarized(config.invocation_params.dir / state.report.parent)
    if exitstatus == pytest.ExitCode.OK and any(f.blocks for f in state.findings):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif exitstatus == pytest.ExitCode.OK and all(f.estimate is None for f in state.findings):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None]:
    """The findings, a line each, after pytest's own summary; the last line names the report."""
    yield
    state = config.stash[SESSION]
    if state.findings:
        from rmaudit.report.writers import terminal

        terminalreporter.section("rmaudit")
        for text in (*state.warnings, *terminal.lines(state.findings, state.report)):
            terminalreporter.write_line(text)


def _publish(config: pytest.Config, findings: list[Finding]) -> Path:
    """Write this run's reports; the path of the HTML one, relative to here if it is below."""
    from rmaudit.report.publish import publish
    from rmaudit.scores.store import Store

    path = publish(
        findings,
        model_specs(config),
        Store(cache_folder(config)),
        base=report_folder(config),
        command=shlex.join(["pytest", *config.invocation_params.args]),
        seed=config.getoption(RM_SEED),
        made=config.stash[SESSION].memory.sweeps.values(),
    ).absolute()
    here = config.invocation_params.dir
    return path.relative_to(here) if path.is_relative_to(here) else path


def _summarized(folder: Path) -> list[str]:
    """Append the run's summary to a CI job's page where there is one; a warning if that fails."""
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
