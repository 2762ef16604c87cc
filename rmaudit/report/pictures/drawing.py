"""How every picture of a report is drawn: Altair's charts, compiled to inline SVG without scripts.

Text and axes take the page's own ink (`currentColor`); the two other hues are Okabe and Ito's blue
and vermillion, which the page's style sheet lightens in the dark. No picture is wider than a phone:
what needs more room is several panels, an SVG each, that the page lays side by side.

Terms (tokens, words, items) are hostile strings, and may be slurs. They never reach the compiler: a
placeholder does, and `as_svg` puts the term in its place, masked where `masks` says so.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rmaudit.report import masks
from rmaudit.report.texts import line

if TYPE_CHECKING:
    import altair as alt

    from rmaudit.records import Finding

INK = "currentColor"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
FAINT = "#8A8F98"  # 3:1 or better on white and on near-black
WIDTH = 330  # pixels of a panel with all that is beside it: what a phone has
NAMES = 150  # of them, for names at the left
FAINTEST, DENSEST = 0.08, 0.45  # opacities of a cell: text on it keeps its contrast

_FIRST = 0xE000  # placeholders: characters for private use, which no label has (see `as_label`)
_PLACEHOLDER = re.compile(r"<text([^>]*)>([\uE000-\uF8FF])n*</text>")
_LONGEST = 22  # characters of a label

_ONCE = ' font-family="system-ui, sans-serif"'
_ATTRIBUTE = re.compile(r' [a-z0-9-]+="[^"]*\d\.\d{3}[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}")

THEME = {
    "aria": False,  # one description on the root says it all; a label per mark says it 300 times
    "background": "transparent",
    "padding": {"left": 8, "right": 5, "top": 5, "bottom": 5},  # the page's font may be wider
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": FAINT,
        "tickColor": FAINT,
        "grid": False,
        "labelColor": INK,
        "labelFontSize": 11,
        "labelLimit": 0,
        "titleColor": INK,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    },
    "text": {"color": INK, "fontSize": 11},
    "title": {
        "anchor": "start",
        "frame": "bounds",
        "color": INK,
        "fontSize": 13,
        "offset": 8,
        "subtitleColor": INK,
        "subtitleFontSize": 11,
        "subtitlePadding": 4,
    },
}


class Column(NamedTuple):
    """A column of a table; its cells are texts, numbers as texts, or terms to be masked."""

    name: str
    kind: str = "number"  # "text", "number" or "term"


class Table(NamedTuple):
    """What a picture shows, in rows; cells are ready to print, but for the masks of terms."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


class Picture(NamedTuple):
    """A picture of a report. `svg` is our own markup; all else is text that a page must escape."""

    title: str
    caption: str
    svg: str
    table: Table | None


def table(columns: Mapping[str, str], rows: Sequence[Sequence[str]]) -> Table | None:
    """A table of `columns` (kinds by name); None where there is no row."""
    if not rows:
        return None
    return Table(
        tuple(Column(name, kind) for name, kind in columns.items()), tuple(map(tuple, rows))
    )


def evidence_of(finding: Finding) -> Mapping[str, Any]:
    """What a finding has for a picture: {} where it has no estimate."""
    return finding.estimate.evidence if finding.estimate else {}


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart of `rows`, without the types that Altair would have to guess."""
    import altair as alt

    return alt.Chart(alt.InlineData(values=list(rows)))


def names_left(rows: Sequence[Mapping[str, Any]], y: alt.Y) -> list[alt.Chart]:
    """The `name` of each row to the left of the plot, in a margin of `NAMES` pixels.

    The margin does not depend on the names: panels beside each other line up.
    """
    import altair as alt

    text = chart_of(rows).mark_text(align="right", x=-8, color=INK).encode(y=y, text="name:N")
    margin = chart_of([{}]).mark_rule(opacity=0, y=0)
    return [text, margin.encode(x=alt.value(-NAMES), x2=alt.value(0))]


def names_beside(rows: Sequence[Mapping[str, Any]], *, middle: float) -> list[alt.Chart]:
    """The `name` of each point at `x` and `y`, on the side of it where there is more room."""
    left = [row for row in rows if row["x"] < middle]
    right = [row for row in rows if row["x"] >= middle]
    drawn = (
        chart_of(left).mark_text(align="left", dx=6, color=INK),
        chart_of(right).mark_text(align="right", dx=-6, color=INK),
    )
    return [chart.encode(x="x:Q", y="y:Q", text="name:N") for chart in drawn]


def as_label(text: str) -> str:
    """`text` as a chart can print it: the compiler refuses lone surrogates."""
    shown = text if len(text) <= _LONGEST * 4 else text[: _LONGEST * 4] + "…"
    return shown if shown.isprintable() else ascii(shown)[1:-1]


def spoken(term: str) -> str:
    """A term as a text alternative may say it: never a slur."""
    shown = masks.mask(term) if masks.masked(term) else term
    return f"“{_short(shown)}”"


def placeholders(terms: Sequence[str]) -> list[str]:
    """A label for each of `terms`, about as wide as it, that `as_svg` replaces."""
    return [chr(_FIRST + i) + "n" * (len(_short(term)) - 1) for i, term in enumerate(terms)]


def as_svg(
    chart: alt.TopLevelMixin, *, title: str, facts: Sequence[str], terms: Sequence[str] = ()
) -> str:
    """Compile `chart`, and name it for readers who do not see it.

    `terms` are those that `placeholders` stand for. A masked one is drawn as its mask; the term
    itself is in the attribute `data-term`, for the page to show when a reader asks.
    """
    import vl_convert

    spec = chart.to_dict(validate=False)  # validation takes longer than drawing
    kept = frozenset(placeholders(terms))
    spec = {key: _drawable(part, kept) for key, part in spec.items()} | {"config": THEME}
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    svg = _smaller(re.sub(r' (xmlns(:xlink)?|version|class)="[^"]*"', "", svg, count=4))
    svg = _PLACEHOLDER.sub(lambda found: _term(found[1], terms[ord(found[2]) - _FIRST]), svg)
    name = html.escape(line(f"{title}. {'; '.join(facts)}."))
    start = f'<svg{_ONCE} role="img" aria-label="{name}"><title>{html.escape(title)}</title>'
    return re.sub(r"^<svg([^>]*)>", lambda root: start.replace("<svg", "<svg" + root[1], 1), svg)


def _drawable(part: object, kept: frozenset[str]) -> object:
    """A part of a chart without texts at which the compiler ends the process, such as a NUL.

    Nor is any left that looks like a placeholder, but for those that are.
    """
    if isinstance(part, str):
        return part if part in kept or part.isprintable() else ascii(part)[1:-1]
    if isinstance(part, dict):
        return {key: _drawable(value, kept) for key, value in part.items()}
    return [_drawable(value, kept) for value in part] if isinstance(part, list) else part


def _smaller(svg: str) -> str:
    """A quarter less: hundredths of a pixel, and what all elements have once, at the root.

    Nor have marks roles: a role without a name is a picture that says nothing.
    """
    svg = re.sub(r' (role="graphics-[a-z]+"|aria-roledescription="[^"]*")', "", svg)
    for said in (_ONCE, ' stroke-miterlimit="10"', ' pointer-events="none"'):
        svg = svg.replace(said, "")
    return _ATTRIBUTE.sub(lambda a: _LONG.sub(lambda n: f"{float(n[0]):.2f}", a[0]), svg)


def _term(attributes: str, term: str) -> str:
    text = html.escape(_short(term))
    if not masks.masked(term):
        return f"<text{attributes}>{text}</text>"
    mask = html.escape(_short(masks.mask(term)))
    return f'<text{attributes} data-term="{text}">{mask}</text>'


def _short(text: str) -> str:
    """As a label, and no longer than one; `(empty)` for what shows nothing."""
    label = as_label(text.strip(" ")) or "(empty)"
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"
