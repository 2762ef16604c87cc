"""How far the wording of a prompt decides: a point for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmaudit.report.charts.drawing import BLUE, FAINT, VERMILLION, as_svg, chart_of, names_left
from rmaudit.report.charts.labels import as_label
from rmaudit.report.charts.picture import Picture, evidence_of, table
from rmaudit.verdicts.records import Finding

_WIDTH, _STEP = 165, 20  # pixels
_FRAMES = {1: "good", -1: "bad"}
_PANELS = {"rho": "rho with the frame's other prompts", "rho with valence": "rho with valence"}


def stability(findings: Sequence[Finding]) -> Picture | None:
    """A panel of each prompt's agreement with the others, and one of its rho with valence."""
    found = [rows for finding in findings if (rows := evidence_of(finding)["prompts"])]
    if not found:
        return None
    panels = [
        _panel(rows, key, axis)
        for rows in found
        for key, axis in _PANELS.items()
        if all(key in row for row in rows)
    ]
    kept = [key for key in _PANELS if all(key in row for rows in found for row in rows)]
    cells = [
        (as_label(row["prompt"]), _FRAMES[row["frame"]], *(f"{row[key]:+.3f}" for key in kept))
        for rows in found
        for row in rows
    ]
    return Picture(
        "Spread over wordings",
        "A point is one wording, a row all wordings of one adjective; blue ones ask for what is "
        "good, red ones (hollow) for what is bad. The first panel: how far a wording orders words "
        "as the others of its frame do. The second: how far it follows valence.",
        "".join(panels),
        table({"prompt": "text", "asks for": "text"} | dict.fromkeys(kept, "number"), cells),
    )


def _panel(rows: Sequence[Mapping[str, Any]], key: str, axis: str) -> str:
    import altair as alt

    groups = {row["group"]: row["frame"] for row in sorted(rows, key=lambda row: -row["frame"])}
    places = {group: place for place, group in enumerate(groups)}
    domain = [min(0.0, *(row[key] for row in rows)), max(1.0, *(row[key] for row in rows))]
    y = alt.Y("place:O").axis(None)
    x = alt.X("value:Q").scale(domain=domain, nice=True).axis(title=axis, tickCount=5)
    layers = [chart_of([{"value": 0}]).mark_rule(color=FAINT, strokeDash=[3, 3]).encode(x=x)]
    for frame, color in ((1, BLUE), (-1, VERMILLION)):
        values = [
            {"place": places[row["group"]], "value": row[key]}
            for row in rows
            if row["frame"] == frame
        ]
        points = chart_of(values).mark_point(color=color, filled=frame > 0, opacity=0.8, size=36)
        layers.append(points.encode(x=x, y=y))
    named = [{"place": place, "name": as_label(group)} for group, place in places.items()]
    drawn = alt.layer(*layers, *names_left(named, y)).properties(
        width=_WIDTH,
        height=_STEP * len(groups),
        title=alt.TitleParams(f"{len(rows)} prompts", subtitle=axis),
    )
    return as_svg(drawn, title=f"Spread over wordings, {axis}", facts=_facts(rows, key))


def _facts(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    facts = []
    for frame, said in _FRAMES.items():
        own = sorted(row[key] for row in rows if row["frame"] == frame)
        if own:
            ends = f"{own[0]:+.2f} to {own[-1]:+.2f}"
            facts.append(f"{len(own)} wordings that ask for what is {said}: {ends}")
    return facts
