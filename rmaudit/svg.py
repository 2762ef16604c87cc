"""Write charts as SVG by hand: texts that fit their room, axes with round ticks, and the frame.

Numbers are pixels from the top left of the plot, y downwards. A chart is no wider than a phone:
what needs more room is several charts beside each other. Colours are classes of `STYLE`, which
takes the page's ink and two hues of Okabe and Ito's that a page may lighten in the dark. The font
is the reader's, so a text's width is an estimate, of a wide font.
"""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rmaudit.invisible_characters import spelled_out

STYLE = """
.chart { font: 11px system-ui, sans-serif; fill: currentColor; overflow: visible; }
.chart .head { font-size: 13px; font-weight: bold; } .chart .number { font-size: 9.5px; }
.chart .blue { fill: var(--blue, #0072b2); stroke: var(--blue, #0072b2); stroke-width: 1.5; }
.chart .red { fill: var(--red, #d55e00); stroke: var(--red, #d55e00); stroke-width: 1.5; }
.chart .faint { fill: #8a8f98; stroke: #8a8f98; } .chart .ink { stroke: currentColor; }
.chart .bar { stroke-width: 2.5; } .chart .hollow { fill: none; } .chart .area { stroke: none; }
.chart .dashed { stroke-dasharray: 3 3; }
"""
WIDTH = 340  # of a chart with all that is beside its plot: what a phone has
LINE = 13  # between the lines of a text
_PAD = 8  # around a chart
_FONT, _HEAD = 11, 13
_BEYOND = 6  # how far past its end an axis puts what lies outside of it
_LEAST, _MOST, _DECIMALS = 1e-4, 1e7, 6  # steps and numbers that are written without exponent
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_NARROW, _BROAD = frozenset("iljtfrI.,:;'|!()[]{} -/\\\"`"), frozenset("mwMW@%…")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture for notebooks, which display it; `svg` is its markup, also as a file of its own."""

    svg: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.svg


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis from the value `first`, at the pixel `start`, to the value `last`, at `end`."""

    first: float
    last: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return a value's pixel; what lies outside of the axis is put just beyond its end."""
        span = self.last / 2 - self.first / 2  # the whole of two floats may be infinite
        share = (value / 2 - self.first / 2) / span if span else 0.5
        beyond = _BEYOND / (abs(self.end - self.start) or 1.0)
        return self.start + (self.end - self.start) * min(max(share, -beyond), 1 + beyond)

    def holds(self, value: float) -> bool:
        """Return whether a value lies between the ends of the axis."""
        return min(self.first, self.last) <= value <= max(self.first, self.last)

    def ticks(self, many: int) -> list[tuple[float, str]]:
        """Return pixel and text of about `many` round values."""
        low, high = sorted((self.first, self.last))
        step = round_step(high - low, many)
        if not 0 < step < math.inf:
            return [(self.at(low), f"{low:.4g}")]
        values = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        decimals = (n for n in range(_DECIMALS) if math.isclose(step, round(step, n)))
        form = f",.{next(decimals, 0)}f" if step >= _LEAST and max(-low, high) < _MOST else ".3g"
        said = (f"{value:{form}}" for value in values)
        texts = (text.replace("-", "−") for text in said)
        return list(zip(map(self.at, values), texts, strict=True))


def round_step(span: float, many: int) -> float:
    """Return 1, 2, 2.5 or 5 times a power of ten: the least from `span` / `many` up; 0 of 0."""
    rough = span / many
    if not 0 < rough < math.inf:
        return rough
    power = 10.0 ** math.floor(math.log10(rough))
    return next((step * power for step in _STEPS if step * power >= rough), 10 * power)


def width_of(text: str, size: float = _FONT) -> float:
    """Return about how wide a text is, rather too much than too little."""
    return size * sum(map(_width, text))


def _width(character: str) -> float:
    if character.isascii():
        return 0.4 if character in _NARROW else 0.97 if character in _BROAD else 0.63
    if unicodedata.category(character).startswith("M"):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(character) in "WF" else 0.68


def fitted(text: str, room: float, size: float = _FONT) -> str:
    """Return a text, cut to what fits into `room` pixels."""
    if width_of(text, size) <= room:
        return text
    while text and width_of(f"{text}…", size) > room:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrapped(text: str, room: float, size: float = _FONT) -> list[str]:
    """Return a text as one line or two that fit into `room` pixels; what is longer is cut."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if len(lines) == 1 and lines[0] and width_of(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return [fitted(each, room, size) for each in lines if each]


def text(  # noqa: PLR0913  (keyword-only after the subjects)
    x: float,
    y: float,
    said: str,
    *,
    anchor: str = "",
    kind: str = "",
    term: str = "",
    turn: int = 0,
) -> str:
    """Return a text whose base line is at `y`; `term` is what a mask hides, for readers who ask."""
    about = "".join(
        f' {name}="{value}"'
        for name, value in (
            ("class", kind),
            ("text-anchor", anchor),
            ("transform", f"rotate({turn} {short(x)} {short(y)})" if turn else ""),
            ("data-term", html.escape(spelled_out(term))),
        )
        if value
    )
    shown = html.escape(spelled_out(said), quote=False)
    return f'<text x="{short(x)}" y="{short(y)}"{about}>{shown}</text>'


def line(x: float, y: float, x2: float, y2: float, kind: str) -> str:
    """Return a straight line."""
    ends = f'x1="{short(x)}" y1="{short(y)}" x2="{short(x2)}" y2="{short(y2)}"'
    return f'<line class="{kind}" {ends}/>'


def dot(x: float, y: float, kind: str, radius: float = 3.5) -> str:
    """Return a point."""
    return f'<circle class="{kind}" cx="{short(x)}" cy="{short(y)}" r="{short(radius)}"/>'


def boxes(corners: Iterable[tuple[float, float, float, float]], opacity: float) -> str:
    """Return blue rectangles of one opacity, each between two corners: x, y, x and y."""
    sides = (
        f"M{short(x)} {short(y)}h{short(x2 - x)}v{short(y2 - y)}h{short(x - x2)}z"
        for x, y, x2, y2 in corners
    )
    return f'<path class="blue area" fill-opacity="{short(opacity)}" d="{"".join(sides)}"/>'


def short(number: float) -> str:
    """Return a number with at most two decimals, never `-0`."""
    said = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if said == "-0" else said


def axis_below(x: Axis, top: float, title: str, many: int = 7) -> tuple[str, float]:
    """Return an axis with ticks and a title beneath a plot, and its height.

    Where texts of ticks would touch, every second or third is written, that of 0 among them.
    """
    left, right = sorted((x.start, x.end))
    marks, ticks = [line(left, top, right, top, "faint")], sorted(x.ticks(many))
    apart = min((b - a for (a, _), (b, _) in pairwise(ticks)), default=math.inf) or math.inf
    every = math.ceil((3 + max(width_of(said) for _, said in ticks)) / apart)
    zero = next((i for i, (_, said) in enumerate(ticks) if not said.strip("0.")), 0)
    for i, (at, said) in enumerate(ticks):
        marks.append(line(at, top, at, top + 5, "faint"))
        if (i - zero) % max(every, 1) == 0:
            marks.append(text(at, top + 17, said))
    middle, lines = (left + right) / 2, wrapped(title, right - left + 60)
    marks += [text(middle, top + 32 + LINE * i, said) for i, said in enumerate(lines)]
    return f'<g class="x" text-anchor="middle">{"".join(marks)}</g>', 20 + LINE * len(lines)


def axis_left(y: Axis, title: str, many: int = 7) -> tuple[str, float]:
    """Return an axis with ticks and a title left of a plot, and its width."""
    ticks = y.ticks(many)
    wide = max((width_of(said) for _, said in ticks), default=0.0)
    marks = [line(0, y.start, 0, y.end, "faint")]
    for at, said in ticks:
        marks += [line(-5, at, 0, at, "faint"), text(-8, at + 4, said, anchor="end")]
    said = fitted(title, abs(y.end - y.start) + 20)
    middle = (y.start + y.end) / 2
    marks.append(text(-14 - wide, middle, said, anchor="middle", turn=-90))
    return f'<g class="y">{"".join(marks)}</g>', wide + 14 + LINE


def chart(  # noqa: PLR0913  (keyword-only after the subject)
    marks: Iterable[str],
    *,
    height: float,
    name: str,
    facts: Sequence[str] = (),
    left: float = 0.0,
    width: float = WIDTH,
    title: str = "",
    subtitle: Sequence[str] = (),
) -> str:
    """Return a chart: `marks` beneath a title, with `left` pixels beside them.

    `height` is that of all marks. A screen reader says `name` and `facts`; what is seen is `title`
    and `subtitle`, of which each text has two lines at most.
    """
    room = width - 2 * _PAD
    heads = [(each, "head", _HEAD) for each in wrapped(title, room, _HEAD * 1.08)]
    heads += [(each, "", _FONT) for said in subtitle for each in wrapped(said, room)]
    top, written = float(_PAD), []
    for said, kind, size in heads:
        written.append(text(_PAD, top + size, said, kind=kind))
        top += size + 3
    top += 6
    said = f" {'; '.join(facts)}." if facts else ""
    named, whole = (
        html.escape(spelled_out(" ".join(each.split()))) for each in (name, f"{name}.{said}")
    )
    tall = short(top + height + _PAD)
    return (
        f'<svg class="chart" viewBox="0 0 {short(width)} {tall}" width="{short(width)}" '
        f'height="{tall}" role="img" aria-label="{whole}"><title>{named}</title>{"".join(written)}'
        f'<g transform="translate({short(left + _PAD)} {short(top)})">{"".join(marks)}</g></svg>'
    )


def of_its_own(svg: str) -> str:
    """Return a chart as a file of its own, or for a page that has no `STYLE`."""
    svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return svg.replace(">", f"><style>{STYLE}</style>", 1)
