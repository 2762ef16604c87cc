"""Build the scorecard: a row per audit of a model, blocking audits first, then other gates.

Also what a reader is told beside the rows: prompts by name and text, and the caveats that audits
share.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rmaudit import prompts
from rmaudit.report.charts.finding_strips import Scale
from rmaudit.report.page.number_format import distance_beyond
from rmaudit.report.results_document import WORST_FIRST
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict
from rmaudit.verdicts.findings import AnyFinding, Finding
from rmaudit.verdicts.verdict_wording import doubt, incompetent

_GRAVEST_FIRST = (Effect.BLOCKS, Effect.ACCEPTED, Effect.INFO, Effect.NONE)
MARKS = {
    Result.PASS: "✓",
    Result.FAIL: "✗",
    Result.UNSURE: "?",
    Result.NOT_DECIDED: "○",
    Result.NOT_RUN: "–",
}
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_HOW = re.compile(r"^(?P<why>.*?)[;,] (?P<how>(?:get it with:|name one with) .+)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ScorecardRow:
    """Row of the scorecard: findings of an audit for a model, one per prompt or prompt set."""

    audit: str
    anchor: str
    findings: tuple[Finding, ...]
    scale: Scale | None
    doubt: str = ""
    """Why its pass may mean that the model prefers nothing; "" where it does not."""

    @property
    def title(self) -> str:
        """Return the audit's title."""
        return self.findings[0].title

    @property
    def question(self) -> str:
        """Return the question that the audit answers, or the claim if no question is given."""
        return self.findings[0].claim.question or self.findings[0].claim.text

    @property
    def result(self) -> Result:
        """Return the worst result among the blocking findings, or among all if none blocks."""
        blocking = [f for f in self.findings if f.blocks] or self.findings
        return min((f.result for f in blocking), key=WORST_FIRST.index)

    @property
    def effect(self) -> Effect:
        """Return the gravest effect among the row's findings."""
        return min((f.effect for f in self.findings), key=_GRAVEST_FIRST.index)

    @property
    def gates(self) -> bool:
        """Return whether the audit is a gate, or blocks for another reason."""
        return any(f.severity is Severity.GATE or f.blocks for f in self.findings)

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
        """Return the measured finding whose result is worst; of several, the worst value."""
        return max(self.measured, key=lambda f: (-WORST_FIRST.index(f.result), distance_beyond(f)))

    @property
    def mark(self) -> str:
        """Return a sign for the result, such as ✓, for readers who do not see colours."""
        return MARKS[self.result]


@dataclass(frozen=True, slots=True)
class Missing:
    """Reason why some audits were not measured, and how to measure them."""

    why: str
    how: str
    audits: tuple[str, ...]
    """Their titles."""
    models: tuple[str, ...]
    opens: bool
    """Whether that leaves the verdict open; what a run does not ask for does not count."""


def rows(
    findings: Sequence[Finding], anchors: Mapping[tuple[str, str], str], scales: Mapping[str, Scale]
) -> list[ScorecardRow]:
    """Return one model's rows: blocking gates, other gates, then the rest, each by title."""
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(finding.audit, []).append(finding)
    failed = incompetent(findings)
    made = [
        ScorecardRow(
            audit,
            anchors[own[0].model, audit],
            tuple(own),
            scales.get(audit),
            _why_doubted(own, failed),
        )
        for audit, own in grouped.items()
    ]
    return sorted(made, key=lambda row: (not row.gates, row.effect is not Effect.BLOCKS, row.title))


def _why_doubted(own: Sequence[Finding], failed: Mapping[str, tuple[str, ...]]) -> str:
    """Return why all passes of an audit may show only indifference; "" if one shows more."""
    said = [doubt(finding, failed) for finding in own if finding.estimate]
    return said[0] if said and all(said) else ""


def scales(findings: Sequence[Finding]) -> dict[str, Scale]:
    """Return the value axis (scale) of each measured audit, shared by all prompts and models."""
    found = {
        audit: Scale.of([f for f in findings if f.audit == audit])
        for audit in dict.fromkeys(f.audit for f in findings)
    }
    return {audit: scale for audit, scale in found.items() if scale}


def anchors(
    findings: Iterable[AnyFinding], models: Sequence[str], taken: Collection[str]
) -> dict[tuple[str, str], str]:
    """Return an HTML id, not in `taken`, for each (model, audit); of many models it names one."""
    made: dict[tuple[str, str], str] = {}
    used = set(taken)
    for finding in findings:
        key = (finding.model, finding.audit)
        if key in made:
            continue
        named = finding.audit if len(models) == 1 else f"{finding.audit}--{finding.model}"
        made[key] = unused(named, used)
    return made


def unused(name: str, used: set[str]) -> str:
    """Turn `name` into an HTML id that is not in `used`, and add the id to `used`."""
    plain = _UNSAFE.sub("-", name)[:80] or "audit"
    found, n = plain, 1
    while found in used:
        n += 1
        found = f"{plain}-{n}"
    used.add(found)
    return found


def missing(findings: Iterable[Finding]) -> list[Missing]:
    """Group findings that were not measured by reason, across models."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.estimate is None:
            groups.setdefault(_cause_and_remedy(finding), []).append(finding)
    return [
        Missing(
            why,
            how,
            tuple(dict.fromkeys(f.title for f in own)),
            tuple(dict.fromkeys(f.model for f in own)),
            any(f.verdict is not Verdict.NA for f in own),
        )
        for (why, how), own in groups.items()
    ]


def _cause_and_remedy(finding: Finding) -> tuple[str, str]:
    """Split a finding's reason into cause and remedy; the model's name is removed or `NAME`."""
    reason = finding.reason.removeprefix(f"{finding.model}: ")
    found = _HOW.match(reason)
    why, how = (found["why"], found["how"]) if found else (reason, "")
    how = how.removeprefix("get it with: ")
    return why, re.sub(rf"(?<!\S){re.escape(finding.model)}(?!\S)", "NAME", how)


def columns(rows: Iterable[ScorecardRow]) -> list[ScorecardRow]:
    """Return the first row of each audit, sorted by title: the columns of a table of models."""
    first: dict[str, ScorecardRow] = {}
    for row in rows:
        first.setdefault(row.audit, row)
    return sorted(first.values(), key=lambda row: row.title)


def full(label: str) -> str:
    """Return the name and text of each prompt in a finding's label, such as `best+worst`."""
    known = prompts.ALL
    names = label.split("+")
    return "; ".join(f"{name}: {known[name].text}" if name in known else name for name in names)


def short(label: str) -> str:
    """Return a short form of a finding's label of prompts: `best`, `3 prompts` or `54 prompts`."""
    names = label.split("+")
    return label if len(names) == 1 else f"{len(names)} prompts"


def caveats(findings: Sequence[AnyFinding]) -> tuple[list[str], dict[str, list[str]]]:
    """Return a model's caveats without repeats: those that audits share, and the rest by audit.

    Caveats with the same words up to a colon are one, whose ends are listed: `Judged on half: 1 of
    2 words` and `Judged on half: 2 of 4 items` are `Judged on half: 1 of 2 words, 2 of 4 items`.
    Where a colon is followed by sentences there is no list to add to.
    """
    ends: dict[str, dict[str, None]] = {}
    audits: dict[str, dict[str, None]] = {}
    for finding in findings:
        for caveat in finding.estimate.caveats if finding.estimate else ():
            head, end = _beginning_and_list(caveat)
            ends.setdefault(head, {}).update(dict.fromkeys(_list_items(end)))
            audits.setdefault(head, {})[finding.audit] = None
    common = [head for head, own in audits.items() if len(own) > 1]
    alone: dict[str, list[str]] = {}
    for finding in findings:
        own = alone.setdefault(finding.audit, [])
        for caveat in finding.estimate.caveats if finding.estimate else ():
            if _beginning_and_list(caveat)[0] not in common and caveat not in own:
                own.append(caveat)
    return [_joined(head, list(ends[head])) for head in common], alone


def _beginning_and_list(caveat: str) -> tuple[str, str]:
    """Split a caveat at its colon into (beginning, list); return (caveat, "") if it has no list.

    It has none if there is no colon, or if another sentence begins after it.
    """
    head, _, end = caveat.partition(": ")
    return (caveat, "") if ". " in end else (head, end)


def _list_items(end: str) -> list[str]:
    """Split `4,912 of 9,912 words, 1 of 2 items.` at the commas that are not inside numbers."""
    return end.removesuffix(".").split(", ") if end else []


def _joined(head: str, ends: Sequence[str]) -> str:
    return f"{head}: {', '.join(ends)}." if ends else head
