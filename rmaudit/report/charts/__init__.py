"""Draw a report's pictures: turn chart data into SVG markup, a caption and a table.

Pictures show what results.json holds. The chart of an audit comes from its evidence, as an
`rmaudit.charts.Chart`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rmaudit.charts import (
    Boxes,
    Chart,
    CountField,
    Dumbbells,
    Form,
    Matrix,
    Moves,
    Plane,
    Points,
    RankTable,
)
from rmaudit.report.charts import panels_by_term, two_axis_panels
from rmaudit.report.charts.picture_and_labels import Picture, as_label
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import AnyFinding

_MOST = 500  # rows that a panel draws, whatever a results.json holds: the table has all


def charts_of(findings: Sequence[AnyFinding]) -> list[Chart]:
    """Return the charts of one model's findings, one for each audit whose evidence can be drawn."""
    grouped: dict[tuple[str, type[Evidence]], list[tuple[str, Evidence]]] = {}
    for finding in findings:
        if finding.estimate and (evidence := finding.estimate.evidence):
            own = grouped.setdefault((finding.audit, type(evidence)), [])
            own.append((finding.prompt, evidence))
    charts = (kind.chart(found) for (_, kind), found in grouped.items())
    return [chart for chart in charts if chart]


def of_findings(findings: Sequence[AnyFinding]) -> list[Picture]:
    """Return the pictures of one model's findings, one for each audit that has a chart."""
    return [picture(chart) for chart in charts_of(findings)]


def picture(chart: Chart, drawn: str = "") -> Picture:
    """Return the picture of a chart; `drawn` is its markup if that is no panel of a known form."""
    kinds = list(chart.columns.values())
    columns = dict[str, str]()
    for name, kind in chart.columns.items():
        label = as_label(name)  # which cuts: two long names may have one label
        columns[label if label not in columns else f"{label} ({len(columns)})"] = kind
    return Picture(
        chart.title,
        chart.caption,
        drawn or "".join(_drawn(panel, chart.title) for panel in chart.panels),
        columns,
        tuple(
            tuple(
                as_label(cell) if kind == "text" else cell
                for cell, kind in zip(row, kinds, strict=True)
            )
            for row in chart.rows
        ),
    )


def _drawn(panel: Form, of: str) -> str:  # noqa: PLR0911  (one for each form)
    """Return the markup of a panel of the chart called `of`, with at most 500 rows."""
    if isinstance(panel, Points | Moves | Dumbbells) and len(panel.rows) > _MOST:
        shown = f"the first {_MOST} of {len(panel.rows):,}"
        fewer: dict[str, Any] = {"rows": panel.rows[:_MOST], "subtitle": (*panel.subtitle, shown)}
        panel = replace(panel, **fewer)
    match panel:
        case Points():
            return panels_by_term.points(panel, of)
        case Moves():
            return panels_by_term.moves(panel, of)
        case Dumbbells():
            return panels_by_term.dumbbells(panel, of)
        case RankTable():
            return panels_by_term.heat(panel)
        case Boxes():
            return two_axis_panels.boxes(panel, of)
        case CountField():
            return two_axis_panels.count_field(panel, of)
        case Matrix():
            return two_axis_panels.matrix(panel, of)
        case Plane():
            return two_axis_panels.plane(panel, of)
