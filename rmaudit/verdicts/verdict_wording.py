"""Say in words what was found: counts, reasons, doubts about passes, and advice for a release.

The words are the same in the terminal and in every report.

A scorer of random numbers hurts no group of people and pays for no gibberish, so it rightly passes
the audits of such flaws (docs/nulls.md). Their pass says something of a model that tells good from
bad: the gates of competence measure that, and `doubt` says where none of them passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rmaudit.verdicts.estimates_and_bounds import Result, Verdict
from rmaudit.verdicts.findings import Finding, slipped
from rmaudit.verdicts.rounded_numbers import fixed, significant
from rmaudit.verdicts.run_verdict import NOTHING, Outcome

OUTDATED = "passes, though models.yaml expects it to fail: remove it from `known`"
_OUTSIDE = "outside its bound; it does not gate, so it fails nothing"
COMPETENCE = ("framing_inversion", "elo_agreement")
"""Only scores that follow the meaning of prompt and answer pass these: no null control does."""
_RANDOM = "random"  # the null control that prefers nothing
_NAMED = 3  # audits that are named before the rest is counted


def nulls_in_words(findings: Iterable[Finding]) -> str:
    """Return text on how many null controls were stopped, as they must be, and which passed."""
    tried = [
        (finding, name, control)
        for finding in findings
        for name, control in finding.controls.items()
        if control.stops
    ]
    if not tried:
        return ""
    through = [f"{name!r} passes {finding.audit}" for finding, name, c in tried if c.slips]
    untried = [c for _, _, c in tried if c.verdict in (Verdict.SKIPPED, Verdict.NA)]
    stopped = len(tried) - len(through) - len(untried)
    said = [f"null controls: {stopped} of {len(tried)} stopped"]
    if untried:
        reasons = {control.reason for control in untried}
        why = f" ({reasons.pop()})" if len(reasons) == 1 and all(reasons) else ""
        said.append(f"{len(untried)} not tried{why}")
    return ", ".join([*said, *dict.fromkeys(through)])


def explain(finding: Finding) -> str:
    """Return lines on why a finding does not pass, for JUnit: claim, numbers, repeat command.

    The test fails with them, before the run judges all findings together; so they say of a fail
    only what stays true. The terminal's summary and the report are written after that.
    """
    claim, judgement = finding.claim, finding.judgement
    lines = [
        f"{finding.name}: {_judged_alone(finding)}",
        f"  claim      {claim.text}",
        f"  measured   {_measured(finding)}",
        f"  bound      {finding.bound}"
        + (f" ({judgement.bound_by}; declared: {claim.bound})" if judgement.bound_by else ""),
    ]
    if through := _null_controls_that_pass(finding):
        lines.append(f"  nulls      {through}")
    if judgement.waiver:
        lines.append(f"  waiver     {judgement.waiver.says}")
    if judgement.unexcused:
        lines.append(f"  no excuse  {judgement.unexcused}")
    if claim.repeat:
        lines.append(f"  repeat     {claim.repeat}")
    return "\n".join(lines)


def _measured(finding: Finding) -> str:
    """Return the estimate, as in `0.77 sd, 95 % interval 0.74 to 0.81, n = 1,204`; "" if none."""
    estimate, decimals = finding.estimate, finding.decimals
    if estimate is None:
        return ""
    value, low, high = (
        fixed(each, decimals) for each in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} {estimate.unit}, 95 % interval {low} to {high}, n = {estimate.n:,}"


def _judged_alone(finding: Finding) -> str:
    """Say what a finding that blocks is before all are judged together: a fail may become open."""
    if finding.result is Result.FAIL:
        return f"outside its bound ({finding.effect})"
    why = why_open(finding)
    return f"{finding.in_words}: {why}" if why else finding.in_words


def why_open(finding: Finding) -> str:
    """Return why a result is open, with the least harm that would have been seen; "" if it is not.

    "" also if there is another reason than too little data: see `Judgement.reason`.
    """
    if finding.result is not Result.OPEN or finding.judgement.reason or finding.estimate is None:
        return ""
    return f"harm is neither shown nor ruled out; {least_shown(finding)}"


def least_shown(finding: Finding) -> str:
    """Say which value a measurement like this one shows to be beyond its bound in 80 % of cases.

    For example `a true value of 1.3 sd or worse would have been shown in 80 of 100 cases`; "" where
    nothing was measured.
    """
    if finding.estimate is None or finding.judgement.detectable is None:
        return ""
    (low, high), away = finding.bound.ends, finding.judgement.detectable
    ends = [end for end in (low - away, high + away) if math.isfinite(end)]
    values = " or ".join(significant(end, 2, low, high) for end in ends)
    size = f"{values} {finding.estimate.unit}"
    return f"a true value of {size} or worse would have been shown in 80 of 100 cases"


def excuse(finding: Finding) -> str:
    """Return the sentence of a finding's waiver, or without one the reason under `known`, or ""."""
    judgement = finding.judgement
    return judgement.waiver.says if judgement.waiver else judgement.known


def overrides(finding: Finding) -> list[tuple[str, str, str]]:
    """Return how models.yaml overrides bound or severity, as (name, place, declared value)."""
    judgement, claim = finding.judgement, finding.claim
    said = [
        ("severity", judgement.severity_by, str(claim.severity)),
        ("bound", judgement.bound_by, str(claim.bound)),
    ]
    return [each for each in said if each[1]]


def reasons(finding: Finding) -> list[str]:
    """Return remarks that explain a finding: regression, doubts, excuses, overridden rules."""
    judgement, verdict = finding.judgement, finding.verdict
    informs = not finding.severity.gates
    why, through = finding.reason or judgement.reason, _null_controls_that_pass(finding)
    said = [
        judgement.regressed,
        why,
        through if through != why else "",
        _OUTSIDE if informs and verdict is Verdict.FAIL else "",
        why_open(finding) if not why else "",
        OUTDATED if judgement.known and verdict is Verdict.PASS else "",
        judgement.known if judgement.accepted and not why else "",
        judgement.waiver.says if judgement.waiver else "",
        judgement.unexcused,
        *(f"{what} as in {by}; declared: {was}" for what, by, was in overrides(finding)),
    ]
    return [reason for reason in said if reason]


def _null_controls_that_pass(finding: Finding) -> str:
    """Return a sentence on the null controls that make a pass worthless; "" if none does."""
    return slipped(finding.controls, finding.estimate, finding.bound)


def incompetent(findings: Sequence[Finding]) -> dict[str, tuple[str, ...]]:
    """Return, for each model that passes no gate of `COMPETENCE`, the gates it failed.

    One pass shows that the scores follow a meaning. Models without a measured gate are left out.
    """
    passed: dict[str, dict[str, bool]] = {}
    for finding in findings:
        if finding.audit in COMPETENCE and finding.estimate is not None:
            of_model = passed.setdefault(finding.model, {})
            passes = finding.verdict is Verdict.PASS
            of_model[finding.audit] = of_model.get(finding.audit, True) and passes
    return {model: tuple(gates) for model, gates in passed.items() if not any(gates.values())}


def doubt(finding: Finding, failed: Mapping[str, tuple[str, ...]]) -> str:
    """Return why a pass may only show that the model has no preferences; "" without such doubt.

    `failed` is what `incompetent` returns for the whole run.
    """
    control, gates = finding.controls.get(_RANDOM), failed.get(finding.model)
    if not gates or control is None or {finding.verdict, control.verdict} != {Verdict.PASS}:
        return ""
    named = f"{' and '.join(gates)} {'does' if len(gates) == 1 else 'do'} not pass"
    return f"it may mean indifference: random scores pass it too, and {named}"


def advice(outcome: Outcome, findings: Sequence[Finding]) -> str:
    """Return advice, such as `Do not release yet: one gate is open (gcg_probes)`."""
    if outcome is Outcome.FAILS:
        return "Do not release"
    if outcome is Outcome.INCOMPLETE:
        return "Do not release yet: this run left something out, so run all of it"
    if outcome is Outcome.ACCEPTED:
        return "Release only if you agree with what models.yaml accepts"
    if outcome is Outcome.PASSES:
        return "No gate blocks a release"
    if not any(finding.estimate for finding in findings):
        why = NOTHING if findings else "no audit with a bound was run"
        return f"Do not release yet: {why}"
    gates = [f for f in findings if f.severity.gates or f.blocks]
    missing = [f for f in gates if f.verdict is Verdict.SKIPPED]
    broken = [f for f in gates if f.verdict is Verdict.ERROR]
    left = [f for f in gates if f.blocks and f.verdict is Verdict.INCONCLUSIVE]
    said = (
        _counted_audits(missing, "required check has no data", "required checks have no data"),
        _counted_audits(broken, "check broke", "checks broke"),
        _counted_audits(left, "gate is open", "gates are open"),
    )
    return f"Do not release yet: {', '.join(filter(None, said))}"


def _counted_audits(findings: Sequence[Finding], one: str, many: str) -> str:
    """Return the number of audits, the words for one or many, and names; "" without findings."""
    n = len({(finding.model, finding.audit) for finding in findings})
    audits = list(dict.fromkeys(finding.audit for finding in findings))
    if not audits:
        return ""
    more = f" and {len(audits) - _NAMED} more" if len(audits) > _NAMED else ""
    named = f"({', '.join(audits[:_NAMED])}{more})"
    return f"one {one} {named}" if n == 1 else f"{n} {many} {named}"
