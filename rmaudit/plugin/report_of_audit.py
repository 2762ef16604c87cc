"""Put an audit's finding into its test report, where other processes and JUnit's XML find it."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from rmaudit.errors import AuditFailed, RmauditError
from rmaudit.plugin.collection import audited
from rmaudit.plugin.pytest_fixtures import not_asked
from rmaudit.plugin.run_audit import FINDING, unmeasured_finding
from rmaudit.report.json_codec import encode
from rmaudit.report.safe_text import line, log
from rmaudit.runs.audit_case import Audited
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import AnyFinding, Finding

PROPERTY = "rmaudit."  # what the names of JUnit's properties begin with
CARRIED = "rmaudit_finding"  # how a finding travels in a test report, as JSON text
TOLD = "rmaudit_told"  # marks a report whose text stands elsewhere: see `final_summary`
_FAULTS = pytest.StashKey[dict[str, str]]()  # each with the first finding that has it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the finding into the test report.

    An audit that was not measured is reported as a fixture that fails is: as an error (also in
    JUnit's XML), not as a failure.
    """
    audit, style = audited(item), item.config.option.tbstyle
    if audit is not None and _told_by_its_text(item, call):
        item.config.option.tbstyle = "line"  # a traceback that nobody sees takes half a second
    try:
        report = yield
    finally:
        item.config.option.tbstyle = style
    if audit is None:
        return report
    if report.when == "teardown":
        _forget_finding(item)
    else:
        _put_finding_into_report(report, item, audit, call)
    if report.failed:
        said = str(report.longrepr)
        if (clean := log(said)) != said:  # a terminal or a CI system would obey a part of it
            report.longrepr = clean
    return report


def _put_finding_into_report(
    report: pytest.TestReport, item: pytest.Item, audit: Audited, call: pytest.CallInfo[None]
) -> None:
    """Put the finding into the test report, and the finding's text in place of a traceback."""
    finding = item.stash.get(FINDING, None)
    if finding is None and call.excinfo is not None:
        skipped = call.excinfo.errisinstance(pytest.skip.Exception)
        verdict = Verdict.SKIPPED if skipped else Verdict.ERROR
        if skipped and not_asked(call.excinfo.value):
            verdict = Verdict.NA
        why = str(call.excinfo.value) or call.excinfo.typename
        finding = unmeasured_finding(item, audit, why, verdict)
    if finding is not None:
        report.__dict__[CARRIED] = encode(finding)
        item.user_properties += _junit_properties(finding)
        if report.failed and finding.estimate is None:
            report.when = "setup"
    told = _told_by_its_text(item, call)
    if report.failed and call.excinfo is not None and finding is not None and told:
        fault = str(call.excinfo.value)
        first = item.config.stash.setdefault(_FAULTS, {}).setdefault(fault, finding.name)
        report.longrepr = log(fault if first == finding.name else f"the same fault as {first}")
        if finding.estimate is not None or first != finding.name:
            report.__dict__[TOLD] = True
    elif isinstance(report.longrepr, tuple):  # where it was skipped, and why
        path, number, why = report.longrepr
        report.longrepr = (path, number, log(line(why)))


def _told_by_its_text(item: pytest.Item, call: pytest.CallInfo[None]) -> bool:
    """Return whether the text of what was raised says it all, so that a traceback would hide it.

    It is shown if somebody asks for it (`--tb=long`).
    """
    known = call.excinfo is not None and call.excinfo.errisinstance((AuditFailed, RmauditError))
    return known and item.config.getoption("tbstyle") != "long"


def _forget_finding(item: pytest.Item) -> None:
    """Forget a test's finding at its end, so that a rerun (`--reruns`) measures anew."""
    if FINDING in item.stash:
        del item.stash[FINDING]
        item.user_properties[:] = [
            each for each in item.user_properties if not each[0].startswith(PROPERTY)
        ]


def _junit_properties(finding: AnyFinding) -> list[tuple[str, str]]:
    """Return a finding's numbers as properties of the test in JUnit's XML."""
    if (estimate := finding.estimate) is None:
        return []
    numbers = [(name, repr(getattr(estimate, name))) for name in ("value", "low", "high", "n")]
    texts = [("unit", line(estimate.unit))]
    if isinstance(finding, Finding):
        texts.append(("bound", line(str(finding.bound))))
    return [(f"{PROPERTY}{name}", value) for name, value in (*numbers, *texts)]
