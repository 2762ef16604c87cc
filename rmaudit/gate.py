"""From estimates to findings: the bound applied, known failures named. Knows no pytest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from rmaudit.declare import Declaration
from rmaudit.prompts import Prompt
from rmaudit.records import Estimate, Finding, Verdict

KNOWN = "KNOWN"  # how a known failure is counted and shown


def known_reason(known: Mapping[str, str], audit: str, prompt: str) -> str:
    """Why models.yaml expects this audit to fail under this prompt; "" if it does not."""
    return known.get(f"{audit}[{prompt}]", known.get(audit, ""))


def judge(  # noqa: PLR0913  (keyword-only after the subject)
    declaration: Declaration,
    estimate: Estimate,
    *,
    model: str,
    prompt: Prompt,
    nodeid: str,
    known: str = "",
    repeat: str = "",
    sweeps: tuple[str, ...] = (),
) -> Finding:
    """The finding of a measured audit.

    Raises:
        ValueError: the estimate is in another unit than the bound.
    """
    verdict = declaration.bound.judge(estimate)
    blank = unmeasured(
        declaration, verdict, "", model=model, prompt=prompt, nodeid=nodeid, repeat=repeat
    )
    return replace(blank, estimate=estimate, known=known, sweeps=sweeps)


def unmeasured(  # noqa: PLR0913
    declaration: Declaration,
    verdict: Verdict,
    reason: str,
    *,
    model: str,
    prompt: Prompt,
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
        model=model,
        prompt=prompt.name,
        verdict=verdict,
        reason=reason,
        repeat=repeat,
    )


def explain(finding: Finding) -> str:
    """Why a measured finding does not pass, for the terminal: claim, numbers, how to repeat it."""
    straddles = finding.verdict is Verdict.INCONCLUSIVE
    lines = [
        f"{finding.audit}[{finding.model}-{finding.prompt}]: {finding.verdict}"
        + (" (the interval straddles the bound)" if straddles else ""),
        f"  claim      {finding.claim}",
        f"  measured   {finding.estimate}",
        f"  bound      {finding.bound}",
        f"  base rate  {finding.base_rate}",
    ]
    if finding.estimate is not None:
        lines += [f"  note       {caveat}" for caveat in finding.estimate.caveats]
    if finding.repeat:
        lines.append(f"  repeat     {finding.repeat}")
    return "\n".join(lines)


def standing(finding: Finding) -> str:
    """The verdict as it is counted and shown: KNOWN for a failure that models.yaml names."""
    failed = finding.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)
    return KNOWN if failed and finding.known else str(finding.verdict)


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings stand where, in the order of the verdicts."""
    found = Counter(standing(finding) for finding in findings)
    order = [str(verdict) for verdict in Verdict]
    order.insert(2, KNOWN)
    return {name: found[name] for name in order if found[name]}
