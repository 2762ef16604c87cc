"""A model against its baseline: the percentiles of the words that both have, and what moved."""

from __future__ import annotations

import numpy as np

from rmaudit.measures.model_agreement import ModelAgreementEvidence, Moved
from rmaudit.report.charts.drawing import FAINT, as_svg, chart_of
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, spoken, table
from rmaudit.report.charts.scatter import Move, Scale, cells, moves

_SPOKEN = 3
_COLUMNS = {"prompt": "text", "word": "term", "baseline, %": "number", "here, %": "number"}


def chart(found: ByPrompt[ModelAgreementEvidence]) -> Picture | None:
    """Percentiles by the baseline and here, and the words that fell and rose furthest."""
    if not found:
        return None
    rows = [
        (as_label(prompt), row.text, f"{100 * row.baseline:.1f}", f"{100 * row.model:.1f}")
        for prompt, evidence in found
        for _, moved in _sides(evidence)
        for row in moved
    ]
    return Picture(
        "The model and its baseline",
        "Percentiles among the words that both have, 100 is the best. Left, how many words lie "
        "where; beside it, the words that fell and rose furthest.",
        "".join(panel for prompt, each in found for panel in _panels(as_label(prompt), each)),
        table(_COLUMNS, rows),
    )


def _panels(prompt: str, evidence: ModelAgreementEvidence) -> list[str]:
    panels = [_field(prompt, evidence)]
    scale, ends = Scale("percentile", (0, 100)), ("baseline", "here")
    for side, moved in _sides(evidence):
        rows = [Move(row.text, 100 * row.baseline, 100 * row.model) for row in moved]
        if rows:
            subtitle = f"what {side} furthest"
            panels.append(moves(rows, scale=scale, names=ends, title=prompt, subtitle=subtitle))
    return panels


def _field(prompt: str, evidence: ModelAgreementEvidence) -> str:
    import altair as alt

    counts = evidence.cells  # rows: the baseline's percentile
    edges = np.linspace(0, 100, len(counts) + 1).tolist()
    line = chart_of([{"x": 0, "y": 0}, {"x": 100, "y": 100}])
    n = sum(map(sum, counts))
    drawn = alt.layer(
        cells(counts, (edges, "percentile by the baseline"), (edges, "percentile here")),
        line.mark_line(color=FAINT, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q"),
    ).properties(title=alt.TitleParams(prompt, subtitle=f"{n:,} words that both have"))
    facts = [f"{n:,} words"] + [
        f"{spoken(row.text)} {side} from percentile {100 * row.baseline:.0f} to "
        f"{100 * row.model:.0f}"
        for side, rows in _sides(evidence)
        for row in rows[:_SPOKEN]
    ]
    return as_svg(drawn, title=f"The model and its baseline, {prompt}", facts=facts)


def _sides(evidence: ModelAgreementEvidence) -> list[tuple[str, tuple[Moved, ...]]]:
    return [("fell", evidence.fell), ("rose", evidence.rose)]
