"""Draw a report's pictures: turn chart data into SVG markup, a caption and a table.

Pictures show what results.json holds. The chart of an audit comes from its evidence, as an
`rmaudit.charts.Chart`; only `model_comparison` knows the evidence of particular audits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

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
from rmaudit.report.charts.model_comparison import charts_between
from rmaudit.report.charts.picture_and_labels import Picture, as_label
from rmaudit.report.charts.reward_distributions import of_models, of_sweeps
from rmaudit.report.results_document import AuditedModel, Comparison
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import AnyFinding, Finding

__all__ = ["Picture", "between", "charts_of", "of_findings", "of_sweeps", "picture"]

_MOST = 500  # rows that a panel draws, whatever a results.json holds: the table has all

_Rows = TypeVar("_Rows", Points, Moves, Dumbbells)


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


def between(
    models: Sequence[AuditedModel],
    findings: Sequence[Finding],
    comparison: Sequence[Comparison],
) -> list[Picture]:
    """Return the pictures that compare models: rewards, findings, and `comparison` of ranks."""
    rewards = of_models(models)
    return [*([rewards] if rewards else []), *map(picture, charts_between(findings, comparison))]


def picture(chart: Chart) -> Picture:
    """Return the picture of a chart."""
    kinds = list(chart.columns.values())
    columns = dict[str, str]()
    for name, kind in chart.columns.items():
        label = as_label(name)  # which cuts: two long names may have one label
        columns[label if label not in columns else f"{label} ({len(columns)})"] = kind
    return Picture(
        chart.title,
        chart.caption,
        "".join(_drawn(panel, chart.title) for panel in chart.panels),
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
    """Return the markup of a panel of the chart called `of`."""
    match panel:
        case Points():
            return panels_by_term.points(_first_rows(panel), of)
        case Moves():
            return panels_by_term.moves(_first_rows(panel), of)
        case Dumbbells():
            return panels_by_term.dumbbells(_first_rows(panel), of)
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


def _first_rows(panel: _Rows) -> _Rows:
    """Return the panel with at most 500 rows; its subtitle says if rows were left out."""
    if len(panel.rows) <= _MOST:
        return panel
    shown = f"the first {_MOST} of {len(panel.rows):,}"
    return replace(panel, rows=panel.rows[:_MOST], subtitle=(*panel.subtitle, shown))
