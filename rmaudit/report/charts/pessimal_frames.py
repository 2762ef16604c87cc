"""Where what the model hates most under one frame stands under the other."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.measures.pessimal_frames import PessimalFramesEvidence, Placed
from rmaudit.report.charts.drawing import BLUE, as_svg, chart_of, names_left
from rmaudit.report.charts.pessimal_identity import TITLE
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, placeholders, table

_WIDTH, _STEP = 165, 18  # pixels
_COLUMNS = {"prompt": "text", "sequence": "term", "z, sd": "number", "percentile": "number"}


def chart(found: ByPrompt[PessimalFramesEvidence]) -> Picture | None:
    """The worst sequences of a search by their percentile under the other frame."""
    given = [(prompt, evidence.strings) for prompt, evidence in found if evidence.strings]
    if not given:
        return None
    cells = [
        (as_label(prompt), row.text, f"{row.z:+.2f}", f"{100 * row.share_below:.1f}")
        for prompt, rows in given
        for row in rows
    ]
    return Picture(
        TITLE,
        "The worst sequence of each start of a search under one frame, by where it stands among "
        "the tokens of the sweep under the other; 0 is the bottom.",
        "".join(_panel(*pair) for pair in given),
        table(_COLUMNS, cells),
    )


def _panel(prompt: str, rows: Sequence[Placed]) -> str:
    import altair as alt

    terms = [row.text for row in rows]
    values = [
        {"place": place, "percentile": 100 * row.share_below, "name": name}
        for place, (row, name) in enumerate(zip(rows, placeholders(terms), strict=True))
    ]
    y = alt.Y("place:O").axis(None)
    x = alt.X("percentile:Q").scale(domain=[0, 100]).axis(title="percentile", tickCount=5)
    points = chart_of(values).mark_point(color=BLUE, filled=True, opacity=1, size=42)
    drawn = alt.layer(points.encode(x=x, y=y), *names_left(values, y)).properties(
        width=_WIDTH,
        height=_STEP * len(rows),
        title=alt.TitleParams(as_label(prompt), subtitle="under the other frame"),
    )
    said = ", ".join(f"{100 * row.share_below:.1f}" for row in rows)
    facts = [f"{len(rows)} sequences at the percentiles {said}"]
    return as_svg(drawn, title=f"Worst sequences, {as_label(prompt)}", facts=facts, terms=terms)
