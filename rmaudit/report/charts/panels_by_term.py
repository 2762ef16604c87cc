"""Draw panels with a row for each term (word or token): points, changes, pairs of values, ranks.

The table of ranks (`heat`) is one of the page and no picture: its cells are words and numbers that
a reader may copy, and it scrolls where it is wider than a phone.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TypeVar

from rmaudit import svg
from rmaudit.charts import Bell, Domain, Dumbbells, MarkedRow, Move, Moves, Points, RankTable
from rmaudit.references import offensive_text_masks
from rmaudit.report.charts.picture_and_labels import (
    as_label,
    framed,
    quoted_term,
    short_label,
    term_text,
)
from rmaudit.report.safe_text import line

_NAMES, _PLOT, _STEP = 145, 170, 18  # pixels: names at the left, the plot, a row
_SHORT_PLOT, _NUMBERS = 84, 112  # of dumbbells: the plot, and the room for numbers beside it
_DENSEST = 0.55  # opacity of a cell: text on it keeps its contrast

_Row = TypeVar("_Row", MarkedRow, Move, Bell)


def points(panel: Points, of: str) -> str:
    """Draw a row for each term: its points with intervals, and a tick at a reference value."""
    x = svg.Axis(*(panel.domain or _around(panel)), 0, _PLOT)
    several = any(len(row.marks) > 1 for row in panel.rows)  # points that may lie on each other
    marks = list(_names_and_zero(panel.rows, x, zero=panel.zero))
    for y, row in _placed(panel.rows):
        if row.stroke is not None:
            marks.append(svg.line(x.at(row.stroke), y - 6, x.at(row.stroke), y + 6, "ink"))
        marks += [
            svg.line(x.at(mark.low), y, x.at(mark.high), y, "blue")
            for mark in row.marks
            if mark.low is not None and mark.high is not None
        ]
        for mark in sorted(row.marks, key=lambda mark: (mark.second, mark.hollow)):
            kind = ("red" if mark.second else "blue") + " hollow" * mark.hollow
            marks.append(svg.dot(x.at(mark.value), y, kind, 3.0 if several else 3.5))
    return _with_axis(panel, of, marks, x, facts=[_read_out(row) for row in panel.rows])


def _read_out(row: MarkedRow) -> str:
    """Describe a row in words, such as `“Muslim” +0.19 (-0.03 to +0.41)`."""
    parts = []
    for mark in row.marks:
        between = mark.low is not None and mark.high is not None
        ends = f" ({mark.low:+.2f} to {mark.high:+.2f})" if between else ""
        parts.append(f"{mark.value:+.2f}{ends}")
    return f"{quoted_term(row.name)} {', '.join(parts)}"


def _around(panel: Points) -> Domain:
    """Return axis limits around all numbers, with a margin, and including 0 if 0 is drawn."""
    marks = [mark for row in panel.rows for mark in row.marks]
    found = [number for mark in marks for number in (mark.value, mark.low, mark.high)]
    given = [n for n in (*found, *(row.stroke for row in panel.rows)) if n is not None]
    given += [0.0] if panel.zero or not given else []
    margin = 0.04 * (max(given) - min(given)) or 1.0
    return min(given) - margin, max(given) + margin


def moves(panel: Moves, of: str) -> str:
    """Draw a row for each term: its change as a line from a hollow point to a filled one."""
    first, last = panel.ends
    x = svg.Axis(*panel.domain, 0, _PLOT)
    marks = list(_names_and_zero(panel.rows, x, zero=False))
    for y, row in _placed(panel.rows):
        marks += _pair(x.at(row.end), x.at(row.start), y)
    said = f"{len(panel.rows)} things, each {first} to {last}; the table has their names"
    key = f"hollow: {first}; full: {last}"
    return _with_axis(panel, of, marks, x, facts=[said], below=[key])


def dumbbells(panel: Dumbbells, of: str) -> str:
    """Draw a row for each term: two points (filled, hollow), and a value with interval as text."""
    x, right = svg.Axis(*panel.domain, 0, _SHORT_PLOT), _SHORT_PLOT + _NUMBERS
    marks = list(_names_and_zero(panel.rows, x, zero=True, top=svg.LINE))
    marks.append(svg.text(right, 4, as_label(panel.numbers), anchor="end"))
    numbers = []
    for y, row in _placed(panel.rows, svg.LINE):
        marks += _pair(x.at(row.first), x.at(row.second), y)
        ends = f"{_signed(row.value)} [{_signed(row.low)}, {_signed(row.high)}]"
        numbers.append(svg.text(right, y + 4, ends))
    marks.append(f'<g class="number" text-anchor="end">{"".join(numbers)}</g>')
    said = [
        f"{quoted_term(row.name)} {_signed(row.value)} ({_signed(row.low)} to {_signed(row.high)})"
        for row in panel.rows
    ]
    return _with_axis(panel, of, marks, x, facts=said, top=svg.LINE, width=_NAMES + right + 16)


def _pair(full: float, hollow: float, y: float) -> Iterator[str]:
    yield svg.line(full, y, hollow, y, "faint")
    yield svg.dot(hollow, y, "red hollow")
    yield svg.dot(full, y, "blue")


def _signed(number: float) -> str:
    """Return a number with a sign and two decimals, never `-0.00`."""
    return f"{number:+.2f}".replace("-0.00", "+0.00")


def _placed(rows: Sequence[_Row], top: float = 0.0) -> Iterator[tuple[float, _Row]]:
    """Yield each row with the pixel of its middle."""
    return ((top + _STEP * (place + 0.5), row) for place, row in enumerate(rows))


def _names_and_zero(
    rows: Sequence[_Row], x: svg.Axis, *, zero: bool, top: float = 0.0
) -> Iterator[str]:
    """Yield each row's name left of the plot and, if `zero`, a dashed line at 0."""
    if zero and x.holds(0.0):
        yield svg.line(x.at(0.0), top, x.at(0.0), top + _STEP * len(rows), "faint dashed")
    names = (term_text(-8, y + 4, row.name, room=_NAMES - 8) for y, row in _placed(rows, top))
    yield f'<g text-anchor="end">{"".join(names)}</g>'


def _with_axis(  # noqa: PLR0913  (keyword-only after the subjects)
    panel: Points | Moves | Dumbbells,
    of: str,
    marks: Sequence[str],
    x: svg.Axis,
    *,
    facts: Sequence[str],
    top: float = 0.0,
    width: float = svg.WIDTH,
    below: Sequence[str] = (),
) -> str:
    bottom = top + _STEP * len(panel.rows)
    axis, height = svg.axis_below(x, bottom, as_label(panel.axis), 4)
    return framed(
        panel,
        of,
        (*marks, axis),
        height=bottom + height,
        facts=facts,
        left=_NAMES,
        width=width,
        below=below,
    )


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
    return f'<td style="--share:{100 * _DENSEST * min(max(share, 0.0), 1.0):.0f}%">{rank:,.0f}</td>'


def _escaped(text: str) -> str:
    return html.escape(line(as_label(text)))


def _masked(term: str) -> str:
    """Return a term as HTML, cut to 22 characters; a harsh one is masked until the reader asks."""
    shown = html.escape(short_label(term))
    if not offensive_text_masks.masked(term):
        return shown
    mask = html.escape(short_label(offensive_text_masks.label(term)))
    return f'<span data-term="{shown}">{mask}</span>'
