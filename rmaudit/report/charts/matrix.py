"""Numbers by rows and columns, the darker the larger."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.report.charts.drawing import BLUE, INK, as_svg, chart_of, shaded

_SIDE, _WIDEST, _TALLEST = 215, 40, 24  # pixels: all columns, one column, one row


def matrix(  # noqa: PLR0913  (keyword-only after the subject)
    values: Sequence[Sequence[float | None]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    subtitle: str,
    facts: Sequence[str] = (),
) -> str:
    """A cell for each number (None: none is drawn), shaded from 0 to 1, with its two digits."""
    import altair as alt

    cell = min(_WIDEST, max(19, _SIDE // len(columns)))
    cells = [
        {"row": i, "column": j, "share": shaded(value), "text": _short(value)}
        for i, line in enumerate(values)
        for j, value in enumerate(line)
        if value is not None
    ]
    x = alt.X("column:O").axis(None).scale(domain=list(range(len(columns))), padding=0.05)
    y = alt.Y("row:O").axis(None).scale(domain=list(range(len(rows))), padding=0.05)
    opacity = alt.Opacity("share:Q").scale(domain=[0, 1], range=[0, 1]).legend(None)
    height = min(cell, _TALLEST) * len(rows)
    drawn = alt.layer(
        chart_of(cells).mark_rect(color=BLUE).encode(x=x, y=y, opacity=opacity),
        chart_of(cells).mark_text(color=INK, fontSize=10).encode(x=x, y=y, text="text:N"),
        chart_of([{"row": i, "name": name} for i, name in enumerate(rows)])
        .mark_text(align="right", x=-6, color=INK)
        .encode(y=y, text="name:N"),
        chart_of([{"column": j, "name": name} for j, name in enumerate(columns)])
        .mark_text(align="right", angle=300, y=height + 10, color=INK)
        .encode(x=x, text="name:N"),
    ).properties(
        width=cell * len(columns),
        height=height,
        title=alt.TitleParams(title, subtitle=subtitle),
    )
    told = facts or [
        f"{rows[i]} and {columns[j]} {value:.2f}"
        for i, line in enumerate(values)
        for j, value in enumerate(line)
        if j < i and value is not None
    ]
    return as_svg(drawn, title=f"{title}, {subtitle}", facts=told)


def _short(value: float) -> str:
    """For example `.75`, `-.05` and `1`: cells are narrow."""
    return f"{value:.2f}".replace("0.", ".").replace("1.00", "1").replace("-.00", ".00")
