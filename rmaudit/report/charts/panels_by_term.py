"""Draw panels with a row for each term (word or token): points, changes, pairs of values, ranks.

The table of ranks (`heat`) is one of the page and no picture: its cells are words and numbers that
a reader may copy, and it scrolls where it is wider than a phone.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rmaudit.charts import Bell, Domain, Dumbbells, MarkedRow, Moves, Points, RankTable
from rmaudit.references import offensive_text_masks
from rmaudit.report.charts.picture_and_labels import (
    as_label,
    placeholders,
    quoted_term,
    short_label,
)
from rmaudit.report.charts.svg_compiler import (
    BLUE,
    FAINT,
    INK,
    VERMILLION,
    as_svg,
    chart_of,
    fixed,
    headed,
    names_left,
)
from rmaudit.report.safe_text import line

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _STEP = 165, 18  # pixels
_TITLE = 215  # of an axis: what is longer would stand out at the right
_PLOT, _NUMBERS = 86, 108  # of dumbbells: the plot, and the room for numbers beside it
_FAINTEST, _DENSEST = 0.0, 0.55  # opacities of a cell: text on it keeps its contrast


def points(panel: Points, *, spoken_title: str, facts: Sequence[str]) -> str:
    """Draw a row for each term: its points with intervals, and a tick at a reference value."""
    import altair as alt

    rows = panel.rows
    several = any(len(row.marks) > 1 for row in rows)
    size, opacity = (36, 0.8) if several else (42, 1)  # points that may lie on each other
    marks = [
        {"place": place, "second": mark.second, "hollow": mark.hollow}
        | {"value": mark.value, "low": mark.low, "high": mark.high}
        for place, row in enumerate(rows)
        for mark in row.marks
    ]
    strokes = [{"place": i, "stroke": row.stroke} for i, row in enumerate(rows)]
    strokes = [each for each in strokes if each["stroke"] is not None]
    intervals = [each for each in marks if each["low"] is not None and each["high"] is not None]
    domain = panel.domain or _around(_numbers(rows), zero=panel.zero)
    x, y = _x("value", panel.axis, domain), _y()
    layers: list[alt.Chart] = []
    if panel.zero:
        line = chart_of([{"value": 0}]).mark_rule(color=FAINT, strokeDash=[3, 3])
        layers.append(line.encode(x=x))
    if strokes:
        tick = chart_of(strokes).mark_tick(color=INK, thickness=1.5, size=12)
        layers.append(tick.encode(x=alt.X("stroke:Q"), y=y))
    if intervals:
        rule = chart_of(intervals).mark_rule(color=BLUE, strokeWidth=1.5)
        layers.append(rule.encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y))
    for second, color in ((False, BLUE), (True, VERMILLION)):
        for hollow in (False, True):
            own = [each for each in marks if (each["second"], each["hollow"]) == (second, hollow)]
            dots = chart_of(own).mark_point(
                color=color, filled=not hollow, opacity=opacity, size=size
            )
            layers += [dots.encode(x=x, y=y)] if own else []
    drawn = alt.layer(*layers, *names_left(_name_labels(rows), y)).properties(
        width=_WIDTH, height=_STEP * len(rows), title=headed(panel)
    )
    return as_svg(
        drawn,
        title=spoken_title,
        facts=facts or [_read_out(row) for row in rows],
        terms=[row.name for row in rows],
    )


def _read_out(row: MarkedRow) -> str:
    """Describe a row in words, such as `“Muslim” +0.19 (-0.03 to +0.41)`."""
    parts = []
    for mark in row.marks:
        between = mark.low is not None and mark.high is not None
        ends = f" ({mark.low:+.2f} to {mark.high:+.2f})" if between else ""
        parts.append(f"{mark.value:+.2f}{ends}")
    return f"{quoted_term(row.name)} {', '.join(parts)}"


def _numbers(rows: Sequence[MarkedRow]) -> list[float]:
    found = [n for row in rows for mark in row.marks for n in (mark.value, mark.low, mark.high)]
    return [n for n in (*found, *(row.stroke for row in rows)) if n is not None]


def _around(numbers: Sequence[float], *, zero: bool) -> Domain:
    """Return axis limits around all numbers, with a margin, and including 0 if 0 is drawn."""
    low, high = (end([0.0, *numbers] if zero else list(numbers) or [0.0]) for end in (min, max))
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin


def moves(panel: Moves, *, spoken_title: str, facts: Sequence[str]) -> str:
    """Draw a row for each term: its change as a line from a hollow point to a filled one."""
    import altair as alt

    first, last = panel.ends
    values = [
        {"place": place, "start": row.start, "end": row.end} for place, row in enumerate(panel.rows)
    ]
    x, y, chart = _x("start", panel.axis, panel.domain), _y(), chart_of(values)
    drawn = alt.layer(
        chart.mark_rule(color=FAINT, strokeWidth=1.5).encode(x=x, x2=alt.X2("end:Q"), y=y),
        chart.mark_point(color=VERMILLION, filled=False, size=42).encode(x=x, y=y),
        chart.mark_point(color=BLUE, filled=True, opacity=1, size=42).encode(x=alt.X("end:Q"), y=y),
        *names_left(_name_labels(panel.rows), y),
    ).properties(
        width=_WIDTH,
        height=_STEP * len(panel.rows),
        title=headed(panel, f"hollow: {first}; full: {last}"),
    )
    said = f"{len(panel.rows)} things, each {first} to {last}; the table has their names"
    terms = [row.name for row in panel.rows]
    return as_svg(drawn, title=spoken_title, facts=facts or [said], terms=terms)


def dumbbells(panel: Dumbbells, *, spoken_title: str, facts: Sequence[str]) -> str:
    """Draw a row for each term: two points (filled, hollow), and a value with interval as text."""
    import altair as alt

    values = [
        {"place": place, "first": row.first, "second": row.second, "numbers": _interval(row)}
        for place, row in enumerate(panel.rows)
    ]
    x, y, chart = _x("first", panel.axis, panel.domain, ticks=3), _y(), chart_of(values)
    right = fixed(alt.XValue, _PLOT + _NUMBERS)
    drawn = alt.layer(
        chart_of([{"first": 0}]).mark_rule(color=FAINT, strokeDash=[3, 3]).encode(x=x),
        chart.mark_rule(color=FAINT, strokeWidth=2).encode(x=x, x2=alt.X2("second:Q"), y=y),
        chart.mark_point(color=VERMILLION, filled=False, size=42).encode(x=alt.X("second:Q"), y=y),
        chart.mark_point(color=BLUE, filled=True, opacity=1, size=42).encode(x=x, y=y),
        chart.mark_text(align="right", color=INK, fontSize=9.5).encode(
            x=right, y=y, text=alt.Text("numbers:N")
        ),
        chart_of([{"text": as_label(panel.numbers)}])
        .mark_text(align="right", color=INK)
        .encode(x=right, y=fixed(alt.YValue, -10), text=alt.Text("text:N")),
        *names_left(_name_labels(panel.rows), y),
    ).properties(width=_PLOT, height=_STEP * len(panel.rows), title=headed(panel))
    said = [
        f"{quoted_term(row.name)} {_signed(row.value)} ({_signed(row.low)} to {_signed(row.high)})"
        for row in panel.rows
    ]
    terms = [row.name for row in panel.rows]
    return as_svg(drawn, title=spoken_title, facts=facts or said, terms=terms)


def _interval(row: Bell) -> str:
    return f"{_signed(row.value)} [{_signed(row.low)}, {_signed(row.high)}]"


def _signed(number: float) -> str:
    """Return a number with a sign and two decimals, never `-0.00`."""
    return f"{number:+.2f}".replace("-0.00", "+0.00")


def _x(field: str, title: str, domain: Domain, *, ticks: int = 4) -> alt.X:
    import altair as alt

    scaled = alt.X(f"{field}:Q").scale(domain=list(domain), nice=False)
    return scaled.axis(title=as_label(title), titleLimit=_TITLE, tickCount=ticks)


def _y() -> alt.Y:
    import altair as alt

    return alt.Y("place:O").axis(None)


def _name_labels(rows: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return chart data for each row: its index (`place`), and a placeholder for its name."""
    labels = placeholders([row.name for row in rows])
    return [{"place": place, "name": label} for place, label in enumerate(labels)]


def heat(panel: RankTable) -> str:
    """Return an HTML table of ranks, sorted by mean rank; a darker cell is a better rank."""
    heads = "".join(f'<th scope="col" class="n">{_escaped(name)}</th>' for name in panel.by)
    rows = "".join(
        f'<tr><th scope="row">{_masked(row.name)}</th>'
        f"{''.join(_cell(rank, panel.of) for rank in row.ranks)}</tr>"
        for row in sorted(panel.rows, key=lambda row: (sum(row.ranks), row.name))
    )
    label = _escaped(panel.title)
    return (
        f'<div class="scroll heat" tabindex="0" role="group" aria-label="{label}">'
        f"<table><caption>{label}: rank 1 of {panel.of:,.0f} is the best</caption>"
        f'<thead><tr><th scope="col">item</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(rank: float, of: float) -> str:
    share = 1 - (rank - 1) / (of - 1) if of > 1 else 1.0
    shade = _FAINTEST + (_DENSEST - _FAINTEST) * min(max(share, 0.0), 1.0)
    return f'<td style="--share:{100 * shade:.0f}%">{rank:,.0f}</td>'


def _escaped(text: str) -> str:
    return html.escape(line(as_label(text)))


def _masked(term: str) -> str:
    """Return a term as HTML, cut to 22 characters; a harsh one is masked until the reader asks."""
    if not offensive_text_masks.masked(term):
        return html.escape(short_label(term))
    shown, mask = (
        html.escape(short_label(text)) for text in (term, offensive_text_masks.label(term))
    )
    return f'<span data-term="{shown}">{mask}</span>'
