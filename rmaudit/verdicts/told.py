"""Texts about findings: counts of each result, and reasons why a finding does not pass.

The words are the same in the terminal and in every report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rmaudit.verdicts.findings import Finding, slipped
from rmaudit.verdicts.records import Effect, Result, Severity, Verdict

OUTDATED = "passes, though models.yaml expects it to fail: remove it from `known`"
_OUTSIDE = "outside its bound; it does not gate, so it fails nothing"
_OPEN = "its interval straddles the bound; it does not gate"
_UNDECIDED = (
    "harm beyond the bound is not shown, and there is too little data to show that there is none"
)


def tally(findings: Iterable[Finding]) -> dict[str, int]:
    """Return the number of findings for each result and effect; absent ones are left out.

    Results come in the order of `Result`; of each those without an effect come first.
    """
    places = [*Result], [Effect.NONE, Effect.BLOCKS, Effect.ACCEPTED, Effect.INFO]

    def place(finding: Finding) -> tuple[int, int]:
        return places[0].index(finding.result), places[1].index(finding.effect)

    return dict(Counter(finding.in_words for finding in sorted(findings, key=place)))


def tallied(findings: Iterable[Finding]) -> str:
    """Return the counts of `tally` as text, for example `12 pass, 1 fail (blocks)`."""
    return ", ".join(f"{n} {words}" for words, n in tally(findings).items())


def nulls_in_words(findings: Iterable[Finding]) -> str:
    """Return how many null controls the audits stopped, and which passed; "" without any."""
    tried = [
        (finding, name, control)
        for finding in findings
        for name, control in finding.controls.items()
        if control.stops
    ]
    if not tried:
        return ""
    through = [f"{name!r} passes {finding.audit}" for finding, name, c in tried if c.slips]
    untried = sum(control.verdict in (Verdict.SKIPPED, Verdict.NA) for _, _, control in tried)
    said = [f"null controls: {len(tried) - len(through) - untried} of {len(tried)} stopped"]
    said += [f"{untried} not tried"] if untried else []
    return ", ".join([*said, *dict.fromkeys(through)])


def explain(finding: Finding) -> str:
    """Return lines for the terminal on why a finding does not pass: claim, numbers, repeat command.

    What else is to be known of it (base rate, caveats, null controls) stands in the report.
    """
    claim, judgement = finding.claim, finding.judgement
    straddles = finding.result is Result.UNSURE
    lines = [
        f"{finding.name}: {finding.in_words}"
        + (": the interval straddles the bound" if straddles and not judgement.reason else ""),
        f"  claim      {claim.text}",
        f"  measured   {finding.estimate}",
        f"  bound      {finding.bound}"
        + (f" ({judgement.bound_by}; declared: {claim.bound})" if judgement.bound_by else ""),
    ]
    if through := _slipped(finding):
        lines.append(f"  nulls      {through}")
    if judgement.waiver:
        lines.append(f"  waiver     {judgement.waiver.says}")
    if judgement.unexcused:
        lines.append(f"  no excuse  {judgement.unexcused}")
    if claim.repeat:
        lines.append(f"  repeat     {claim.repeat}")
    return "\n".join(lines)


def excuse(finding: Finding) -> str:
    """Return why a failure is accepted: the waiver's sentence, or the reason under `known`."""
    judgement = finding.judgement
    return judgement.waiver.says if judgement.waiver else judgement.known


def overrides(finding: Finding) -> list[tuple[str, str, str]]:
    """Return what models.yaml overrides: name, its place in the file, and the declared value."""
    judgement, claim = finding.judgement, finding.claim
    said = [
        ("severity", judgement.severity_by, str(claim.severity)),
        ("bound", judgement.bound_by, str(claim.bound)),
    ]
    return [each for each in said if each[1]]


def reasons(finding: Finding) -> list[str]:
    """Return the reasons why a finding has no plain verdict, those of the policy included."""
    judgement, verdict = finding.judgement, finding.verdict
    informs = finding.severity is Severity.INFO
    why, through = finding.reason or judgement.reason, _slipped(finding)
    said = [
        judgement.regressed,
        why,
        through if through != why else "",
        _OUTSIDE if informs and verdict is Verdict.FAIL else "",
        _OPEN if informs and finding.result is Result.UNSURE and not why else "",
        _UNDECIDED if finding.result is Result.NOT_DECIDED else "",
        OUTDATED if judgement.known and verdict is Verdict.PASS else "",
        judgement.known if judgement.accepted and not why else "",
        judgement.waiver.says if judgement.waiver else "",
        judgement.unexcused,
        *(f"{what} as in {by}; declared: {was}" for what, by, was in overrides(finding)),
    ]
    return [reason for reason in said if reason]


def _slipped(finding: Finding) -> str:
    """Return which null controls take a pass away, a sentence; "" if none does."""
    return slipped(finding.controls, finding.estimate, finding.bound)
