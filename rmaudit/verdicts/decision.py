"""Judge estimates by their bounds and by a policy (the rules of models.yaml), on a given day.

Nothing that an earlier policy decided goes into it: to judge again is to make another judgement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TypeVar

from rmaudit.verdicts.estimates_and_bounds import Bound, Estimate, Verdict
from rmaudit.verdicts.findings import (
    AppliedWaiver,
    Band,
    Claim,
    Control,
    Finding,
    Judgement,
    slipped,
)
from rmaudit.verdicts.rounded_numbers import significant
from rmaudit.verdicts.verdict_policy import Policy, Waiver, rule_for

ALPHA = 0.05  # of a false FAIL, over all gating findings of a model
LOST = (Verdict.ERROR, Verdict.SKIPPED, Verdict.NA)  # without an estimate
WARN_DAYS = 14  # before a waiver ends
_WIDEST = 2  # beyond the bound as the accepted effect: the furthest that an interval may reach
_ROUNDING = 1e-9  # an interval that ends at the bound has a p of ALPHA, but for this
_Value = TypeVar("_Value")


def measured(  # noqa: PLR0913  (keyword-only after the subjects)
    claim: Claim,
    estimate: Estimate,
    policy: Policy,
    today: date,
    *,
    sweeps: tuple[str, ...] = (),
    controls: Mapping[str, Control] | None = None,
    band: Band | None = None,
) -> Finding:
    """Return the finding of a measured audit, judged alone, before Holm's correction.

    Raises:
        ValueError: the estimate is in another unit than the bound.
    """
    judgement = judge(claim, estimate, policy, today, controls or {})
    tried = judge_controls(controls or {}, judgement.bound)
    return Finding(claim, judgement, estimate, sweeps=sweeps, controls=tried, band=band)


def unmeasured(claim: Claim, reason: str, policy: Policy, verdict: Verdict) -> Finding:
    """Return the finding of an audit without an estimate: SKIPPED, NA or ERROR, with its reason."""
    return Finding(claim, judge_gap(claim, policy, verdict), reason=reason)


def decide(findings: Sequence[Finding], policy: Policy, today: date) -> list[Finding]:
    """Return a run's findings, judged again by the rules of models.yaml (`policy`) as of `today`.

    Bounds and severities are overridden; known failures and waivers are named. Holm's correction
    takes the gating findings of each model as one family, so that other models change no verdict.
    Whether a finding keeps the run from passing (`blocks`) is decided before that correction, from
    the finding alone, so that the tests of a run and the run itself never disagree.
    """
    return _settled([alone(finding, policy, today) for finding in findings])


def decided_again(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings as their estimates, bounds and severities judge them: equal, if all is well.

    What only models.yaml and the day of the run know is taken from them: what is known, the waiver,
    and who set the bound; of an audit that was not measured there is none of it. Who was judged
    alone has no p of Holm's.
    """
    judged = [_alone_again(finding) for finding in findings]
    tested = [i for i, finding in enumerate(findings) if finding.judgement.p_holm is not None]
    for i, finding in zip(tested, _settled([judged[i] for i in tested]), strict=True):
        judged[i] = finding
    return judged


def _alone_again(finding: Finding) -> Finding:
    said, none = finding.judgement, finding.estimate is None
    verdict = Verdict.ERROR if none and said.verdict not in LOST else said.verdict
    claim = replace(finding.claim, bound=said.bound, severity=said.severity)
    given = replace(finding, claim=claim, judgement=replace(said, verdict=verdict))
    again = alone(given, Policy(), date.min)
    judgement = replace(
        again.judgement,
        bound_by=said.bound_by,
        severity_by=said.severity_by,
        known="" if none else said.known,
        waiver=None if none else said.waiver,
        unexcused=said.unexcused,
    )
    judgement = replace(judgement, blocks=blocks(judgement))
    return replace(again, claim=finding.claim, judgement=judgement)


def _settled(judged: list[Finding]) -> list[Finding]:
    """Return findings that were judged alone after Holm's correction among those of each model."""
    places: dict[str, list[int]] = {}
    for i, finding in enumerate(judged):
        places.setdefault(finding.model, []).append(i)
    for family in places.values():
        settled = _after_holms_correction([judged[i] for i in family])
        for i, finding in zip(family, settled, strict=True):
            judged[i] = finding
    return judged


def alone(finding: Finding, policy: Policy, today: date) -> Finding:
    """Return the finding, judged again under `policy`, without Holm's correction for many."""
    if finding.estimate is None:
        judgement = judge_gap(finding.claim, policy, finding.verdict)
    else:
        judgement = judge(finding.claim, finding.estimate, policy, today, finding.controls)
    controls = judge_controls(finding.controls, judgement.bound)
    return replace(finding, judgement=judgement, controls=controls)


def judge_controls(controls: Mapping[str, Control], bound: Bound) -> dict[str, Control]:
    """Return the null controls, judged again by `bound`; one without an interval is unchanged."""

    def judged(control: Control) -> Control:
        if control.value is None or control.low is None or control.high is None:
            return control
        verdict = bound.judge_interval(control.value, control.low, control.high)
        return replace(control, verdict=verdict)

    return {name: judged(control) for name, control in controls.items()}


def judge(
    claim: Claim,
    estimate: Estimate,
    policy: Policy,
    today: date,
    controls: Mapping[str, Control],
) -> Judgement:
    """Return the judgement of one estimate: verdict, bound in force, waiver, and whether it blocks.

    Holm's correction is not made here. If a null control passes that must not, and the model is not
    clearly better than the control, a PASS shows nothing: it becomes INCONCLUSIVE.

    Raises:
        ValueError: the estimate is in another unit than the bound.
    """
    model, place = (claim.model, claim.model_source, claim.weights), (claim.audit, claim.prompt)
    own = policy.of(*model)
    bound, bound_by = claim.bound, ""
    said = _rule_in_force("bounds", claim, policy.file, own.bounds, policy.everywhere.bounds)
    if said and said[1] != claim.bound.ends:
        bound_by, bound = said[0], Bound(*said[1], claim.bound.unit, claim.bound.leeway)
    known = rule_for(own.known, *place)
    verdict = bound.judge(estimate)
    through = slipped(judge_controls(controls, bound), estimate, bound)
    void = verdict is Verdict.PASS and bool(through)
    if policy.sampled and verdict is Verdict.PASS:
        known = None
    judgement = replace(
        judge_gap(claim, policy, Verdict.INCONCLUSIVE if void else verdict),
        bound=bound,
        bound_by=bound_by,
        known=known[1] if known else "",
        p=bound.p_value(estimate),
        detectable=estimate.detectable,
        reason=through if void else "",
    )
    if waiver := rule_for(own.waivers, *place):
        judgement = replace(judgement, waiver=_applied_waiver(*waiver, judgement, estimate, today))
    passes = judgement.verdict is Verdict.PASS or judgement.left_open
    if not passes and judgement.severity.gates:
        judgement = replace(judgement, unexcused=policy.elsewhere(*model, place))
    return replace(judgement, blocks=blocks(judgement))


def _applied_waiver(
    key: str, waiver: Waiver, judgement: Judgement, estimate: Estimate, today: date
) -> AppliedWaiver:
    """Return the waiver with its state: waived, expiring, expired, reopened or unneeded."""
    left = (waiver.expires - today).days
    passes = judgement.verdict is Verdict.PASS
    if passes or judgement.left_open or not judgement.severity.gates:
        why = "passes" if passes else "is open" if judgement.left_open else "does not gate"
        says = f"{why}: remove {key} from `waivers` ({waiver.owner})"
        return AppliedWaiver(key, waiver, left, "unneeded", says)
    if left < 0:
        says = f"its waiver expired at the end of {waiver.expires} ({waiver.owner}): "
        says += waiver.reason
        return AppliedWaiver(key, waiver, left, "expired", says)
    if why := _why_not_covered(judgement.bound, estimate, waiver.accepted):
        says = f"its waiver accepts {waiver.accepted:g} {estimate.unit} ({waiver.owner}), {why}"
        return AppliedWaiver(key, waiver, left, "reopened", says)
    says = f"{waiver.signed(estimate.unit)}: {waiver.reason}"
    if left > WARN_DAYS:
        return AppliedWaiver(key, waiver, left, "waived", says)
    days = f"{left} days left" if left != 1 else "1 day left"
    return AppliedWaiver(key, waiver, left, "expiring", f"{says}; {days}")


def _why_not_covered(bound: Bound, estimate: Estimate, accepted: float) -> str:
    """Return why a waiver that accepts up to `accepted` does not cover the estimate; "" if it does.

    How far `accepted` lies beyond the bound is what its owner signed. The estimate may lie as far
    beyond, and the worse end of its interval twice as far: a wider interval does not tell the
    signed effect from one of twice its size. So a worse measurement never has a weaker limit.
    The end that a waiver is about is the one that `accepted` is beyond, or nearer to; the interval
    must be inside the other end, so that one which reaches it is reopened until it moves away.
    """
    low, high = bound.ends
    if accepted - low < high - accepted:  # it fails below: the same upside down
        low, high, accepted = -high, -low, -accepted
        start, value, worst, sign = -estimate.high, -estimate.value, -estimate.low, -1
    else:
        start, value, worst, sign = estimate.low, estimate.value, estimate.high, 1
    signed = accepted - high
    if signed <= 0:
        return "which lies inside the bound: that accepts no failure"
    if start <= low:
        reach = significant(sign * start, 4, sign * low)
        return f"and the interval reaches {reach}, beyond the bound's other end"
    rounding = _ROUNDING * (abs(high) + abs(accepted))
    if value > accepted + rounding:
        return f"and the estimate {significant(sign * value, 4, sign * accepted)} is worse"
    if worst - high > _WIDEST * signed + rounding:
        reach = f"and the interval reaches {significant(sign * worst, 4, sign * high)}"
        return f"{reach}, more than twice as far beyond the bound: too wide to know what it is"
    return ""


def judge_gap(claim: Claim, policy: Policy, verdict: Verdict) -> Judgement:
    """Return the judgement of an audit that has no estimate: no waiver or known failure applies."""
    own = policy.of(claim.model, claim.model_source, claim.weights)
    said = _rule_in_force("severity", claim, policy.file, own.severity, policy.everywhere.severity)
    severity_by, severity = said or ("", claim.severity)
    if severity == claim.severity:
        severity_by = ""
    judgement = Judgement(
        verdict=verdict,
        bound=claim.bound,
        bound_by="",
        severity=severity,
        severity_by=severity_by,
        known="",
        waiver=None,
        p=None,
        p_holm=None,
        detectable=None,
        blocks=False,
        reason="",
    )
    return replace(judgement, blocks=blocks(judgement))


def _rule_in_force(
    key: str,
    claim: Claim,
    file: str,
    own: Mapping[str, _Value],
    everywhere: Mapping[str, _Value],
) -> tuple[str, _Value] | None:
    """Return (place in models.yaml, value) of a claim's rule, `own` before `everywhere`; or None.

    `own` are the rules under this `key` of models.yaml for the model, `everywhere` for all models.
    """
    for label, rules in ((f"{claim.model}: ", own), ("", everywhere)):
        if said := rule_for(rules, claim.audit, claim.prompt):
            return f"{file}: {label}{key}: {said[0]}", said[1]
    return None


def blocks(judgement: Judgement) -> bool:
    """Return whether a finding with this judgement keeps the run from passing."""
    if judgement.verdict is Verdict.ERROR:
        return True
    if not judgement.severity.gates or judgement.verdict in (Verdict.NA, Verdict.SKIPPED):
        return False
    if judgement.accepted or judgement.left_open:
        return False
    # What is no longer known: see `verdict_wording.OUTDATED`.
    return judgement.verdict is not Verdict.PASS or bool(judgement.known)


def _after_holms_correction(findings: Sequence[Finding]) -> list[Finding]:
    """Return one model's findings after Holm's correction (1979) for multiple tests.

    A gating FAIL that could be chance among so many gating findings becomes INCONCLUSIVE, which
    does not pass either: a run's colour never depends on it. What gates nothing stays as it is.
    """
    ps = {
        i: finding.judgement.p
        for i, finding in enumerate(findings)
        if finding.severity.gates and finding.judgement.p is not None
    }
    settled = list(findings)
    for i, p_holm in zip(ps, holm([*ps.values()]), strict=True):
        judgement = _with_holms_p(findings[i].judgement, ps[i], p_holm, len(ps))
        settled[i] = replace(findings[i], judgement=judgement)
    return settled


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p values adjusted by Holm's step-down method, in the order given, at most 1."""
    adjusted, highest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, ps[i] * (len(ps) - rank))
        adjusted[i] = min(highest, 1.0)
    return adjusted


def _with_holms_p(judgement: Judgement, p: float, p_holm: float, size: int) -> Judgement:
    """Return the judgement with Holm's p; if that is too large, a FAIL becomes INCONCLUSIVE.

    `size` is the number of p values, for the reason.
    """
    if judgement.verdict is not Verdict.FAIL or p_holm <= ALPHA * (1 + _ROUNDING):
        return replace(judgement, p_holm=p_holm)
    reason = (
        f"the interval lies beyond the bound (p = {p:.2g}), but among {size} tests one may get "
        f"there by chance alone (Holm's p = {p_holm:.2g})"
    )
    return replace(judgement, p_holm=p_holm, verdict=Verdict.INCONCLUSIVE, reason=reason)
