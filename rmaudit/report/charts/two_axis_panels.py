"""Draw panels with two axes: box plots, a curve, a grid of counts, a matrix, names on a plane."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.charts import Boxes, CountField, Curve, Matrix, NamedPlace, Plane
from rmaudit.report.charts.picture_and_labels import as_label, placeholders, quoted_term
from rmaudit.report.charts.svg_compiler import (
    BLUE,
    FAINT,
    INK,
    as_svg,
    chart_of,
    headed,
    names_beside,
    shaded,
)

_WIDTH, _HEIGHT = 270, 160  # pixels of boxes and curves
_FIELD = 240  # of a side of a field of counts
_MATRIX, _WIDEST, _NARROWEST, _TALLEST = 215, 40, 19, 24  # all columns; one column; one row
_PLANE, _LINE = 280, 13  # a side of the plane, a name


def boxes(panel: Boxes, *, spoken_title: str, facts: Sequence[str]) -> str:
    """Draw a box plot of each bin: a box from quartile 1 to quartile 3, and a bar at the median."""
    import altair as alt

    bins = panel.bins
    ends = [end for each in bins for end in (each.q25, each.q75)]
    domain = panel.domain or (min(0.0, *ends), max(0.0, *ends))
    x = alt.X("low:Q").scale(domain=[bins[0].low, bins[-1].high], nice=False)
    x = x.axis(title=as_label(panel.axis), tickCount=6)
    y = alt.Y("q25:Q").scale(domain=list(domain)).axis(title=as_label(panel.values), tickCount=5)
    chart = chart_of([vars(each) for each in bins])
    drawn = alt.layer(
        chart.mark_rect(color=BLUE, opacity=0.25).encode(
            x=x, x2=alt.X2("high:Q"), y=y, y2=alt.Y2("q75:Q")
        ),
        chart.mark_rule(color=BLUE, strokeWidth=2.5).encode(
            x=x, x2=alt.X2("high:Q"), y=alt.Y("median:Q")
        ),
        alt.Chart().mark_rule(color=INK, strokeDash=[3, 3]).encode(y=alt.datum(0)),
    ).properties(width=_WIDTH, height=_HEIGHT, title=headed(panel))
    said = (
        f"median from {bins[0].median:+.2f} sd in the lowest bin "
        f"to {bins[-1].median:+.2f} sd in the highest"
    )
    return as_svg(drawn, title=spoken_title, facts=facts or [said])


def curve(panel: Curve, *, spoken_title: str, facts: Sequence[str]) -> str:
    """Draw a step curve, and a dashed line at the reference value."""
    import altair as alt

    x = alt.X("x:Q").axis(title=as_label(panel.x_axis), tickCount=4)
    y = alt.Y("y:Q").scale(zero=False).axis(title=as_label(panel.y_axis), tickCount=5)
    steps = chart_of([{"x": at, "y": value} for at, value in panel.places])
    layers = [steps.mark_line(interpolate="step-after", color=BLUE).encode(x=x, y=y)]
    if panel.line is not None:
        line = chart_of([{"y": panel.line}]).mark_rule(color=INK, strokeDash=[3, 3])
        layers.append(line.encode(y=y))
    drawn = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, title=headed(panel))
    (first, start), (last, end) = panel.places[0], panel.places[-1]
    said = f"from {start:.4g} at {first:.4g} to {end:.4g} at {last:.4g}"
    return as_svg(drawn, title=spoken_title, facts=facts or [said])


def count_field(panel: CountField, *, spoken_title: str, facts: Sequence[str]) -> str:
    """Draw a grid of cells, darker where more points lie in them, and label the named points."""
    import altair as alt

    most = max((count for row in panel.counts for count in row), default=0)
    cells = [
        {
            "x": panel.x[i],
            "x2": panel.x[i + 1],
            "y": panel.y[j],
            "y2": panel.y[j + 1],
            # The root of the share: a linear scale shows the peak and nothing else.
            "share": shaded((count / most) ** 0.5),
        }
        for i, row in enumerate(panel.counts)
        for j, count in enumerate(row)
        if count
    ]
    x = alt.X("x:Q").scale(domain=[panel.x[0], panel.x[-1]], nice=False)
    y = alt.Y("y:Q").scale(domain=[panel.y[0], panel.y[-1]], nice=False)
    x = x.axis(title=as_label(panel.x_axis), tickCount=5)
    y = y.axis(title=as_label(panel.y_axis), tickCount=5)
    opacity = alt.Opacity("share:Q").scale(domain=[0, 1], range=[0, 1]).legend(None)
    field = chart_of(cells).mark_rect(color=BLUE)
    layers = [field.encode(x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"), opacity=opacity)]
    if panel.diagonal:
        corners = [{"x": panel.x[at], "y": panel.y[at]} for at in (0, -1)]
        line = chart_of(corners).mark_line(color=FAINT, strokeDash=[3, 3])
        layers.append(line.encode(x=alt.X("x:Q"), y=alt.Y("y:Q")))
    named = panel.named or ()
    terms = [each.name for each in named]
    if named:
        labels = zip(named, placeholders(terms), strict=True)
        rows = [{"x": each.x, "y": each.y, "name": label} for each, label in labels]
        dots = chart_of(rows).mark_point(color=INK, filled=True, size=14, opacity=1)
        middle = (panel.x[0] + panel.x[-1]) / 2
        layers += [dots.encode(x=alt.X("x:Q"), y=alt.Y("y:Q")), *names_beside(rows, middle=middle)]
    drawn = alt.layer(*layers).properties(width=_FIELD, height=_FIELD, title=headed(panel))
    said = f"{sum(map(sum, panel.counts)):,} in all"
    return as_svg(drawn, title=spoken_title, facts=facts or [said], terms=terms)


def matrix(panel: Matrix, *, spoken_title: str, facts: Sequence[str]) -> str:
    """Draw numbers from 0 to 1 as shaded cells with two decimals each; None is an empty cell."""
    import altair as alt

    cell = min(_WIDEST, max(_NARROWEST, _MATRIX // len(panel.columns)))
    given = [
        (i, j, value)
        for i, line in enumerate(panel.values)
        for j, value in enumerate(line)
        if value is not None
    ]
    cells = [{"row": i, "column": j, "share": shaded(v), "text": _short(v)} for i, j, v in given]
    rows, columns = (list(map(as_label, names)) for names in (panel.rows, panel.columns))
    x = alt.X("column:O").axis(None).scale(domain=list(range(len(columns))), padding=0.05)
    y = alt.Y("row:O").axis(None).scale(domain=list(range(len(rows))), padding=0.05)
    opacity = alt.Opacity("share:Q").scale(domain=[0, 1], range=[0, 1]).legend(None)
    height = min(cell, _TALLEST) * len(rows)
    drawn = alt.layer(
        chart_of(cells).mark_rect(color=BLUE).encode(x=x, y=y, opacity=opacity),
        chart_of(cells).mark_text(color=INK, fontSize=10).encode(x=x, y=y, text=alt.Text("text:N")),
        chart_of([{"row": i, "name": name} for i, name in enumerate(rows)])
        .mark_text(align="right", x=-6, color=INK)
        .encode(y=y, text=alt.Text("name:N")),
        chart_of([{"column": j, "name": name} for j, name in enumerate(columns)])
        .mark_text(align="right", angle=300, y=height + 10, color=INK)
        .encode(x=x, text=alt.Text("name:N")),
    ).properties(width=cell * len(columns), height=height, title=headed(panel))
    # Of a matrix of one list of names the lower half says it all.
    half = panel.rows == panel.columns
    said = [f"{rows[i]} and {columns[j]} {v:.2f}" for i, j, v in given if j < i or not half]
    return as_svg(drawn, title=spoken_title, facts=facts or said)


def _short(value: float) -> str:
    """Format a number for a narrow cell, without its leading zero: `.75`, `-.05` or `1`."""
    return f"{value:.2f}".replace("0.", ".").replace("1.00", "1").replace("-.00", ".00")


def plane(panel: Plane, *, spoken_title: str, facts: Sequence[str]) -> str:
    """Draw named points on a plane whose two axes have the same scale."""
    import altair as alt

    places = panel.places
    wide = max(max(abs(each.x), abs(each.y)) for each in places) or 1.0
    domain = [-1.2 * wide, 1.2 * wide]
    apart = names_apart(places, gap=2.4 * wide * _LINE / _PLANE)
    terms = [each.name for each in places]
    texts = [
        {"x": x, "y": y, "from x": place.x, "from y": place.y, "name": label}
        for (x, y), place, label in zip(apart, places, placeholders(terms), strict=True)
    ]
    x = alt.X("from x:Q").scale(domain=domain, nice=False).axis(None)
    y = alt.Y("from y:Q").scale(domain=domain, nice=False).axis(None)
    chart = chart_of(texts)
    drawn = alt.layer(
        chart.mark_rule(color=FAINT).encode(x=x, y=y, x2=alt.X2("x:Q"), y2=alt.Y2("y:Q")),
        chart.mark_point(color=BLUE, filled=True, opacity=1, size=50).encode(x=x, y=y),
        *names_beside(texts, middle=0.0),
    ).properties(width=_PLANE, height=_PLANE, title=headed(panel))
    said = [f"{quoted_term(each.name)} at {each.x:+.2f}, {each.y:+.2f}" for each in places]
    return as_svg(drawn, title=spoken_title, facts=facts or said, terms=terms)


def names_apart(places: Sequence[NamedPlace], *, gap: float) -> list[tuple[float, float]]:
    """Return each label's place: y moved `gap` apart on its side, x moved past points nearby."""
    out = [(0.0, 0.0)] * len(places)
    last = {True: -float("inf"), False: -float("inf")}
    for i in sorted(range(len(places)), key=lambda i: places[i].y):
        x, left = places[i].x, places[i].x < 0
        last[left] = y = max(places[i].y, last[left] + gap)
        side = [each for each in places if (each.x < 0) == left]
        near = [each.x for each in side if abs(each.x - x) < 3 * gap > abs(each.y - y)]
        out[i] = (max(near, default=x) if left else min(near, default=x)), y
    return out
