"""Two values of many things: how many lie where, and which of them moved furthest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rmaudit.report.charts.drawing import (
    BLUE,
    FAINT,
    VERMILLION,
    as_svg,
    chart_of,
    names_left,
    shaded,
)
from rmaudit.report.charts.picture import placeholders

if TYPE_CHECKING:
    import altair as alt

_SIDE, _STEP, _MOVES = 240, 17, 165  # pixels


class Scale(NamedTuple):
    """An axis: what it says, and its ends as drawn (the first at the left, or at the bottom)."""

    title: str
    ends: tuple[float, float]


class Move(NamedTuple):
    """A term and its values on both axes."""

    term: str
    start: float
    end: float


def cells(
    counts: Sequence[Sequence[int]], x: tuple[Sequence[float], str], y: tuple[Sequence[float], str]
) -> alt.LayerChart | alt.FacetChart:
    """A field of cells, the darker the more lie in them: `counts[i][j]` is at x's i, y's j.

    `x` and `y` are edges, in the order of drawing, and a title.
    """
    import altair as alt

    most = max((count for row in counts for count in row), default=0)
    rows = [
        {
            "x": x[0][i],
            "x2": x[0][i + 1],
            "y": y[0][j],
            "y2": y[0][j + 1],
            # The root of the share: a linear scale shows the peak and nothing else.
            "share": shaded((count / most) ** 0.5),
        }
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if count
    ]
    domains = [[float(edges[0]), float(edges[-1])] for edges, _ in (x, y)]
    across = alt.X("x:Q").scale(domain=domains[0], nice=False).axis(title=x[1], tickCount=5)
    up = alt.Y("y:Q").scale(domain=domains[1], nice=False).axis(title=y[1], tickCount=5)
    opacity = alt.Opacity("share:Q").scale(domain=[0, 1], range=[0, 1]).legend(None)
    field = (
        chart_of(rows)
        .mark_rect(color=BLUE)
        .encode(x=across, x2="x2:Q", y=up, y2="y2:Q", opacity=opacity)
    )
    return alt.layer(field).properties(width=_SIDE, height=_SIDE)


def moves(
    rows: Sequence[Move], *, scale: Scale, names: tuple[str, str], title: str, subtitle: str
) -> str:
    """A row per term: a hollow point where it starts, a line, and a filled point where it ends."""
    import altair as alt

    labels = placeholders([row.term for row in rows])
    values: list[dict[str, Any]] = [
        {"place": place, "name": label, "start": row.start, "end": row.end}
        for place, (row, label) in enumerate(zip(rows, labels, strict=True))
    ]
    y = alt.Y("place:O").axis(None)
    x = alt.X("start:Q").scale(domain=list(scale.ends), nice=False)
    x = x.axis(title=scale.title, tickCount=4)
    chart = chart_of(values)
    drawn = alt.layer(
        chart.mark_rule(color=FAINT, strokeWidth=1.5).encode(x=x, x2="end:Q", y=y),
        chart.mark_point(color=VERMILLION, filled=False, size=42).encode(x=x, y=y),
        chart.mark_point(color=BLUE, filled=True, opacity=1, size=42).encode(x="end:Q", y=y),
        *names_left(values, y),
    ).properties(
        width=_MOVES,
        height=_STEP * len(rows),
        title=alt.TitleParams(title, subtitle=[subtitle, f"hollow: {names[0]}; full: {names[1]}"]),
    )
    return as_svg(
        drawn,
        title=f"{title}, {subtitle}",
        facts=[f"{len(rows)} things, each {names[0]} to {names[1]}; the table has their names"],
        terms=[row.term for row in rows],
    )
