"""Ranks of the same things at several stops (prompts, models): a line each, as Figure 5C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rmaudit.report.charts.drawing import BLUE, FAINT, INK, VERMILLION, as_svg, chart_of
from rmaudit.report.charts.picture import as_label, placeholders

_WIDTH, _STEP, _LINE = 165, 22, 14  # pixels: all stops, a name, text
_DASHES = ([1, 0], [5, 2], [1, 2])  # hues alone would not tell twenty lines apart


def paths(items: Mapping[str, Sequence[float]], *, stops: Sequence[str], title: str) -> str:
    """A line for each item over the stops, best at the top. Returns "" where there is none.

    `items` have a rank at each of `stops`, and are named at the first.
    """
    import altair as alt

    if not items or len(stops) < 2:  # noqa: PLR2004  (a line has two ends)
        return ""
    stops = [as_label(stop) for stop in stops]
    terms = sorted(items, key=lambda name: (items[name][0], name))
    labels = placeholders(terms)
    worst = max(rank for ranks in items.values() for rank in ranks)
    height = max(200, _STEP * len(terms) * 3 // 4)
    per_pixel = (worst - 1) / height or 1.0
    heights = _apart([items[term][0] for term in terms], gap=_LINE * per_pixel, most=worst)
    points = [
        {"item": i, "place": place, "rank": rank}
        for i, term in enumerate(terms)
        for place, rank in enumerate(items[term])
    ]
    named = [
        {"label": label, "at": at, "rank": items[term][0]}
        for term, label, at in zip(terms, labels, heights, strict=True)
    ]
    y = alt.Y("rank:Q").scale(domain=[worst, 1], nice=False, zero=False).axis(None)
    x = alt.X("place:Q").scale(domain=[0, len(stops) - 1], nice=False).axis(None)
    heads = [{"place": place, "stop": stop} for place, stop in enumerate(stops)]
    lines = [
        chart_of([point for point in points if point["item"] % 6 == kind])
        .mark_line(
            color=(BLUE, VERMILLION)[kind % 2],
            strokeDash=_DASHES[kind // 2],
            strokeWidth=1.5,
            point={"size": 18, "color": (BLUE, VERMILLION)[kind % 2]},
        )
        .encode(x=x, y=y, detail="item:N")
        for kind in range(min(6, len(terms)))
    ]
    leaders = chart_of(named).mark_rule(color=FAINT)
    texts = chart_of(named).mark_text(align="right", x=-15, color=INK)
    below = chart_of(heads).mark_text(angle=300, align="right", y=height + 10, dx=-2, color=INK)
    chart = alt.layer(
        *lines,
        leaders.encode(x=alt.value(0), x2=alt.value(-12), y=y, y2="at:Q"),
        texts.encode(y=alt.Y("at:Q"), text="label:N"),
        below.encode(x=x, text="stop:N"),
    ).properties(
        width=_WIDTH,
        height=height,
        title=alt.TitleParams(title, subtitle=f"rank 1 at the top, {worst:,.0f} at the bottom"),
    )
    facts = [f"{len(terms)} things at {', '.join(stops)}; the table has their ranks"]
    return as_svg(chart, title=title, facts=facts, terms=terms)


def _apart(values: Sequence[float], *, gap: float, most: float) -> list[float]:
    """Ascending `values`, moved so that each is `gap` from the next, and within 1 to `most`."""
    places: list[float] = []
    for value in values:
        places.append(max(value, places[-1] + gap) if places else value)
    ceiling = most
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], ceiling)
        ceiling = places[i] - gap
    return places
