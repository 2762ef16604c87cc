"""The release advice: one sentence that says what a run's verdict means for a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.outcome import Outcome
from rmaudit.verdicts.records import Severity, Verdict

_NAMED = 3  # audits that are named before the rest is counted


def _by_name(finding: Finding) -> str:
    return finding.audit


def advice(
    outcome: Outcome, findings: Sequence[Finding], name: Callable[[Finding], str] = _by_name
) -> str:
    """Return, for example, `Do not release yet: one required check has no data (elo_agreement)`.

    `name` returns how the audit of a finding is called.
    """
    if outcome is Outcome.FAILS:
        return "Do not release"
    if outcome is Outcome.INCOMPLETE:
        return "Do not release yet: this run left something out, so run all of it"
    if outcome is Outcome.PASSES:
        return "No gate blocks a release"
    if not any(finding.estimate for finding in findings):
        return "Do not release yet: nothing was measured"
    gates = [f for f in findings if f.severity is Severity.GATE or f.blocks]
    missing = [f for f in gates if f.verdict is Verdict.SKIPPED]
    broken = [f for f in gates if f.verdict is Verdict.ERROR]
    unsure = [f for f in gates if f.blocks and f.verdict is Verdict.INCONCLUSIVE]
    said = (
        _counted(missing, ("required check has no data", "required checks have no data"), name),
        _counted(broken, ("check broke", "checks broke"), name),
        _counted(unsure, ("gate is unsure", "gates are unsure"), name),
    )
    return f"Do not release yet: {', '.join(filter(None, said))}"


def _counted(
    findings: Sequence[Finding], words: tuple[str, str], name: Callable[[Finding], str]
) -> str:
    """Return the number of findings with `words` and the audits' names; "" without findings."""
    n = len({(finding.model, finding.audit) for finding in findings})
    audits = list(dict.fromkeys(name(finding) for finding in findings))
    if not audits:
        return ""
    more = f" and {len(audits) - _NAMED} more" if len(audits) > _NAMED else ""
    named = f"({', '.join(audits[:_NAMED])}{more})"
    return f"one {words[0]} {named}" if n == 1 else f"{n} {words[1]} {named}"
