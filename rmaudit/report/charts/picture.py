"""What a picture of a report consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Evidence

_E = TypeVar("_E", bound=Evidence)
ByPrompt = Sequence[tuple[str, _E]]  # the evidence of an audit under each prompt, by its name


class Column(NamedTuple):
    """A column of a table; its cells are texts, numbers as texts, or terms to be masked."""

    name: str
    kind: str = "number"  # "text", "number" or "term"


class Table(NamedTuple):
    """What a picture shows, in rows; cells are ready to print, but for the masks of terms."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


class Picture(NamedTuple):
    """A picture of a report. `svg` is our own markup; all else is text that a page must escape."""

    title: str
    caption: str
    svg: str
    table: Table | None


def table(columns: Mapping[str, str], rows: Sequence[Sequence[str]]) -> Table | None:
    """A table of `columns` (kinds by name); None where there is no row."""
    if not rows:
        return None
    return Table(
        tuple(Column(name, kind) for name, kind in columns.items()), tuple(map(tuple, rows))
    )


def evidence_of(finding: Finding) -> Evidence | None:
    """What a finding has for a picture; None where it has no estimate, or one without evidence."""
    return finding.estimate.evidence if finding.estimate else None


def under_prompts(findings: Sequence[Finding], kind: type[_E]) -> list[tuple[Finding, _E]]:
    """The findings that have evidence of this kind, each with it."""
    found = ((finding, evidence_of(finding)) for finding in findings)
    return [(finding, each) for finding, each in found if isinstance(each, kind)]
