"""Two values of each of many things, joined by a bar, with what they come to in numbers.

Drawn as SVG at once: no compiler. Terms may be masked, as in all pictures.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from rmaudit.references import masks
from rmaudit.report.charts.drawing import BLUE, FAINT, FONT, INK, VERMILLION
from rmaudit.report.charts.picture import as_label, cut, spoken
from rmaudit.report.safe_text import line

_WIDTH, _STEP, _TOP = 350, 17, 42  # pixels
_LEFT, _RIGHT = 124, 240  # where the plot begins and ends; names are before it, numbers after it
_TICKS = 3


class Bell(NamedTuple):
    """A name, both values, and what they come to with its interval."""

    name: str
    first: float
    second: float
    value: float
    low: float
    high: float


def around(rows: Sequence[Bell]) -> tuple[float, float]:
    """A domain for all of `rows`, 0 and a margin within."""
    ends = [end for row in rows for end in (row.first, row.second)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def signed(number: float) -> str:
    """Two decimals with a sign, and never `-0.00`."""
    return f"{number:+.2f}".replace("-0.00", "+0.00")


def dumbbells(
    rows: Sequence[Bell], *, title: str, axis: str, domain: tuple[float, float], subtitle: str = ""
) -> str:
    """A row per bell, in the order given: the first value filled, the second hollow."""
    low, high = domain
    bottom = _TOP + _STEP * len(rows)

    def at(number: float) -> str:
        return f"{_LEFT + (_RIGHT - _LEFT) * (number - low) / (high - low):.2f}"

    def rule(x1: str, x2: str, y1: float, y2: float, style: str = "") -> str:
        return f'<line x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}" stroke="{FAINT}"{style}/>'

    marks = [
        _text(title, 4, 14, "start", size=13, weight="bold"),
        _text(subtitle, 4, 29, "start"),
        _text("gap, with interval", _WIDTH - 2, 29, "end"),
        rule(at(0), at(0), _TOP - 8, bottom, ' stroke-dasharray="3 3"'),
    ]
    for place, row in enumerate(rows):
        y = _TOP + _STEP * place + 4
        first, second = at(row.first), at(row.second)
        hollow = f'fill="none" stroke="{VERMILLION}" stroke-width="1.6"'
        numbers = f"{signed(row.value)} [{signed(row.low)}, {signed(row.high)}]"
        marks += [
            _term(row.name, _LEFT - 6, y + 4),
            rule(first, second, y, y, ' stroke-width="2"'),
            f'<circle cx="{second}" cy="{y}" r="3.5" {hollow}/>',
            f'<circle cx="{first}" cy="{y}" r="3.5" fill="{BLUE}"/>',
            _text(numbers, _WIDTH - 2, y + 4, "end", size=9.5),
        ]
    marks.append(rule(str(_LEFT), str(_RIGHT), bottom, bottom))
    for i in range(_TICKS):
        share = i / (_TICKS - 1)
        shown, x = f"{low + (high - low) * share:.1f}", _LEFT + (_RIGHT - _LEFT) * share
        marks.append(_text(shown, x, bottom + 13, "middle"))
    marks.append(_text(axis, (_LEFT + _RIGHT) / 2, bottom + 27, "middle"))
    facts = "; ".join(
        f"{spoken(row.name)} {signed(row.value)} ({signed(row.low)} to {signed(row.high)})"
        for row in rows
    )
    label, height = html.escape(line(f"{title}. {facts}.")), bottom + 32
    return (
        f'<svg width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="{FONT}" role="img" aria-label="{label}">'
        f"<title>{html.escape(line(as_label(title)))}</title>{''.join(marks)}</svg>"
    )


def _text(  # noqa: PLR0913, PLR0917  (as SVG has it)
    text: str, x: float, y: float, anchor: str, size: float = 11, weight: str = "normal"
) -> str:
    shown = html.escape(line(as_label(text)))
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}" '
        f'font-weight="{weight}" fill="{INK}">{shown}</text>'
    )


def _term(term: str, x: float, y: float) -> str:
    start = f'<text x="{x:g}" y="{y:g}" text-anchor="end" font-size="11" fill="{INK}"'
    if not masks.masked(term):
        return f"{start}>{html.escape(cut(term))}</text>"
    return (
        f'{start} data-term="{html.escape(cut(term))}">{html.escape(cut(masks.label(term)))}</text>'
    )
