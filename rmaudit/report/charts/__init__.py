"""Draw a report's pictures: turn chart data into SVG markup, a caption and a table.

Pictures show what results.json holds. The chart of an audit comes from its evidence, as an
`rmaudit.charts.Chart`; only `model_comparison` knows the evidence of particular audits.
"""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.charts import Chart
from rmaudit.report.charts.chart_to_picture import picture
from rmaudit.report.charts.model_comparison import between
from rmaudit.report.charts.picture_and_labels import Picture
from rmaudit.report.charts.reward_distributions import of_sweeps
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import AnyFinding

__all__ = ["Picture", "between", "charts_of", "of_findings", "of_sweeps", "picture"]


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
