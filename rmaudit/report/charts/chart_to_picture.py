"""Turn a `Chart` (plain data) into a picture: draw each panel, and describe it in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from rmaudit.charts import (
    Boxes,
    Chart,
    CountField,
    Curve,
    Dumbbells,
    Fact,
    Form,
    Matrix,
    Moves,
    Plane,
    Points,
    RankTable,
)
from rmaudit.report.charts import panels_by_term, two_axis_panels
from rmaudit.report.charts.panels_by_term import heat
from rmaudit.report.charts.picture_and_labels import Picture, as_label, quoted_term

_MOST = 500  # rows that a panel draws, whatever a results.json holds: the table has all

_Rows = TypeVar("_Rows", Points, Moves, Dumbbells)


def picture(chart: Chart) -> Picture:
    """Return the picture of a chart; its SVGs are placeholders that `compiled` replaces."""
    kinds = list(chart.columns.values())
    columns = dict[str, str]()
    for name, kind in chart.columns.items():
        label = as_label(name)  # which cuts: two long names may have one label
        columns[label if label not in columns else f"{label} ({len(columns)})"] = kind
    return Picture(
        chart.title,
        chart.caption,
        "".join(_panel_markup(panel, chart.title) for panel in chart.panels),
        columns,
        tuple(
            tuple(
                as_label(cell) if kind == "text" else cell
                for cell, kind in zip(row, kinds, strict=True)
            )
            for row in chart.rows
        ),
    )


def _panel_markup(panel: Form, title: str) -> str:  # noqa: PLR0911  (one for each form)
    """Return the markup of a panel, with a text alternative for screen readers."""
    name = ", ".join(as_label(part) for part in (title, panel.title, *panel.subtitle) if part)
    facts = [_fact_in_words(fact) for fact in panel.facts]
    match panel:
        case Points():
            return panels_by_term.points(_first_rows(panel), spoken_title=name, facts=facts)
        case Moves():
            return panels_by_term.moves(_first_rows(panel), spoken_title=name, facts=facts)
        case Dumbbells():
            return panels_by_term.dumbbells(_first_rows(panel), spoken_title=name, facts=facts)
        case Boxes():
            return two_axis_panels.boxes(panel, spoken_title=name, facts=facts)
        case Curve():
            return two_axis_panels.curve(panel, spoken_title=name, facts=facts)
        case CountField():
            return two_axis_panels.count_field(panel, spoken_title=name, facts=facts)
        case Matrix():
            return two_axis_panels.matrix(panel, spoken_title=name, facts=facts)
        case Plane():
            return two_axis_panels.plane(panel, spoken_title=name, facts=facts)
        case RankTable():
            return heat(panel)


def _first_rows(panel: _Rows) -> _Rows:
    """Return the panel with at most 500 rows; its subtitle says if rows were left out."""
    if len(panel.rows) <= _MOST:
        return panel
    shown = f"the first {_MOST} of {len(panel.rows):,}"
    return replace(panel, rows=panel.rows[:_MOST], subtitle=(*panel.subtitle, shown))


def _fact_in_words(fact: Fact) -> str:
    return f"{fact.before}{', '.join(map(quoted_term, fact.terms))}{fact.after}"
