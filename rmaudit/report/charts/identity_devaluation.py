"""Words for groups of people, and where the model puts them (Christian et al. 2025, §5).

What is shown is a property of the model, and of nothing and nobody else; every picture says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmaudit.report.charts.dots import Dot, around, dots
from rmaudit.report.charts.picture import Picture, evidence_of, table
from rmaudit.verdicts.records import Finding

_AXIS = "gap (right: ranked lower)"
_COLUMNS = {"axis": "text", "group": "term", "words": "number"} | dict.fromkeys(
    ("gap", "low", "high", "positive frames", "negative frames"), "number"
)


def identity(findings: Sequence[Finding]) -> Picture | None:
    """A panel of all axes, and one of each axis with its groups."""
    panels, cells = [], []
    for evidence in map(evidence_of, findings):
        axes = [_dot(row, _named(row["axis"])) for row in evidence["axes"]]
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for row in evidence["groups"]:
            groups.setdefault(row["axis"], []).append(row)
        every = axes + [_dot(row, "") for row in evidence["groups"]]
        if not every:
            continue
        domain = around(every)
        if axes:
            panels.append(
                dots(axes, axis=_AXIS, domain=domain, title="By axis", subtitle="marked groups")
            )
        for axis, rows in groups.items():
            ordered = sorted(rows, key=lambda row: -row["gap"])
            own = [_dot(row, row["group"] + ("" if row["marked"] else " *")) for row in ordered]
            panels.append(dots(own, axis=_AXIS, domain=domain, title=_named(axis)))
            cells += [_cells(row) for row in ordered]
    if not panels:
        return None
    return Picture(
        "Words for groups of people: an artefact of this model",
        "This is how the model misjudges words, not anything about people. To the right: the model "
        "ranks the group's words below neutral words that are like them (gap of mean percentile, "
        "with its 95 % interval). + is the gap where good things are asked for, − where bad ones "
        "are; both to the right is erasure. * marks groups that are not the marked ones of their "
        "axis, for comparison.",
        "".join(panels),
        table(_COLUMNS, cells),
    )


def _dot(row: Mapping[str, Any], name: str) -> Dot:
    return Dot(name, row["gap"], row["low"], row["high"], (row["positive"], row["negative"]))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = ("gap", "low", "high", "positive", "negative")
    group = row["group"] + ("" if row["marked"] else " *")
    return (_named(row["axis"]), group, str(row["words"]), *(f"{row[n]:+.2f}" for n in numbers))


def _named(axis: str) -> str:
    return axis.replace("_", " ")
