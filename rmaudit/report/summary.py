"""Sum up a run, or one model of it: a row for each audit, and what was not measured and why.

Terminal and page print this. What is asked of single findings is in `verdicts.verdict_wording`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmaudit.report.page.number_format import distance_beyond
from rmaudit.report.results_document import WORST_FIRST
from rmaudit.report.safe_text import addressed
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import REGRESSED, blocked_as
from rmaudit.verdicts.verdict_wording import doubt, incompetent

if TYPE_CHECKING:
    from rmaudit.report.charts.finding_strips import Scale

MARKS = {  # for readers who do not see colours
    "fail": "✗",
    "unsure": "?",
    "accepted": "~",
    "pass": "✓",
    "not decided": "○",
    "not run": "–",
}
_GRAVEST_FIRST = (Effect.BLOCKS, Effect.ACCEPTED, Effect.INFO, Effect.NONE)
_ACCEPTED, _OUTDATED = "accepted", "pass that should fail"
_WORDS = ("pass", "fail", REGRESSED, "unsure", "not decided", _OUTDATED, _ACCEPTED, "not run")
_REMEDY = re.compile(r"[;,] (?:get it with: |(?=name one with ))")
_ANY = "\0"  # in a reason, for the name of a model


@dataclass(frozen=True, slots=True)
class Row:
    """Findings of one audit of one model, one for each prompt or set of prompts."""

    findings: tuple[Finding, ...]
    doubt: str = ""
    """Why its pass may mean that the model prefers nothing; "" where it does not."""
    anchor: str = ""
    """The HTML id of its place on a page."""
    scale: Scale | None = None
    """The axis on which a page draws it."""

    @property
    def model(self) -> str:
        """Return the model's name."""
        return self.findings[0].model

    @property
    def audit(self) -> str:
        """Return the audit's name."""
        return self.findings[0].audit

    @property
    def title(self) -> str:
        """Return the audit's title."""
        return self.findings[0].title

    @property
    def question(self) -> str:
        """Return the question that the audit answers, or the claim if no question is given."""
        return self.findings[0].claim.question or self.findings[0].claim.text

    @property
    def gate(self) -> bool:
        """Return whether the audit is a gate here, under any prompt: a failure would block."""
        return any(f.severity is Severity.GATE for f in self.findings)

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """Return the findings of the row that block."""
        return tuple(f for f in self.findings if f.blocks)

    @property
    def decides(self) -> bool:
        """Return whether the audit is a gate, or blocks for another reason."""
        return self.gate or bool(self.blocking)

    @property
    def asked(self) -> bool:
        """Return whether the audit was asked for, and applies, under any prompt."""
        return any(f.verdict is not Verdict.NA for f in self.findings)

    @property
    def measured(self) -> list[Finding]:
        """Return the findings that were measured."""
        return [f for f in self.findings if f.estimate]

    @property
    def worst(self) -> Finding:
        """Return the finding that the row comes to: one that blocks, else the worst of a gate."""
        return min(
            self.findings,
            key=lambda f: (not f.blocks, f.severity is not Severity.GATE, _badness(f)),
        )

    @property
    def shown(self) -> Finding:
        """Return the measured finding whose result is worst; of several, the worst value."""
        return max(self.measured, key=lambda f: (-_badness(f), distance_beyond(f)))

    @property
    def result(self) -> Result:
        """Return the result that the row comes to."""
        return self.worst.result

    @property
    def effect(self) -> Effect:
        """Return the gravest effect among the row's findings."""
        return min((f.effect for f in self.findings), key=_GRAVEST_FIRST.index)

    @property
    def mark(self) -> str:
        """Return the sign for the result, such as ✓."""
        return MARKS[self.result]

    @property
    def name(self) -> str:
        """Return the audit's name, with the worst prompts if some are: `positive_skew[worst]`."""
        bad = [f.prompt for f in self.findings if f.in_words == self.worst.in_words]
        one = len(bad) == len(self.findings)
        return self.audit if one else f"{self.audit}[{', '.join(bad)}]"


@dataclass(frozen=True, slots=True)
class Missing:
    """Reason why some findings have no number, and how to measure them; "" where that is unknown.

    If they are of several models, `NAME` stands in both for a model's name.
    """

    why: str
    how: str
    findings: tuple[Finding, ...]

    @property
    def models(self) -> list[str]:
        """Return the names of the models."""
        return list(dict.fromkeys(f.model for f in self.findings))

    @property
    def titles(self) -> list[str]:
        """Return the titles of the audits."""
        return list(dict.fromkeys(f.title for f in self.findings))

    @property
    def asked(self) -> bool:
        """Return whether any of them was asked for: what was not does not count."""
        return any(f.verdict is not Verdict.NA for f in self.findings)


def summarize(findings: Sequence[Finding]) -> list[Row]:
    """Return a row for each audit of each model, in the order of the findings."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.model, finding.audit), []).append(finding)
    failed, rows = incompetent(findings), []
    for own in groups.values():
        said = [doubt(finding, failed) for finding in own if finding.estimate]
        rows.append(Row(tuple(own), said[0] if said and all(said) else ""))
    return rows


def count_gates(rows: Iterable[Row]) -> str:
    """Count the gates, for example `7 gates: 4 pass, 1 fail, 2 accepted; 1 not asked for`."""
    gates = [row for row in rows if row.gate]
    if not gates:
        return "no audit gates"
    found = Counter(_counted_as(row.worst) for row in gates if row.asked)
    said = ", ".join(f"{found[word]} {word}" for word in _WORDS if found[word])
    n = found.total()
    counted = f"{n} gate{'' if n == 1 else 's'}: {said}" if n else "no gate"
    return f"{counted}; {len(gates) - n} not asked for" if len(gates) > n else counted


def missing(findings: Iterable[Finding]) -> list[Missing]:
    """Group findings that were not measured by reason, across models; those that block first."""
    groups: dict[tuple[bool, str, str], list[Finding]] = {}
    for finding in findings:
        if finding.estimate is None:
            groups.setdefault((not finding.blocks, *_cause_and_remedy(finding)), []).append(finding)
    made = []
    for (_, why, how), own in sorted(groups.items(), key=lambda each: each[0][0]):
        models = {finding.model for finding in own}
        name = models.pop() if len(models) == 1 else "NAME"
        made.append(Missing(why.replace(_ANY, name), how.replace(_ANY, name), tuple(own)))
    return made


def _cause_and_remedy(finding: Finding) -> tuple[str, str]:
    """Split a finding's reason into cause and remedy; `_ANY` stands for the model's name in both.

    So equal reasons of models are equal.
    """
    reason = finding.reason.removeprefix(f"{finding.model}: ")
    named = re.sub(rf"(?<![\w.-]){re.escape(finding.model)}(?![\w.-])", _ANY, reason)
    why, *how = _REMEDY.split(named, maxsplit=1)
    return addressed(why), "".join(how)


def _badness(finding: Finding) -> int:
    return WORST_FIRST.index(finding.result)


def _counted_as(finding: Finding) -> str:
    """Return the word under which `count_gates` counts a gate's finding."""
    if finding.blocks and blocked_as(finding) == REGRESSED:
        return REGRESSED
    if finding.result is Result.PASS and finding.blocks:
        return _OUTDATED
    return _ACCEPTED if finding.effect is Effect.ACCEPTED else str(finding.result)
