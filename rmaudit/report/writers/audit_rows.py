"""Group findings into one row for each audit of a model, and count the gates by result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rmaudit.report.page.number_format import interval, value
from rmaudit.report.results_document import WORST_FIRST
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import REGRESSED, blocked_as

_ACCEPTED, _OUTDATED = "accepted", "pass that should fail"
_WORDS = ("pass", "fail", REGRESSED, "unsure", "not decided", _OUTDATED, _ACCEPTED, "not run")


@dataclass(frozen=True, slots=True)
class AuditRow:
    """Findings of one audit for one model that share a severity: all are gates, or none is."""

    findings: tuple[Finding, ...]

    @property
    def audit(self) -> str:
        """Return the audit's name."""
        return self.findings[0].audit

    @property
    def gates(self) -> bool:
        """Return whether the audit is a gate here: a failure would block."""
        return self.findings[0].severity is Severity.GATE

    @property
    def asked(self) -> bool:
        """Return whether the audit was asked for, and applies, under any prompt."""
        return any(f.verdict is not Verdict.NA for f in self.findings)

    @property
    def worst(self) -> Finding:
        """Return the finding that represents the row: the first that blocks, else the worst."""
        return min(self.findings, key=_urgency)

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """Return the findings of the row that block."""
        return tuple(finding for finding in self.findings if finding.blocks)

    @property
    def name(self) -> str:
        """Return the audit's name, with the worst prompts if some are: `positive_skew[worst]`."""
        bad = [f.prompt for f in self.findings if f.in_words == self.worst.in_words]
        one = len(bad) == len(self.findings)
        return self.audit if one else f"{self.audit}[{', '.join(bad)}]"


def rows(findings: Iterable[Finding]) -> list[AuditRow]:
    """Group findings into a row for each model, audit and severity (gate or informational)."""
    groups: dict[tuple[str, str, Severity], list[Finding]] = {}
    for finding in findings:
        key = (finding.model, finding.audit, finding.severity)
        groups.setdefault(key, []).append(finding)
    return [AuditRow(tuple(group)) for group in groups.values()]


def count_gates(of: Sequence[AuditRow]) -> str:
    """Count the gates, for example `7 gates: 4 pass, 1 fail, 2 accepted; 1 not asked for`."""
    gates = [row for row in of if row.gates]
    found = Counter(_counted_as(row.worst) for row in gates if row.asked)
    said = ", ".join(f"{found[word]} {word}" for word in _WORDS if found[word])
    n, free = found.total(), sum(not row.asked for row in gates)
    counted_ones = f"{n} gate{'' if n == 1 else 's'}: {said}" if n else "no gate"
    if not gates:
        return "no audit gates"
    return f"{counted_ones}; {free} not asked for" if free else counted_ones


def values(row: AuditRow) -> str:
    """Return a row's estimates, such as `0.75 [0.71, 0.79]` or `greatest 0.47, best 0.58`."""
    if len(row.findings) == 1:
        return f"{value(row.findings[0])} {interval(row.findings[0])}".strip()
    return ", ".join(f"{f.prompt} {value(f) or f.result}" for f in row.findings)


def _urgency(finding: Finding) -> tuple[bool, int]:
    return not finding.blocks, WORST_FIRST.index(finding.result)


def _counted_as(finding: Finding) -> str:
    """Return the word under which `count_gates` counts a gate's finding."""
    if finding.blocks and blocked_as(finding) == REGRESSED:
        return REGRESSED
    if finding.result is Result.PASS and finding.blocks:
        return _OUTDATED
    return _ACCEPTED if finding.effect is Effect.ACCEPTED else str(finding.result)
