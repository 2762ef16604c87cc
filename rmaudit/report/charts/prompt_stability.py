"""How far the wording of a prompt decides: a point for each of them."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.measures.prompt_stability import PromptStabilityEvidence, Wording
from rmaudit.report.charts.drawing import BLUE, FAINT, VERMILLION, as_svg, chart_of, names_left
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, table

_WIDTH, _STEP = 165, 20  # pixels
_FRAMES = {1: "good", -1: "bad"}
_AXES = {"rho": "rho with the frame's other prompts", "rho with valence": "rho with valence"}


def chart(found: ByPrompt[PromptStabilityEvidence]) -> Picture | None:
    """A panel of each prompt's agreement with the others, and one of its rho with valence."""
    given = [evidence.prompts for _, evidence in found if evidence.prompts]
    if not given:
        return None
    panels = [
        _panel(rows, values, axis)
        for rows in given
        for key, axis in _AXES.items()
        if (values := _values(rows, key)) is not None
    ]
    kept = [key for key in _AXES if all(_values(rows, key) is not None for rows in given)]
    cells = [
        (as_label(row.prompt), _FRAMES[row.frame], *(f"{number:+.3f}" for number in numbers))
        for rows in given
        for row, *numbers in zip(rows, *(_values(rows, key) or () for key in kept), strict=True)
    ]
    return Picture(
        "Spread over wordings",
        "A point is one wording, a row all wordings of one adjective; blue ones ask for what is "
        "good, red ones (hollow) for what is bad. The first panel: how far a wording orders words "
        "as the others of its frame do. The second: how far it follows valence.",
        "".join(panels),
        table({"prompt": "text", "asks for": "text"} | dict.fromkeys(kept, "number"), cells),
    )


def _values(rows: Sequence[Wording], key: str) -> list[float] | None:
    """The numbers of all rows; None where a row has none."""
    values = [row.rho if key == "rho" else row.rho_with_valence for row in rows]
    given = [value for value in values if value is not None]
    return given if len(given) == len(values) else None


def _panel(rows: Sequence[Wording], values: Sequence[float], axis: str) -> str:
    import altair as alt

    groups = {row.group: row.frame for row in sorted(rows, key=lambda row: -row.frame)}
    places = {group: place for place, group in enumerate(groups)}
    y = alt.Y("place:O").axis(None)
    x = alt.X("value:Q").scale(domain=[min(0.0, *values), max(1.0, *values)], nice=True)
    x = x.axis(title=axis, tickCount=5)
    layers = [chart_of([{"value": 0}]).mark_rule(color=FAINT, strokeDash=[3, 3]).encode(x=x)]
    for frame, color in ((1, BLUE), (-1, VERMILLION)):
        own = [
            {"place": places[row.group], "value": value}
            for row, value in zip(rows, values, strict=True)
            if row.frame == frame
        ]
        points = chart_of(own).mark_point(color=color, filled=frame > 0, opacity=0.8, size=36)
        layers.append(points.encode(x=x, y=y))
    named = [{"place": place, "name": as_label(group)} for group, place in places.items()]
    drawn = alt.layer(*layers, *names_left(named, y)).properties(
        width=_WIDTH,
        height=_STEP * len(groups),
        title=alt.TitleParams(f"{len(rows)} prompts", subtitle=axis),
    )
    return as_svg(drawn, title=f"Spread over wordings, {axis}", facts=_facts(rows, values))


def _facts(rows: Sequence[Wording], values: Sequence[float]) -> list[str]:
    facts = []
    for frame, said in _FRAMES.items():
        own = sorted(v for row, v in zip(rows, values, strict=True) if row.frame == frame)
        if own:
            ends = f"{own[0]:+.2f} to {own[-1]:+.2f}"
            facts.append(f"{len(own)} wordings that ask for what is {said}: {ends}")
    return facts
