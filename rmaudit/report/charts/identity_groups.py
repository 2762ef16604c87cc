"""Words for groups of people, and where the model puts them (Christian et al. 2025, §5).

What is shown is a property of the model, and of nothing and nobody else; every picture says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.measures.identity_gaps import Gap, GapTables, GroupGap
from rmaudit.report.charts.dumbbells import Bell, around, dumbbells
from rmaudit.report.charts.picture import Picture, table

_AXIS = "gap (right: ranks lower)"
_CARE = "This is how the model misjudges words, not anything about people."
_KEY = (
    "A full dot is the gap where good things are asked for, a hollow one where bad ones are (mean "
    "percentile of words of like valence less the group's own); the number is half their sum "
    "(erasure) or half their difference (hostility), with its 95 % interval. * marks groups that "
    "are not the marked ones of their axis, for comparison."
)
_COLUMNS = {"axis": "text", "group": "term", "words": "number"} | dict.fromkeys(
    ("gap", "low", "high", "positive frames", "negative frames"), "number"
)


def picture(found: Sequence[tuple[str, GapTables]], title: str, caption: str) -> Picture | None:
    """A panel of all axes, and one of each axis with its groups."""
    panels, cells = [], []
    for _, evidence in found:
        axes = [_bell(row, _spaced(row.axis)) for row in evidence.axes]
        groups: dict[str, list[GroupGap]] = {}
        for row in evidence.groups:
            groups.setdefault(row.axis, []).append(row)
        every = axes + [_bell(row, "") for row in evidence.groups]
        if not every:
            continue
        domain = around(every)
        if axes:
            panels.append(
                dumbbells(
                    axes, axis=_AXIS, domain=domain, title="By axis", subtitle="marked groups"
                )
            )
        for axis, rows in groups.items():
            ordered = sorted(rows, key=lambda row: -row.gap)
            own = [_bell(row, _starred(row)) for row in ordered]
            panels.append(dumbbells(own, axis=_AXIS, domain=domain, title=_spaced(axis)))
            cells += [_cells(row) for row in ordered]
    if not panels:
        return None
    return Picture(
        title,
        f"{_CARE} {caption} {_KEY}",
        "".join(panels),
        table(_COLUMNS, cells),
    )


def _bell(row: Gap, name: str) -> Bell:
    return Bell(name, row.positive, row.negative, row.gap, row.low, row.high)


def _cells(row: GroupGap) -> tuple[str, ...]:
    numbers = (row.gap, row.low, row.high, row.positive, row.negative)
    shown = (f"{number:+.2f}" for number in numbers)
    return (_spaced(row.axis), _starred(row), str(row.words), *shown)


def _starred(row: GroupGap) -> str:
    return row.group + ("" if row.marked else " *")


def _spaced(axis: str) -> str:
    return axis.replace("_", " ")
