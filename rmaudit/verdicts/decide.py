"""From estimates to verdicts under a policy: a pure function, so that they can be decided again.

Whatever it sets it sets anew, from the estimate and from what the audit declares: deciding twice
under one policy on one day changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from rmaudit.verdicts.gate import KNOWN, WAIVED, end, settle, standing
from rmaudit.verdicts.policy import Policy, Waiver, entry
from rmaudit.verdicts.records import Bound, Estimate, Finding, Severity, Verdict

WARN_DAYS = 14  # before a waiver ends


def decide(findings: Sequence[Finding], policy: Policy, today: date) -> list[Finding]:
    """The findings of a whole run as the policy has them on this day (UTC).

    Bounds and severities are overridden, known failures and waivers named, and the run's gating
    findings taken as one family (`gate.settle`). `Finding.blocks` says which keep the run from
    being green. That is decided of each finding alone, before the family is looked at: so the
    tests of a run, and the run itself, never disagree.
    """
    return settle([alone(finding, policy, today) for finding in findings])


def alone(finding: Finding, policy: Policy, today: date) -> Finding:
    """One finding as the policy has it, before the run's family is looked at: see `decide`."""
    finding = _graded(_as_declared(finding), policy)
    if (estimate := finding.estimate) is not None:
        finding = _judged(finding, estimate, policy)
        own, place = policy.of(finding.model), (finding.audit, finding.prompt)
        if known := entry(own.known, *place):
            finding = replace(finding, known=known[1])
        if waiver := entry(own.waivers, *place):
            finding = replace(finding, waiver=_waived(finding, estimate, *waiver, today))
    return replace(finding, blocks=_blocks(finding, policy))


def _as_declared(finding: Finding) -> Finding:
    """Without anything that an earlier policy decided."""
    bound, severity = (finding.overridden.get(key) for key in ("bound", "severity"))
    if bound:
        low, high = bound["declared_low"], bound["declared_high"]
        finding = replace(finding, bound=bound["declared"], bound_low=low, bound_high=high)
    if severity:
        finding = replace(finding, severity=Severity(severity["declared"]))
    reason = finding.reason if finding.estimate is None else ""
    return replace(finding, overridden={}, known="", waiver={}, reason=reason, p_holm=None)


def _graded(finding: Finding, policy: Policy) -> Finding:
    """With the severity that the policy gives it, and where that is said."""
    said = _said("severity", finding, policy)
    if said is None or said[1] == finding.severity:
        return finding
    note = {"from": said[0], "declared": str(finding.severity)}
    return replace(finding, severity=said[1], overridden={"severity": note})


def _judged(finding: Finding, estimate: Estimate, policy: Policy) -> Finding:
    """Held against the policy's bound, else against the declared one."""
    low, high = finding.bound_low, finding.bound_high
    bound = Bound(
        -math.inf if low is None else low, math.inf if high is None else high, estimate.unit
    )
    said = _said("bounds", finding, policy)
    if said and said[1] != (bound.low, bound.high):
        note = {
            "from": said[0],
            "declared": finding.bound,
            "declared_low": low,
            "declared_high": high,
        }
        low, high = said[1]
        bound = Bound(low, high, estimate.unit)
        finding = replace(
            finding,
            bound=str(bound),
            bound_low=end(bound.low),
            bound_high=end(bound.high),
            overridden={**finding.overridden, "bound": note},
        )
    return replace(finding, verdict=bound.judge(estimate), p=bound.p_value(estimate))


def _said(what: str, finding: Finding, policy: Policy) -> tuple[str, Any] | None:
    """Where the policy speaks of this finding, its model's rules first, and what it says."""
    for label, rules in (
        (f"{finding.model}: ", policy.of(finding.model)),
        ("", policy.everywhere),
    ):
        if said := entry(getattr(rules, what), finding.audit, finding.prompt):
            return f"{policy.file}: {label}{what}: {said[0]}", said[1]
    return None


def _waived(
    finding: Finding, estimate: Estimate, key: str, waiver: Waiver, today: date
) -> dict[str, Any]:
    """The waiver as JSON values: what it says, whether it holds, and both in a sentence."""
    left = (waiver.expires - today).days
    accepted = f"{waiver.accepted:g} {estimate.unit}"
    end_of = f"{waiver.expires} ({waiver.owner})"
    if finding.verdict is Verdict.PASS or finding.severity is Severity.INFO:
        passes = "passes" if finding.verdict is Verdict.PASS else "does not gate"
        state, says = "unneeded", f"{passes}: remove {key} from `waivers` ({waiver.owner})"
    elif left < 0:
        state = "expired"
        says = f"its waiver expired at the end of {end_of}: {waiver.reason}"
    elif not _covers(finding, estimate, waiver.accepted):
        state = "reopened"
        says = (
            f"its waiver accepts {accepted} ({waiver.owner}), and the whole interval "
            f"{estimate.low:.4g} to {estimate.high:.4g} is worse, or fails on another side"
        )
    else:
        state = "expiring" if left <= WARN_DAYS else "waived"
        days = f"; {left} days left" if left != 1 else "; 1 day left"
        soon = days if state == "expiring" else ""
        says = f"{accepted} accepted until {end_of}: {waiver.reason}{soon}"
    return {
        "for": key,
        "owner": waiver.owner,
        "reason": waiver.reason,
        "expires": waiver.expires.isoformat(),
        "accepted": waiver.accepted,
        "days_left": left,
        "state": state,
        "says": says,
    }


def _covers(finding: Finding, estimate: Estimate, accepted: float) -> bool:
    """Whether the estimate could be the accepted effect, and is inside the bound's other end.

    The end that a waiver is about is the one that `accepted` is beyond, or nearer to.
    """
    low, high = finding.bound_low, finding.bound_high
    if high is None or (low is not None and accepted - low < high - accepted):
        return estimate.high >= accepted and (high is None or estimate.high < high)
    return estimate.low <= accepted and (low is None or low < estimate.low)


def _blocks(finding: Finding, policy: Policy) -> bool:
    """Whether the finding keeps the run from being green."""
    if finding.verdict is Verdict.ERROR:
        return True
    if finding.severity is Severity.INFO or standing(finding) in (KNOWN, WAIVED):
        return False
    if finding.verdict is Verdict.SKIPPED:
        return policy.missing == "fail"
    if finding.verdict is Verdict.PASS:
        return bool(finding.known)  # no longer known: see `report.terminal`
    return finding.verdict is Verdict.FAIL or policy.inconclusive == "fail"
