"""What was planned, and what comes of it: seen in the process that reports, wherever tests run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from rmaudit.plugin.collection import audited
from rmaudit.plugin.running import CARRIED, gap
from rmaudit.plugin.session import SESSION, Session
from rmaudit.report.codec import encode

FOLDER = "rmaudit_plan"  # tells xdist's workers where to write what they collected


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Watch the tests, in the process that reports."""
    if not hasattr(session.config, "workerinput"):
        watch = Watch(session.config.stash[SESSION])
        session.config.pluginmanager.register(watch, "rmaudit-watch")


@pytest.hookimpl(tryfirst=True)  # before the terminal asks what there is to say of it
def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep what is planned: the audits that -k, -m and others have left."""
    option, state = session.config.option, session.config.stash[SESSION]
    if option.collectonly or option.setuponly or state.error:  # nothing is to be measured
        return
    plan = state.plan
    audits = [(item, audit) for item in session.items if (audit := audited(item))]
    plan.selected = {item.nodeid: encode(gap(item, audit)) for item, audit in audits}
    told = getattr(session.config, "workerinput", {})
    if FOLDER in told:
        plan.send(Path(told[FOLDER]), told["workerid"])


@dataclass(eq=False, slots=True)  # pytest keeps its plugins in sets
class Watch:
    """Reads findings from test reports, and notes what goes wrong."""

    session: Session

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401  (xdist has no types)
        """Tell a worker of xdist where to write what it collected."""
        plan = self.session.plan
        if plan.folder is None:
            plan.folder = TemporaryDirectory(prefix="rmaudit-plan-")
        node.workerinput[FOLDER] = plan.folder.name

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Take the order of the tests: workers have one and the same, or none is run."""
        self.session.order = {nodeid: place for place, nodeid in enumerate(ids)}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be collected."""
        if report.failed:
            self.session.plan.broken.append(report.nodeid or "the folder")

    def pytest_runtest_logstart(self) -> None:
        """Note that tests began to run."""
        self.session.plan.begun = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the finding out of a report; note a test whose worker died."""
        if finding := report.__dict__.get(CARRIED):
            self.session.carried[report.nodeid] = finding  # of a test that is run again, the last
        elif report.failed and report.when not in {"setup", "call", "teardown"}:
            self.session.plan.crashed[report.nodeid] = str(report.longrepr)
