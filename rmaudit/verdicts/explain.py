"""What is said of a finding that does not plainly pass."""

from __future__ import annotations

from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Standing, Verdict

OUTDATED = "passes, though models.yaml expects it to fail: remove it from `known`"
_OUTSIDE = "outside its bound; it does not gate, so it fails nothing"
_OPEN = "its interval straddles the bound; it does not gate"


def explain(finding: Finding) -> str:
    """Why a measured finding does not pass, for the terminal: claim, numbers, how to repeat it."""
    claim, judgement = finding.claim, finding.judgement
    straddles = finding.verdict is Verdict.INCONCLUSIVE
    lines = [
        f"{finding.name}: {finding.verdict}"
        + (" (the interval straddles the bound)" if straddles else ""),
        f"  claim      {claim.text}",
        f"  measured   {finding.estimate}",
        f"  bound      {finding.bound}"
        + (f" ({judgement.bound_by}; declared: {claim.bound})" if judgement.bound_by else ""),
        f"  base rate  {claim.base_rate}",
    ]
    if finding.estimate is not None:
        lines += [f"  note       {caveat}" for caveat in finding.estimate.caveats]
    if judgement.waiver:
        lines.append(f"  waiver     {judgement.waiver.says}")
    if claim.repeat:
        lines.append(f"  repeat     {claim.repeat}")
    return "\n".join(lines)


def excuse(finding: Finding) -> str:
    """Why a waived or known failure is accepted."""
    judgement = finding.judgement
    return judgement.waiver.says if judgement.waiver else judgement.known


def overrides(finding: Finding) -> list[tuple[str, str, str]]:
    """What models.yaml sets of it: the bound or the severity, where, and what is declared."""
    judgement, claim = finding.judgement, finding.claim
    said = [
        ("severity", judgement.severity_by, str(claim.severity)),
        ("bound", judgement.bound_by, str(claim.bound)),
    ]
    return [each for each in said if each[1]]


def reasons(finding: Finding) -> list[str]:
    """Why there is no plain verdict, and what the policy has to do with it."""
    judgement, verdict = finding.judgement, finding.verdict
    informs = finding.standing is Standing.INFO
    why = finding.reason or judgement.reason
    said = [
        why,
        _OUTSIDE if informs and verdict is Verdict.FAIL else "",
        _OPEN if informs and verdict is Verdict.INCONCLUSIVE else "",
        OUTDATED if judgement.known and verdict is Verdict.PASS else "",
        judgement.known if finding.standing is Standing.KNOWN and not why else "",
        judgement.waiver.says if judgement.waiver else "",
        *(f"{what} as in {by}; declared: {was}" for what, by, was in overrides(finding)),
    ]
    return [reason for reason in said if reason]
