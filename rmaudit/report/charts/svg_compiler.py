"""Compile Altair charts to inline SVG without scripts, in a child process that may crash.

The compiler ends the process that it runs in where memory is short; a report must not go with it.
So `as_svg` gives a comment that holds the chart's spec, and `compiled` puts SVGs in the place of
all comments of a page at once, made in a child process.

Text and axes take the page's own ink (`currentColor`); the two other hues are Okabe and Ito's blue
and vermillion, which the page's style sheet lightens in the dark. No picture is wider than a phone:
what needs more room is several panels, an SVG each, that the page lays side by side.
"""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rmaudit.charts import Panel
from rmaudit.report.charts import picture_cache
from rmaudit.report.charts.picture_and_labels import as_label, placeholders, with_terms
from rmaudit.report.safe_text import line

if TYPE_CHECKING:
    import altair as alt

Channel = TypeVar("Channel")

FONT = "system-ui, sans-serif"
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
UNDRAWN = (
    '<p class="undrawn">This picture could not be drawn: the chart compiler failed, as it does '
    "where memory is short. The numbers stand in the table.</p>"
)
_PROCESS = Path(__file__).with_name("svg_compiler_child.py")
_DEATHS = 2  # of the compiler, after which the rest is not tried
_LONGEST = 600  # seconds that all charts of a page may take
_CHART = re.compile(r"<!--chart ([A-Za-z0-9+/=]+)-->")  # no text of others has it: `<` is escaped
_TAG = re.compile(r"<[^>]+>")  # as yet no attribute holds a text of others
_NEEDLESS = re.compile(
    r" (xmlns(:xlink)?|version|class|font-family|role|aria-roledescription|stroke-miterlimit"
    r'|pointer-events)="[^"]*"'
)
_LONG = re.compile(r"-?\d+\.\d{3,}")


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Return an Altair chart of `rows`; encodings must state each column's type, such as `x:Q`."""
    import altair as alt

    return alt.Chart(alt.InlineData(values=list(rows)))


def headed(panel: Panel, *lines: str) -> alt.TitleParams:
    """Return a panel's title, with its subtitle and further `lines` below."""
    import altair as alt

    below = [as_label(each) for each in (*panel.subtitle, *lines)]
    return alt.TitleParams(
        as_label(panel.title), subtitle=below if len(below) > 1 else "".join(below)
    )


def fixed(channel: Callable[[Any], Channel], value: object) -> Channel:
    """Return `channel(value)`, typed: Altair declares no types for its value channels."""
    return channel(value)


def names_left(rows: Sequence[Mapping[str, Any]], y: alt.Y) -> list[alt.Chart]:
    """Return charts that print each row's `name` left of the plot, in a margin of `NAMES` pixels.

    The margin does not depend on the names: panels beside each other line up.
    """
    import altair as alt

    text = (
        chart_of(rows)
        .mark_text(align="right", x=-8, color=INK)
        .encode(y=y, text=alt.Text("name:N"))
    )
    margin = chart_of([{}]).mark_rule(opacity=0, y=0)
    return [text, margin.encode(x=fixed(alt.XValue, -NAMES), x2=fixed(alt.X2Value, 0))]


def names_beside(rows: Sequence[Mapping[str, Any]], *, middle: float) -> list[alt.Chart]:
    """Return charts that print each point's `name` beside it, on the side with more room."""
    import altair as alt

    left = [row for row in rows if row["x"] < middle]
    right = [row for row in rows if row["x"] >= middle]
    drawn = (
        chart_of(left).mark_text(align="left", dx=6, color=INK),
        chart_of(right).mark_text(align="right", dx=-6, color=INK),
    )
    return [
        chart.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("name:N")) for chart in drawn
    ]


def shaded(share: float) -> float:
    """Convert a number from 0 to 1 to a cell's opacity, at which the cell's text stays readable."""
    return FAINTEST + (DENSEST - FAINTEST) * min(max(share, 0.0), 1.0)


def as_svg(
    chart: alt.TopLevelMixin,
    *,
    title: str,
    facts: Sequence[str],
    terms: Sequence[str] = (),
) -> str:
    """Return a placeholder for `chart` that `compiled` replaces by an SVG with a text alternative.

    `terms` are the words that the chart's placeholders (`picture_and_labels.placeholders`) stand
    for.
    """
    spec = chart.to_dict(validate=False)  # validation takes longer than drawing
    kept = frozenset(placeholders(terms))
    spec = {key: _drawable(part, kept) for key, part in spec.items()} | {"config": THEME}
    return comment({"spec": spec, "title": title, "facts": list(facts), "terms": list(terms)})


def _drawable(part: object, kept: frozenset[str]) -> object:
    """Escape characters of a Vega-Lite spec that crash the compiler, except in the labels `kept`.

    Vega counts characters beyond the basic plane, such as emoji, as two, cuts long labels between
    the two, and then fails. Characters of placeholders are removed too, except in the placeholders
    of `kept`.
    """
    if isinstance(part, str):
        shown = part if part in kept or part.isprintable() else ascii(part)[1:-1]
        return "".join(each if each <= "\uffff" else ascii(each)[1:-1] for each in shown)
    if isinstance(part, dict):
        return {key: _drawable(value, kept) for key, value in part.items()}
    return [_drawable(value, kept) for value in part] if isinstance(part, list) else part


def comment(chart: Mapping[str, Any]) -> str:
    """Return a chart's placeholder: an HTML comment with its spec, title, facts and terms."""
    return f"<!--chart {base64.b64encode(json.dumps(chart).encode()).decode()}-->"


def charts_in(markup: str) -> list[dict[str, Any]]:
    """Return the charts whose placeholders are in `markup`, in page order."""
    return [json.loads(base64.b64decode(found)) for found in _CHART.findall(markup)]


def compiled(markup: str) -> str:
    """Return `markup` with each chart's placeholder replaced by its SVG.

    A chart that the compiler cannot draw is replaced by a sentence that says so.
    """
    charts = charts_in(markup)
    svgs = picture_cache.svgs([chart["spec"] for chart in charts], _compile)
    drawn = (_with_text_alternative(chart, svg) for chart, svg in zip(charts, svgs, strict=True))
    return _CHART.sub(lambda _: next(drawn), markup)


def _compile(specs: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """Return the SVG of each Vega-Lite spec; None where the compiler refuses it or crashes."""
    done: list[str | None] = []
    deaths = 0
    while len(done) < len(specs):
        if deaths == _DEATHS:
            return done + [None] * (len(specs) - len(done))
        lines, whole = _run_compiler(specs[len(done) :])
        done += [json.loads(each) for each in lines]
        if not whole:
            deaths += 1
            done += [None] * (len(done) < len(specs))  # the one that it died of
    return done


def _run_compiler(specs: Sequence[Mapping[str, Any]]) -> tuple[list[str], bool]:
    """Compile charts in a child process; return its output lines and whether it finished."""
    try:
        ended = subprocess.run(  # noqa: S603  (our own file)
            [sys.executable, "-P", str(_PROCESS)],
            input=json.dumps(specs),
            capture_output=True,
            encoding="utf-8",
            timeout=_LONGEST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # no memory to start it
        return [], False
    lines = ended.stdout.splitlines(keepends=True)
    return [each for each in lines if each.endswith("\n")], ended.returncode == 0


def _with_text_alternative(chart: Mapping[str, Any], svg: str | None) -> str:
    """Return a chart's SVG with its terms and a text alternative; if `svg` is None, a sentence."""
    if svg is None:
        return UNDRAWN
    facts = f" {'; '.join(chart['facts'])}." if chart["facts"] else ""
    name = html.escape(line(f"{chart['title']}.{facts}"))
    title = html.escape(line(chart["title"]))
    root = f'font-family="{FONT}" role="img" aria-label="{name}"><title>{title}</title>'

    svg = with_terms(_shrunk(svg), chart["terms"])
    return re.sub(r"^<svg([^>]*)>", lambda found: f"<svg{found[1]} {root}", svg)


def _shrunk(svg: str) -> str:
    """Shrink an SVG by about a third: round coordinates and drop unneeded attributes.

    Marks lose their ARIA roles: a screen reader would announce a role without a name as a picture.
    """
    return _TAG.sub(lambda tag: _LONG.sub(_rounded, _NEEDLESS.sub("", tag[0])), svg)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}"
