"""Models as points on a plane, the nearer the more alike (Figure 2B of the paper)."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.report.charts.drawing import BLUE, FAINT, as_svg, chart_of, names_beside

_SIDE, _LINE = 280, 13  # pixels: the plane, a name


def plane(names: Sequence[str], places: Sequence[Sequence[float]], *, prompt: str) -> str:
    """A point and a name for each of `places`, both axes on one scale."""
    import altair as alt

    wide = max(max(abs(x), abs(y)) for x, y in places) or 1.0
    domain = [-1.2 * wide, 1.2 * wide]
    texts = [
        {"x": x, "y": y, "from x": place[0], "from y": place[1], "name": name}
        for (x, y), place, name in zip(
            _apart(places, gap=2.4 * wide * _LINE / _SIDE), places, names, strict=True
        )
    ]
    x = alt.X("from x:Q").scale(domain=domain, nice=False).axis(None)
    y = alt.Y("from y:Q").scale(domain=domain, nice=False).axis(None)
    chart = chart_of(texts)
    drawn = alt.layer(
        chart.mark_rule(color=FAINT).encode(x=x, y=y, x2="x:Q", y2="y:Q"),
        chart.mark_point(color=BLUE, filled=True, opacity=1, size=50).encode(x=x, y=y),
        *names_beside(texts, middle=0.0),
    ).properties(
        width=_SIDE,
        height=_SIDE,
        title=alt.TitleParams(f"Nearness, {prompt}", subtitle="near: alike; far: unlike"),
    )
    facts = [f"{name} at {x:+.2f}, {y:+.2f}" for name, (x, y) in zip(names, places, strict=True)]
    return as_svg(drawn, title=f"Models on a plane, {prompt}", facts=facts)


def _apart(places: Sequence[Sequence[float]], *, gap: float) -> list[tuple[float, float]]:
    """Where each name begins: towards the middle from the points about it, none on another."""
    out = [(0.0, 0.0)] * len(places)
    last = {True: -float("inf"), False: -float("inf")}
    for i in sorted(range(len(places)), key=lambda i: places[i][1]):
        x, y = places[i]
        left = x < 0
        last[left] = y = max(y, last[left] + gap)
        near = [a for a, b in places if (a < 0) == left and abs(a - x) < 3 * gap > abs(b - y)]
        out[i] = (max(near, default=x) if left else min(near, default=x)), y
    return out
