"""Run an audit, judge its estimate, and put the finding into the test report."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Generator
from dataclasses import replace
from typing import cast

import pytest

from rmaudit.errors import AuditFailed, AuditInconclusive, RmauditError
from rmaudit.organisms.for_model import SEARCHED, Case
from rmaudit.plugin.collection import Audited, audited
from rmaudit.plugin.controls import controls
from rmaudit.plugin.fixtures import CASE, missing_as_told
from rmaudit.plugin.options import (
    RM_BASELINE,
    RM_CACHE,
    RM_DEVICE,
    RM_DTYPE,
    RM_LEDGER,
    RM_MISSING,
    RM_MODEL,
    RM_MODELS,
    RM_RECORDED,
    RM_SAMPLE,
    RM_SEARCH,
    RM_SEED,
)
from rmaudit.plugin.session import SESSION, policy_of
from rmaudit.references import References
from rmaudit.references.band import band
from rmaudit.report.codec import encode
from rmaudit.report.safe_text import line, log
from rmaudit.verdicts.explain import OUTDATED, excuse, explain
from rmaudit.verdicts.findings import Band, Claim, Finding
from rmaudit.verdicts.judge import measured, unmeasured
from rmaudit.verdicts.records import Estimate, Standing, Verdict

CARRIED = "rmaudit_finding"  # how a finding travels in a test report, as JSON text
FINDING = pytest.StashKey[Finding]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an audit, judge its estimate and fail unless it passes."""
    __tracebackhide__ = True
    audit = audited(pyfuncitem)
    if audit is None:
        return None
    names = inspect.signature(pyfuncitem.obj).parameters  # of a method, without `self`
    given = {name: pyfuncitem.funcargs[name] for name in names}
    with missing_as_told(pyfuncitem.config):
        estimate = pyfuncitem.obj(**given)
    if not isinstance(estimate, Estimate):
        message = f"{pyfuncitem.name} must return an Estimate, got {type(estimate).__name__}"
        raise TypeError(message)
    case = cast("Case", pyfuncitem.funcargs[CASE])
    caveats = list(dict.fromkeys(case.caveats))
    if pyfuncitem.config.getoption(RM_RECORDED):
        from rmaudit.models.recorded import CAVEAT

        caveats.append(CAVEAT)
    references = given.get("references")
    if isinstance(references, References):
        caveats += references.caveats
    estimate = replace(estimate, caveats=(*estimate.caveats, *caveats))
    claim = _claim(pyfuncitem, audit)
    published = band(claim.audit, claim.prompt, unit=estimate.unit)
    finding = measured(
        claim,
        estimate,
        policy_of(pyfuncitem.config),
        pyfuncitem.config.stash[SESSION].today,
        sweeps=tuple(dict.fromkeys(case.keys)),
        controls=controls(pyfuncitem, audit, given),
        band=Band(published.models, published.on) if published else None,
    )
    pyfuncitem.stash[FINDING] = finding
    if finding.standing in (Standing.KNOWN, Standing.WAIVED):
        pytest.xfail(excuse(finding))  # nothing with --runxfail
    elif not finding.blocks:
        return True
    if finding.verdict is Verdict.PASS:
        pytest.fail(f"{finding.name}: {OUTDATED}", pytrace=False)
    if finding.verdict is Verdict.FAIL:
        raise AuditFailed(explain(finding))
    raise AuditInconclusive(explain(finding))


def _claim(item: pytest.Item, audit: Audited) -> Claim:
    return audit.declaration.claimed(
        model=audit.spec.name,
        model_source=audit.spec.source,
        prompt=audit.prompt,
        nodeid=item.nodeid,
        repeat=_repeat(item, audit),
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the finding into the test report: plain text, which crosses processes.

    What was not measured fails as a fixture does: an error (also in JUnit's XML), no failure.
    """
    report = yield
    audit = audited(item)
    if audit is None or report.when == "teardown":
        return report
    finding = item.stash.get(FINDING, None)
    if finding is None and call.excinfo is not None:
        skipped = call.excinfo.errisinstance(pytest.skip.Exception)
        why, policy = str(call.excinfo.value), policy_of(item.config)
        finding = unmeasured(_claim(item, audit), why, policy, skipped=skipped)
        if skipped and finding.blocks:
            report.outcome = "failed"
            report.longrepr = f"{RM_MISSING} fail: {finding.audit} gates, and was not measured: "
            report.longrepr += log(line(finding.reason))
    if finding is not None:
        report.__dict__[CARRIED] = encode(finding)
        item.user_properties += _numbers(finding)
        if report.failed and finding.estimate is None:
            report.when = "setup"
    said = (AuditFailed, RmauditError)  # their texts say it all; a traceback would hide it
    if report.failed and call.excinfo is not None and call.excinfo.errisinstance(said):
        report.longrepr = log(str(call.excinfo.value))
    elif isinstance(report.longrepr, tuple):  # where it was skipped, and why
        path, number, why = report.longrepr
        report.longrepr = (path, number, log(line(why)))
    return report


def _numbers(finding: Finding) -> list[tuple[str, str]]:
    """What JUnit's XML has as properties of a test; all of a finding would bloat it."""
    if (estimate := finding.estimate) is None:
        return []
    numbers = [(name, repr(getattr(estimate, name))) for name in ("value", "low", "high", "n")]
    texts = [("unit", line(estimate.unit)), ("bound", line(str(finding.bound)))]
    return [(f"rmaudit.{name}", value) for name, value in (*numbers, *texts)]


def _repeat(item: pytest.Item, audit: Audited) -> str:
    """The command that runs one audit again, with all that decides its numbers."""
    config = item.config
    registry = config.stash[SESSION].registry
    registered = registry is not None and audit.spec.name in registry.models
    model = audit.spec.name if registered else audit.spec.source
    command = ["pytest", item.nodeid, RM_MODEL, model, RM_SEED, str(config.getoption(RM_SEED))]
    for option in (RM_MODELS, RM_BASELINE, RM_LEDGER, RM_SAMPLE, RM_SEARCH, RM_DEVICE, RM_DTYPE):
        given = config.getoption(option)
        if given not in (None, "auto") and (option, given) != (RM_SEARCH, SEARCHED):
            command += [option, str(given)]
    if config.getoption(RM_RECORDED):
        command.append(RM_RECORDED)
        if cache := config.getoption(RM_CACHE):  # where the records are
            command += [RM_CACHE, str(cache)]
    return shlex.join(command)
