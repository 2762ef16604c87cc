"""Findings made for tests: judged as they are, or with a judgement that the test chooses."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import date
from typing import Any

from rmaudit.verdicts.decision import measured, unmeasured
from rmaudit.verdicts.estimates_and_bounds import Bound, Estimate, Severity, Verdict, above
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import AppliedWaiver, Claim, Finding, Judgement
from rmaudit.verdicts.verdict_policy import Policy, Waiver

TODAY = date(2030, 1, 15)
_CLAIM = {field.name for field in fields(Claim)} - {"bound", "severity"}
_JUDGEMENT = {field.name for field in fields(Judgement)} - {"reason"}


def claim(bound: Bound | None = None, **given: Any) -> Claim:
    """What an audit called `skew` states of a model called `toy`."""
    said: dict[str, Any] = {
        "audit": "skew",
        "nodeid": "audits/test_skew.py::test_skew[toy-best]",
        "text": "It is skewed.",
        "source": "Somebody 2025",
        "base_rate": "9 of 10 models",
        "bound": bound or above(0, unit="sd"),
        "severity": Severity.CORE,
        "limits": (),
        "model": "toy",
        "model_source": "owner/name",
        "prompt": "best",
        "repeat": "",
    }
    return Claim(**said | given)


def estimated(low: float, high: float, value: float | None = None, **given: Any) -> Estimate:
    """An estimate in the middle of its interval, in sd."""
    middle = (low + high) / 2 if value is None else value
    said: dict[str, Any] = {"unit": "sd", "n": 9, "interval": "made up"}
    return Estimate(middle, low, high, **said | given)


def found(low: float, high: float, policy: Policy | None = None, **claimed: Any) -> Finding:
    """A measured finding, judged under the policy."""
    return measured(claim(**claimed), estimated(low, high), policy or Policy(), TODAY)


def gap(reason: str = "no data", verdict: Verdict = Verdict.SKIPPED, **claimed: Any) -> Finding:
    """A finding of what was not measured."""
    return unmeasured(claim(**claimed), reason, Policy(), verdict)


def but(finding: Finding, **given: Any) -> Finding:
    """The finding with other fields: its own, its claim's or its judgement's.

    A bound or severity is the declared one, too. Without an estimate it is SKIPPED unless it is an
    ERROR. Nothing is judged anew.
    """
    both = {key: given[key] for key in ("bound", "severity") if key in given}
    said = {key: given.pop(key) for key in list(given) if key in _CLAIM}
    judged = {key: given.pop(key) for key in list(given) if key in _JUDGEMENT}
    lost = judged.get("verdict", finding.verdict) in (Verdict.ERROR, Verdict.SKIPPED)
    if given.get("estimate", ...) is None and not lost:
        judged["verdict"] = Verdict.SKIPPED
    return replace(
        finding,
        claim=replace(finding.claim, **said, **both),
        judgement=replace(finding.judgement, **judged),
        **given,
    )


def with_evidence(finding: Finding, evidence: Evidence) -> Finding:
    """The measured finding with this evidence."""
    assert finding.estimate is not None
    return replace(finding, estimate=replace(finding.estimate, evidence=evidence))


def waived(state: Any = "waived", says: str = "It is accepted.", **terms: Any) -> AppliedWaiver:
    """A waiver in this state."""
    said: dict[str, Any] = {"owner": "me", "reason": "It is small.", "accepted": -0.5}
    waiver = Waiver(**said | {"expires": date(2030, 6, 30)} | terms)
    return AppliedWaiver("skew", waiver, 166, state, says)
