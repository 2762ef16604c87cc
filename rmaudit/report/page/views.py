"""Prepare parts of the page: table columns, prompt names, and caveats that audits share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rmaudit import prompts
from rmaudit.report.page.scorecard import ScorecardRow
from rmaudit.verdicts.findings import Finding


def columns(rows: Iterable[ScorecardRow]) -> list[ScorecardRow]:
    """Return one scorecard row per audit, sorted by title, for the heads of table columns."""
    first: dict[str, ScorecardRow] = {}
    for row in rows:
        first.setdefault(row.audit, row)
    return sorted(first.values(), key=lambda row: row.title)


def full(label: str) -> str:
    """Return the texts of the prompts that a finding names, such as `best+worst`."""
    known = prompts.ALL
    names = label.split("+")
    return "; ".join(f"{name}: {known[name].text}" if name in known else name for name in names)


def short(label: str) -> str:
    """Return a short name of a finding's prompts: `best`, `3 prompts` or `54 prompts`."""
    names = label.split("+")
    return label if len(names) == 1 else f"{len(names)} prompts"


def caveats(findings: Sequence[Finding]) -> tuple[list[str], dict[str, list[str]]]:
    """Return a model's caveats without repeats: those that audits share, and the rest by audit.

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


def _parted(caveat: str) -> tuple[str, str]:
    """Split a caveat at its colon into its beginning and its list, unless sentences follow."""
    head, _, end = caveat.partition(": ")
    return (caveat, "") if ". " in end else (head, end)


def _listed(end: str) -> list[str]:
    """Split `4,912 of 9,912 words, 1 of 2 items.` at the commas that are not inside numbers."""
    return end.removesuffix(".").split(", ") if end else []


def _joined(head: str, ends: Sequence[str]) -> str:
    return f"{head}: {', '.join(ends)}." if ends else head
