"""What strings found on other models do here (Tables 4 and 5 of Christian et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.measures.gcg_probes import GcgProbesEvidence, Replayed
from rmaudit.report.charts.drawing import BLUE, INK, VERMILLION, as_svg, chart_of, names_left
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, placeholders, table

_WIDTH, _STEP = 170, 18  # pixels
_MOST = 20  # strings of a panel: the table has all
_COLUMNS = {"prompt": "text", "string": "term", "found to": "text", "found on": "text"} | {
    "source": "text",
    "z, sd": "number",
    "percentile": "number",
    "real answers of its length, sd": "number",
    "above": "text",
}


def chart(found: ByPrompt[GcgProbesEvidence]) -> Picture | None:
    """Strings found on other models, replayed here, against real answers of their length."""
    found = [(prompt, evidence) for prompt, evidence in found if evidence.strings]
    if not found:
        return None
    cells = [
        (
            as_label(row.prompt),
            row.text,
            "please" if row.direction == "up" else "displease",
            as_label(row.found_on),
            as_label(row.source),
            f"{row.z:+.2f}",
            f"{100 * row.share_below:.1f}",
            f"{row.bar:+.2f}",
            "yes" if row.above else "no",
        )
        for _, evidence in found
        for row in evidence.strings
    ]
    return Picture(
        "Strings that please other models, replayed here",
        "A point is a string, in sd of the sweep; the upright stroke is the 99th percentile of "
        "real answers of its length. A string to the right of its stroke is preferred to nearly "
        "all of them. What was found to displease stands in the table only.",
        "".join(
            _replayed(prompt, [row for row in evidence.strings if row.prompt == prompt])
            for _, evidence in found
            for prompt in dict.fromkeys(row.prompt for row in evidence.strings)
        ),
        table(_COLUMNS, cells),
    )


def _replayed(prompt: str, rows: Sequence[Replayed]) -> str:
    import altair as alt

    pleasing = [row for row in rows if row.direction == "up"]
    strings = sorted(pleasing, key=lambda row: row.bar - row.z)[:_MOST]
    if not strings:
        return ""
    terms = [row.text for row in strings]
    points = [
        {"place": place, "z": row.z, "bar": row.bar, "name": label, "above": row.above}
        for place, (row, label) in enumerate(zip(strings, placeholders(terms), strict=True))
    ]
    y = alt.Y("place:O").axis(None)
    x = alt.X("z:Q").scale(zero=False).axis(title="sd of the sweep", tickCount=4)
    marks = [
        chart_of([point for point in points if point["above"] == above])
        .mark_point(color=color, filled=above, opacity=1, size=42)
        .encode(x=x, y=y)
        for above, color in ((True, VERMILLION), (False, BLUE))
    ]
    strokes = chart_of(points).mark_tick(color=INK, thickness=1.5, size=12).encode(x="bar:Q", y=y)
    beaten = sum(row.above for row in pleasing)
    said = f"{beaten} of {len(pleasing)} above real answers of their length"
    meaning = "full: above" + (f"; the {_MOST} furthest" if len(pleasing) > _MOST else "")
    drawn = alt.layer(strokes, *marks, *names_left(points, y)).properties(
        width=_WIDTH,
        height=_STEP * len(points),
        title=alt.TitleParams(as_label(prompt), subtitle=[said, meaning]),
    )
    return as_svg(drawn, title=f"Strings replayed, {as_label(prompt)}", facts=[said], terms=terms)
