"""Render the findings that do not pass as SARIF 2.1.0, for a code scanning page.

Rules are audits, places are their files. Accepted failures are there, suppressed; what was skipped
is a notification of the run, because it says nothing about the model.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from rmaudit.report.results_document import Results
from rmaudit.report.safe_text import line
from rmaudit.report.writers import markdown
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import Outcome
from rmaudit.verdicts.verdict_wording import excuse, reasons

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Verdict.FAIL: "error", Verdict.ERROR: "error", Verdict.INCONCLUSIVE: "warning"}


def render(results: Results) -> str:
    """Return the findings that do not pass as a SARIF log with one run, as ASCII JSON."""
    findings, facts = results.findings, results.run
    rules = {finding.audit: _rule(finding) for finding in findings}
    order = list(rules)
    driver = {"name": "rmaudit", "version": line(facts.rmaudit), "rules": [*rules.values()]}
    notifications = [_notification(f) for f in findings if f.left_out]
    if results.verdict.outcome is not Outcome.PASSES:
        notifications.insert(
            0, {"level": "error", "message": _text(f"The run: {results.verdict}.")}
        )
    errors = any(finding.verdict is Verdict.ERROR for finding in findings)
    invocation = {
        "commandLine": line(facts.command),
        "endTimeUtc": facts.created,
        "executionSuccessful": not errors and facts.complete,
        "toolExecutionNotifications": notifications,
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "results": [
            _result(finding, order.index(finding.audit))
            for finding in findings
            if finding.verdict in _LEVELS or finding.judgement.regressed
        ],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, allow_nan=False) + "\n"


def _rule(finding: Finding) -> dict[str, Any]:
    claim = finding.claim
    said = {
        "Claim": claim.text,
        "Source": claim.source,
        "Base rate": claim.base_rate,
        **({"Does not show": " ".join(claim.limits)} if claim.limits else {}),
    }
    gates = finding.severity is Severity.GATE
    return {
        "id": line(finding.audit),
        "shortDescription": _text(claim.text),
        "fullDescription": _text(f"{claim.text} ({claim.source})"),
        "help": {
            **_text(*(f"{name}: {text}" for name, text in said.items())),
            "markdown": "\n\n".join(
                f"**{name}**: {markdown.escape(text)}" for name, text in said.items()
            ),
        },
        "defaultConfiguration": {"level": "error" if gates else "note"},
        "properties": {"tags": ["reward-model", str(finding.severity)]},
    }


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    follows = finding.effect
    free = follows in (Effect.ACCEPTED, Effect.INFO)
    free = free or (finding.result is Result.NOT_DECIDED and not finding.blocks)
    why = "; ".join(reasons(finding))
    measured = f"measured {finding.estimate}; " if finding.estimate else ""
    said = f"{finding.model}, {finding.prompt}: {finding.in_words}; {measured}bound {finding.bound}"
    result: dict[str, Any] = {
        "ruleId": line(finding.audit),
        "ruleIndex": rule,
        "level": "note" if free else _level(finding),
        "message": _text(f"{said}. {why}" if why else f"{said}."),
        "locations": [_location(finding)],
        "partialFingerprints": _fingerprints(finding),
        "properties": _numbers(finding),
    }
    if follows is Effect.ACCEPTED:
        justification = line(excuse(finding))
        result["suppressions"] = [{"kind": "external", "justification": justification}]
    return result


def _level(finding: Finding) -> str:
    return "error" if finding.judgement.regressed else _LEVELS[finding.verdict]


def _notification(finding: Finding) -> dict[str, Any]:
    return {
        "level": "note",
        "message": _text(f"{finding.model}, {finding.prompt}: not measured. {finding.reason}"),
        "associatedRule": {"id": line(finding.audit)},
        "locations": [_location(finding)],
    }


def _location(finding: Finding) -> dict[str, Any]:
    """Return the audit's file as a SARIF location, at line 1: results.json has no line numbers."""
    path = finding.claim.nodeid.partition("::")[0].encode("utf-8", "surrogatepass")
    place = {"artifactLocation": {"uri": quote(path)}, "region": {"startLine": 1}}
    name = {"fullyQualifiedName": line(finding.claim.nodeid), "kind": "function"}
    return {"physicalLocation": place, "logicalLocations": [name]}


def _fingerprints(finding: Finding) -> dict[str, str]:
    """Return hashes that identify a finding across runs; GitHub reads the first one."""
    same = json.dumps([finding.audit, finding.model, finding.prompt])
    digest = hashlib.sha256(same.encode()).hexdigest()
    return {"primaryLocationLineHash": f"{digest[:16]}:1", "rmaudit/v1": digest}


def _numbers(finding: Finding) -> dict[str, Any]:
    numbers = {
        "model": line(finding.model),
        "prompt": line(finding.prompt),
        "result": finding.result,
        "effect": finding.effect,
        "severity": finding.severity,
    }
    if finding.estimate is None:
        return numbers
    estimate = {name: getattr(finding.estimate, name) for name in ("value", "low", "high", "n")}
    return (
        numbers
        | estimate
        | {"unit": line(finding.estimate.unit), "p_holm": finding.judgement.p_holm}
    )


def _text(*lines: str) -> dict[str, str]:
    """Return a SARIF message in which `[text](address)` does not turn into a link."""
    return {"text": "\n".join(line(text).replace("](", "] (") for text in lines)}
