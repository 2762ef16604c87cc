"""A model against its baseline: the percentiles of the tokens that both have, and what moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rmaudit.report.charts.drawing import FAINT, as_svg, chart_of
from rmaudit.report.charts.labels import as_label, spoken
from rmaudit.report.charts.picture import Picture, evidence_of, table
from rmaudit.report.charts.scatter import Move, Scale, cells, moves
from rmaudit.verdicts.records import Finding

_SPOKEN = 3
_COLUMNS = {"prompt": "text", "token": "term", "baseline, %": "number", "here, %": "number"}


def agreement(findings: Sequence[Finding]) -> Picture | None:
    """Percentiles by the baseline and here, and the tokens that fell and rose furthest."""
    found = [(as_label(finding.prompt), evidence_of(finding)) for finding in findings]
    if not found:
        return None
    rows = [
        (prompt, row["text"], f"{100 * row['baseline']:.1f}", f"{100 * row['model']:.1f}")
        for prompt, evidence in found
        for side in ("fell", "rose")
        for row in evidence[side]
    ]
    return Picture(
        "The model and its baseline",
        "Percentiles among the tokens that both have, 100 is the best. Left, how many tokens lie "
        "where; beside it, the tokens that fell and rose furthest.",
        "".join(panel for pair in found for panel in _panels(*pair)),
        table(_COLUMNS, rows),
    )


def _panels(prompt: str, evidence: Mapping[str, Any]) -> list[str]:
    panels = [_field(prompt, evidence)]
    scale, ends = Scale("percentile", (0, 100)), ("baseline", "here")
    for side in ("fell", "rose"):
        rows = [Move(r["text"], 100 * r["baseline"], 100 * r["model"]) for r in evidence[side]]
        if rows:
            subtitle = f"what {side} furthest"
            panels.append(moves(rows, scale=scale, names=ends, title=prompt, subtitle=subtitle))
    return panels


def _field(prompt: str, evidence: Mapping[str, Any]) -> str:
    import altair as alt

    counts = evidence["cells"]  # rows: the baseline's percentile
    edges = np.linspace(0, 100, len(counts) + 1).tolist()
    line = chart_of([{"x": 0, "y": 0}, {"x": 100, "y": 100}])
    n = sum(map(sum, counts))
    drawn = alt.layer(
        cells(counts, (edges, "percentile by the baseline"), (edges, "percentile here")),
        line.mark_line(color=FAINT, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q"),
    ).properties(title=alt.TitleParams(prompt, subtitle=f"{n:,} tokens that both have"))
    facts = [f"{n:,} tokens"] + [
        f"{spoken(row['text'])} {side} from percentile {100 * row['baseline']:.0f} to "
        f"{100 * row['model']:.0f}"
        for side in ("fell", "rose")
        for row in evidence[side][:_SPOKEN]
    ]
    return as_svg(drawn, title=f"The model and its baseline, {prompt}", facts=facts)
