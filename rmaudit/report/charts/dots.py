"""Estimates with their intervals, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rmaudit.report.charts.drawing import BLUE, FAINT, as_svg, chart_of, names_left
from rmaudit.report.charts.picture import as_label, placeholders, spoken

_WIDTH, _STEP = 165, 18  # pixels


class Dot(NamedTuple):
    """A named value and its interval."""

    name: str
    value: float
    low: float
    high: float


def dots(
    rows: Sequence[Dot], *, axis: str, domain: tuple[float, float], title: str, subtitle: str = ""
) -> str:
    """A row per dot, in the order given."""
    import altair as alt

    labels = placeholders([row.name for row in rows])
    values = [
        {"place": place, "name": label, "value": row.value, "low": row.low, "high": row.high}
        for place, (row, label) in enumerate(zip(rows, labels, strict=True))
    ]
    y = alt.Y("place:O").axis(None)
    x = alt.X("value:Q").scale(domain=list(domain), nice=False).axis(title=axis, tickCount=4)
    chart = chart_of(values)
    layers = [
        chart_of([{"value": 0}]).mark_rule(color=FAINT, strokeDash=[3, 3]).encode(x=x),
        chart.mark_rule(color=BLUE, strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y),
        chart.mark_point(color=BLUE, filled=True, opacity=1, size=42).encode(x=x, y=y),
        *names_left(values, y),
    ]
    drawn = alt.layer(*layers).properties(
        width=_WIDTH,
        height=_STEP * len(rows),
        title=alt.TitleParams(as_label(title), subtitle=subtitle),
    )
    terms = [row.name for row in rows]
    return as_svg(drawn, title=title, facts=[told(row) for row in rows], terms=terms)


def told(row: Dot) -> str:
    """For example `“Muslim” +0.19 (-0.03 to +0.41)`."""
    return f"{spoken(row.name)} {row.value:+.2f} ({row.low:+.2f} to {row.high:+.2f})"


def around(rows: Sequence[Dot]) -> tuple[float, float]:
    """A domain for all of `rows`, 0 and a margin within."""
    ends = [end for row in rows for end in (row.low, row.high, row.value)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin
