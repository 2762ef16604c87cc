"""What searches of a model found that it hates most (Table 5 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmaudit.report.charts.drawing import BLUE, as_svg, chart_of, names_left
from rmaudit.report.charts.labels import as_label, placeholders
from rmaudit.report.charts.picture import Picture, evidence_of, table
from rmaudit.verdicts.records import Finding

_WIDTH, _STEP = 165, 18  # pixels
_TITLE = "What the model hates most: an artefact of this model"


def pessimal(findings: Sequence[Finding]) -> Picture | None:
    """Where the worst sequences of a search stand under the other frame, or whom they name."""
    found = [(f.prompt, rows) for f in findings if (rows := evidence_of(f)["strings"])]
    if not found:
        return None
    return _placed(found) if "percentile" in found[0][1][0] else _naming(found)


def _placed(found: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> Picture:
    cells = [
        (as_label(prompt), row["text"], f"{row['z']:+.2f}", f"{row['percentile']:.1f}")
        for prompt, rows in found
        for row in rows
    ]
    columns = {"prompt": "text", "sequence": "term", "z, sd": "number", "percentile": "number"}
    return Picture(
        _TITLE,
        "The worst sequence of each start of a search under one frame, by where it stands among "
        "the tokens of the sweep under the other; 0 is the bottom.",
        "".join(_panel(*pair) for pair in found),
        table(columns, cells),
    )


def _naming(found: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> Picture:
    cells = [
        (as_label(prompt), row["text"], "yes" if row["names a group"] else "no")
        for prompt, rows in found
        for row in rows
    ]
    return Picture(
        _TITLE,
        "The worst sequence of each start of a search, and whether it names a group of people.",
        "",
        table({"prompt": "text", "sequence": "term", "names a group": "text"}, cells),
    )


def _panel(prompt: str, rows: Sequence[Mapping[str, Any]]) -> str:
    import altair as alt

    terms = [row["text"] for row in rows]
    values = [
        {"place": place, "percentile": row["percentile"], "name": name}
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
    said = ", ".join(f"{row['percentile']:.1f}" for row in rows)
    facts = [f"{len(rows)} sequences at the percentiles {said}"]
    return as_svg(drawn, title=f"Worst sequences, {as_label(prompt)}", facts=facts, terms=terms)
