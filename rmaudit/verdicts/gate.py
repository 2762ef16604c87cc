"""From estimates to findings: the declared bound applied, and where findings stand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rmaudit.verdicts.declare import Declaration
from rmaudit.verdicts.records import Estimate, Finding, Severity, Verdict

KNOWN = "KNOWN"  # how a known failure is counted and shown
WAIVED = "WAIVED"  # likewise one that somebody answers for
INFO = "INFO"  # likewise a measured finding that gates nothing, whatever its verdict
ALPHA = 0.05  # of a false FAIL, over all gating findings of a run

OUTDATED = "passes, though models.yaml expects it to fail: remove it from `known`"
HOLDS = ("waived", "expiring")  # the states of a waiver that holds
_ROUNDING = 1e-9  # an interval that ends at the bound has a p of ALPHA, but for this


def judge(  # noqa: PLR0913  (keyword-only after the subject)
    declaration: Declaration,
    estimate: Estimate,
    *,
    model: str,
    prompt: str,
    nodeid: str,
    repeat: str = "",
    sweeps: tuple[str, ...] = (),
) -> Finding:
    """The finding of a measured audit as it declares itself: see `decide`.

    Raises:
        ValueError: the estimate is in another unit than the bound.
    """
    verdict = declaration.bound.judge(estimate)
    blank = unmeasured(
        declaration, verdict, "", model=model, prompt=prompt, nodeid=nodeid, repeat=repeat
    )
    return replace(
        blank,
        estimate=estimate,
        sweeps=sweeps,
        detectable=estimate.detectable,
        p=declaration.bound.p_value(estimate),
    )


def unmeasured(  # noqa: PLR0913
    declaration: Declaration,
    verdict: Verdict,
    reason: str,
    *,
    model: str,
    prompt: str,
    nodeid: str,
    repeat: str = "",
) -> Finding:
    """The finding of an audit that gave no estimate: an ERROR or SKIPPED, with its reason."""
    return Finding(
        audit=declaration.name,
        nodeid=nodeid,
        claim=declaration.claim,
        source=declaration.source,
        base_rate=declaration.base_rate,
        bound=str(declaration.bound),
        bound_low=end(declaration.bound.low),
        bound_high=end(declaration.bound.high),
        model=model,
        prompt=prompt,
        verdict=verdict,
        reason=reason,
        repeat=repeat,
        severity=declaration.severity,
        limits=declaration.limits,
    )


def end(number: float) -> float | None:
    """An end of a bound, None where it is infinite: JSON has no infinity."""
    return number if math.isfinite(number) else None


def settle(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of a whole run: one family of tests, by Holm's method (1979).

    A gating FAIL that could be chance among so many gating findings becomes INCONCLUSIVE, which
    does not pass either: a run's colour never depends on it. What gates nothing stays as it is.
    """
    family = [i for i, f in enumerate(findings) if f.severity is Severity.GATE and f.p is not None]
    if not family:
        return list(findings)
    from statsmodels.stats.multitest import multipletests

    adjusted = multipletests([findings[i].p for i in family], alpha=ALPHA, method="holm")[1]
    settled = list(findings)
    for i, p in zip(family, map(float, adjusted), strict=True):
        settled[i] = _adjusted(findings[i], p, len(family))
    return settled


def _adjusted(finding: Finding, p: float, size: int) -> Finding:
    if finding.verdict is not Verdict.FAIL or p <= ALPHA * (1 + _ROUNDING):
        return replace(finding, p_holm=p)
    reason = (
        f"outside the bound if taken alone (p = {finding.p:.2g}), but such may be chance among "
        f"{size} gating findings (Holm's p = {p:.2g})"
    )
    return replace(finding, p_holm=p, verdict=Verdict.INCONCLUSIVE, reason=reason)


def explain(finding: Finding) -> str:
    """Why a measured finding does not pass, for the terminal: claim, numbers, how to repeat it."""
    straddles = finding.verdict is Verdict.INCONCLUSIVE
    lines = [
        f"{finding.audit}[{finding.model}-{finding.prompt}]: {finding.verdict}"
        + (" (the interval straddles the bound)" if straddles else ""),
        f"  claim      {finding.claim}",
        f"  measured   {finding.estimate}",
        f"  bound      {_bound(finding)}",
        f"  base rate  {finding.base_rate}",
    ]
    if finding.estimate is not None:
        lines += [f"  note       {caveat}" for caveat in finding.estimate.caveats]
    if finding.waiver:
        lines.append(f"  waiver     {finding.waiver['says']}")
    if finding.repeat:
        lines.append(f"  repeat     {finding.repeat}")
    return "\n".join(lines)


def _bound(finding: Finding) -> str:
    """For example `above 1 sd (models.yaml: bounds: skew; declared: above 0 sd)`."""
    over = finding.overridden.get("bound")
    return (
        f"{finding.bound} ({over['from']}; declared: {over['declared']})" if over else finding.bound
    )


def standing(finding: Finding) -> str:
    """The verdict as it is counted and shown.

    WAIVED for a failure with a waiver that holds, KNOWN for one that models.yaml expects, INFO for
    what was measured and gates nothing.
    """
    if finding.severity is Severity.INFO and finding.estimate is not None:
        return INFO
    failed = finding.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)
    if failed and finding.waiver.get("state") in HOLDS:
        return WAIVED
    return KNOWN if failed and finding.known else str(finding.verdict)


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings stand where, in the order of the verdicts."""
    found = Counter(standing(finding) for finding in findings)
    order = [str(verdict) for verdict in Verdict]
    order[2:2] = [WAIVED, KNOWN, INFO]
    return {name: found[name] for name in order if found[name]}
