"""Place the scorecard's rows: their order, axes and anchors, and the columns of a table of models.

Also what a reader is told beside the rows: prompts by name and text, and the caveats that audits
share.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from rmaudit import prompts
from rmaudit.report.charts.finding_strips import Scale
from rmaudit.report.summary import Row, summarize
from rmaudit.verdicts.estimates_and_bounds import Effect
from rmaudit.verdicts.findings import AnyFinding, Finding

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def rows(
    findings: Sequence[Finding], anchors: Mapping[tuple[str, str], str], scales: Mapping[str, Scale]
) -> list[Row]:
    """Return one model's rows: blocking gates, other gates, then the rest, each by title."""
    made = (
        replace(row, anchor=anchors[row.model, row.audit], scale=scales.get(row.audit))
        for row in summarize(findings)
    )
    return sorted(
        made, key=lambda row: (not row.decides, row.effect is not Effect.BLOCKS, row.title)
    )


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


def columns(rows: Iterable[Row]) -> list[Row]:
    """Return the first row of each audit, sorted by title: the columns of a table of models."""
    first: dict[str, Row] = {}
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
