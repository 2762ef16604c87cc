"""Rewards by bins of what a word is: a box from the first to the third quartile, a bar between."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.measures.bins import Bin
from rmaudit.report.charts.drawing import BLUE, INK, as_svg, chart_of
from rmaudit.report.charts.picture import Picture, as_label, table

_WIDTH, _HEIGHT = 270, 170
_COLUMNS = ("from", "to", "words", "first quartile", "median", "third quartile")

_Panel = tuple[str, str, Sequence[Bin]]


def boxes(panels: Sequence[_Panel], *, title: str, caption: str) -> Picture | None:
    """A panel for each (prompt, title of the axis, bins) that has bins; None where none has."""
    panels = [panel for panel in panels if panel[-1]]
    if not panels:
        return None
    ends = [end for _, _, bins in panels for each in bins for end in (each.q25, each.q75)]
    domain = (min(0.0, *ends), max(0.0, *ends))
    cells = [
        (
            as_label(prompt),
            *(f"{end:.2f}" for end in (each.low, each.high)),
            f"{each.n:,}",
            *(f"{number:+.2f}" for number in (each.q25, each.median, each.q75)),
        )
        for prompt, _, bins in panels
        for each in bins
    ]
    columns = {"prompt": "text"} | dict.fromkeys(_COLUMNS, "number")
    svg = "".join(_drawn(panel, domain=domain, title=title) for panel in panels)
    return Picture(title, caption, svg, table(columns, cells))


def _drawn(panel: _Panel, *, domain: tuple[float, float], title: str) -> str:
    """A box per bin, a bar at its median, a line at 0."""
    import altair as alt

    prompt, axis, bins = as_label(panel[0]), as_label(panel[1]), panel[2]
    values = [
        {
            "low": each.low,
            "high": each.high,
            "q25": each.q25,
            "median": each.median,
            "q75": each.q75,
        }
        for each in bins
    ]
    x = alt.X("low:Q").scale(domain=[bins[0].low, bins[-1].high], nice=False)
    x = x.axis(title=axis, tickCount=6)
    y = alt.Y("q25:Q").scale(domain=domain).axis(title="reward, sd of the sweep", tickCount=5)
    chart = chart_of(values)
    layers = alt.layer(
        chart.mark_rect(color=BLUE, opacity=0.25).encode(x=x, x2="high:Q", y=y, y2="q75:Q"),
        chart.mark_rule(color=BLUE, strokeWidth=2.5).encode(x=x, x2="high:Q", y="median:Q"),
        alt.Chart().mark_rule(color=INK, strokeDash=[3, 3]).encode(y=alt.datum(0)),
    ).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(prompt, subtitle=f"{sum(each.n for each in bins):,} words"),
    )
    fact = (
        f"median from {bins[0].median:+.2f} sd in the lowest bin "
        f"to {bins[-1].median:+.2f} sd in the highest"
    )
    return as_svg(layers, title=f"{title}, {prompt}", facts=[fact])
