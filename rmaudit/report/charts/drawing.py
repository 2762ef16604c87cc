"""How every picture of a report is drawn: Altair's charts, compiled to inline SVG without scripts.

Text and axes take the page's own ink (`currentColor`); the two other hues are Okabe and Ito's blue
and vermillion, which the page's style sheet lightens in the dark. No picture is wider than a phone:
what needs more room is several panels, an SVG each, that the page lays side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rmaudit.report.charts.compiling import FONT, comment
from rmaudit.report.charts.labels import placeholders

if TYPE_CHECKING:
    import altair as alt

INK = "currentColor"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
FAINT = "#8A8F98"  # 3:1 or better on white and on near-black
WIDTH = 330  # pixels of a panel with all that is beside it: what a phone has
NAMES = 150  # of them, for names at the left
FAINTEST, DENSEST = 0.08, 0.5  # opacities of a cell: text on it keeps its contrast

THEME = {
    "aria": False,  # one description on the root says it all; a label per mark says it 300 times
    "background": "transparent",
    "padding": {"left": 8, "right": 5, "top": 5, "bottom": 5},  # the page's font may be wider
    "font": FONT,
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
        "titleLimit": 280,
    },
    "text": {"color": INK, "fontSize": 11},
    "title": {
        "anchor": "start",
        "limit": WIDTH - 10,
        "frame": "bounds",
        "color": INK,
        "fontSize": 13,
        "offset": 8,
        "subtitleColor": INK,
        "subtitleFontSize": 11,
        "subtitlePadding": 4,
    },
}


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


def shaded(share: float) -> float:
    """The opacity of a cell for a share of 0 to 1: text on the darkest can still be read."""
    return FAINTEST + (DENSEST - FAINTEST) * min(max(share, 0.0), 1.0)


def as_svg(
    chart: alt.TopLevelMixin,
    *,
    title: str,
    facts: Sequence[str],
    terms: Sequence[str] = (),
    id: str = "",  # noqa: A002  (as SVG has it)
) -> str:
    """Markup of `chart`, which `compiled` draws, named for readers who do not see it.

    `terms` are those that `labels.placeholders` stand for.
    """
    spec = chart.to_dict(validate=False)  # validation takes longer than drawing
    kept = frozenset(placeholders(terms))
    spec = {key: _drawable(part, kept) for key, part in spec.items()} | {"config": THEME}
    return comment(
        {"spec": spec, "title": title, "facts": list(facts), "terms": list(terms), "id": id}
    )


def _drawable(part: object, kept: frozenset[str]) -> object:
    """A part of a chart without texts at which the compiler ends the process, such as a NUL.

    Nor is any left that looks like a placeholder, but for those that are.
    """
    if isinstance(part, str):
        return part if part in kept or part.isprintable() else ascii(part)[1:-1]
    if isinstance(part, dict):
        return {key: _drawable(value, kept) for key, value in part.items()}
    return [_drawable(value, kept) for value in part] if isinstance(part, list) else part
