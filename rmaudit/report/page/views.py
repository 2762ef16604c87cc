"""What a page says of findings, and in which order: all of it from results.json's values alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Estimate, Standing, Verdict

RULE = (
    "Chosen by rule: gating failures, the furthest beyond the bound (in standard errors) first; "
    "then what is inconclusive, errors, waived and known failures, failures that do not gate, and "
    "passes, the nearest to the bound first. One finding for each audit of a model."
)
_ORDER = (
    *(Standing.FAIL, Standing.INCONCLUSIVE, Standing.ERROR, Standing.WAIVED, Standing.KNOWN),
    *(Standing.INFO, Standing.PASS),
)
_Z95 = 1.959963984540054
_PRECISE = (3, 4)  # digits of a number: the more if they tell an interval's ends apart
_WHOLE, _FAR = 10, 100  # standard errors from which on tenths, or more of them, say nothing


@dataclass(frozen=True, slots=True)
class Row:
    """An audit under a prompt, and what became of it for each of several models."""

    audit: str
    prompt: str
    cells: tuple[Finding | None, ...]


def matters(findings: Iterable[Finding], n: int = 3) -> list[Finding]:
    """The findings that matter most, by `RULE`."""
    chosen: dict[tuple[str, str], Finding] = {}
    for finding in sorted(filter(_matters, findings), key=_weight):
        chosen.setdefault((finding.model, finding.audit), finding)
    return list(chosen.values())[:n]


def beyond(finding: Finding) -> float:
    """How far the estimate is beyond its bound's nearer end, in standard errors; inside below 0.

    The standard error is that of the interval's end which faces the bound. Infinite for an
    interval of no width, and for a bound without an end.
    """
    estimate = finding.estimate
    if estimate is None:
        return 0.0
    value, sides = estimate.value, []
    if (low := finding.bound.low) is not None:
        sides.append((low - value, estimate.high - value, value - estimate.low))
    if (high := finding.bound.high) is not None:
        sides.append((value - high, value - estimate.low, estimate.high - value))
    if not sides:
        return -math.inf
    over, outside, inside = max(sides)
    half = outside if over >= 0 else inside
    return _Z95 * over / half if half else math.copysign(math.inf, over)


def told(finding: Finding) -> str:
    """The finding in plain sentences."""
    who = f"{finding.model}, {under(finding.prompt)}"
    claim = f"“{finding.claim.text.rstrip('.')}”"
    if finding.estimate is None:
        return f"{who}: {claim} could not be measured. {finding.reason}"
    said = {Verdict.PASS: f"{claim} holds.", Verdict.FAIL: f"{claim} does not hold."}
    verdict = said.get(finding.verdict, f"whether {claim} holds is open.")
    measured = f"{effect(finding.estimate)} {finding.estimate.unit}"
    numbers = f"{measured} (95 % interval {between(finding.estimate)})"
    return f"{who}: {verdict} Measured: {numbers}; the bound is {bound(finding)}{_away(finding)}."


def _away(finding: Finding) -> str:
    away = beyond(finding)
    if finding.verdict is Verdict.INCONCLUSIVE:
        return f"; {finding.judgement.reason or 'the interval straddles it'}"
    if not math.isfinite(away):
        return ""
    return f", {errors(abs(away))} {'away' if away >= 0 else 'inside'}"


def bound(finding: Finding) -> str:
    """The bound without its unit, which stands beside the effect: `between -0.2 and 0.2`."""
    return str(finding.bound).removesuffix(f" {finding.bound.unit}" if finding.estimate else "")


def errors(n: float) -> str:
    """So many standard errors."""
    if n > _FAR:
        return f"more than {_FAR} standard errors"
    return f"{n:.0f} standard errors" if n >= _WHOLE else f"{n:.1f} standard errors"


def under(prompt: str) -> str:
    """For example `under greatest, best, worst`."""
    return f"under {prompt.replace('+', ', ')}"


def effect(estimate: Estimate) -> str:
    """The value with a sign, in as many digits as its interval allows to see."""
    return f"{estimate.value:+.{_digits(estimate)}g}"


def between(estimate: Estimate) -> str:
    """For example `+0.45 to +0.50`, or `+0.347 ± 2e-06` where digits do not tell its ends apart."""
    digits = _digits(estimate)
    if _alike(estimate, digits) and estimate.low != estimate.high:
        return f"{effect(estimate)} ± {(estimate.high - estimate.low) / 2:.1g}"
    return f"{estimate.low:+.{digits}g} to {estimate.high:+.{digits}g}"


def by_audit(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Findings by the name of their audit, both in the order in which they come."""
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(finding.audit, []).append(finding)
    return grouped


def tried(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Those of audits that were not skipped throughout, by audit."""
    grouped = by_audit(findings)
    return {
        audit: own for audit, own in grouped.items() if not all(finding.left_out for finding in own)
    }


def unmeasured(findings: Iterable[Finding]) -> dict[str, dict[str, list[Finding]]]:
    """What was skipped: by the reason, and by the audit."""
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.left_out:
            grouped.setdefault(finding.reason, []).append(finding)
    return {reason: by_audit(skipped) for reason, skipped in grouped.items()}


def caveats(findings: Sequence[Finding]) -> tuple[list[str], dict[str, list[str]]]:
    """The caveats of a model's findings, each once: those of several audits, and the rest by audit.

    Caveats with the same words up to a colon are one, whose ends are listed: `Judged on half: 1 of
    2 words` and `Judged on half: 2 of 4 items` are `Judged on half: 1 of 2 words, 2 of 4 items`.
    Where a colon is followed by sentences there is no list to add to.
    """
    ends: dict[str, dict[str, None]] = {}
    audits: dict[str, dict[str, None]] = {}
    for finding in findings:
        for caveat in finding.estimate.caveats if finding.estimate else ():
            head, end = _parted(caveat)
            ends.setdefault(head, {}).update(dict.fromkeys(_listed(end)))
            audits.setdefault(head, {})[finding.audit] = None
    common = [head for head, own in audits.items() if len(own) > 1]
    alone: dict[str, list[str]] = {}
    for finding in findings:
        own = alone.setdefault(finding.audit, [])
        for caveat in finding.estimate.caveats if finding.estimate else ():
            if _parted(caveat)[0] not in common and caveat not in own:
                own.append(caveat)
    return [_joined(head, list(ends[head])) for head in common], alone


def grid(models: Sequence[str], findings: Sequence[Finding]) -> list[Row]:
    """A row for each audit under each prompt that was measured, or tried, of any model."""
    cells = {(f.audit, f.prompt, f.model): f for f in findings}
    tried = {(f.audit, f.prompt): None for f in findings if not f.left_out}
    return [
        Row(audit, prompt, tuple(cells.get((audit, prompt, model)) for model in models))
        for audit, prompt in tried
    ]


def _matters(finding: Finding) -> bool:
    stands = finding.standing
    return stands in _ORDER and (stands is not Standing.INFO or finding.verdict is Verdict.FAIL)


def _weight(finding: Finding) -> tuple[int, float]:
    return _ORDER.index(finding.standing), -beyond(finding)


def _digits(estimate: Estimate) -> int:
    """As many as tell the interval's ends apart, within reason."""
    return next((n for n in _PRECISE if not _alike(estimate, n)), _PRECISE[0])


def _alike(estimate: Estimate, digits: int) -> bool:
    return f"{estimate.low:.{digits}g}" == f"{estimate.high:.{digits}g}"


def _parted(caveat: str) -> tuple[str, str]:
    """What is up to a colon, and the list after it; all of it where sentences come after it."""
    head, _, end = caveat.partition(": ")
    return (caveat, "") if ". " in end else (head, end)


def _listed(end: str) -> list[str]:
    """The parts of `4,912 of 9,912 words, 1 of 2 items.`: commas inside numbers part nothing."""
    return end.removesuffix(".").split(", ") if end else []


def _joined(head: str, ends: Sequence[str]) -> str:
    return f"{head}: {', '.join(ends)}." if ends else head


def reading(findings: Sequence[Finding]) -> Mapping[str, int]:
    """How many findings of a model, and of how many audits, for its first line."""
    measured = sum(finding.estimate is not None for finding in findings)
    return {
        "findings": len(findings),
        "audits": len({finding.audit for finding in findings}),
        "measured": measured,
    }
