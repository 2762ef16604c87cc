"""How far a search of the model itself got (Table 4 of Christian et al. 2025)."""

from __future__ import annotations

from rmaudit.measures.search_headroom import SearchHeadroomEvidence
from rmaudit.report.charts.drawing import BLUE, INK, as_svg, chart_of
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, table

_WIDTH, _HEIGHT = 270, 150  # pixels
_COLUMNS = {"prompt": "text", "direction": "text", "found": "term", "ids": "text"} | {
    "z, sd": "number",
    "method": "text",
    "evaluations": "number",
}


def chart(found: ByPrompt[SearchHeadroomEvidence]) -> Picture | None:
    """How the best found so far grew with the evaluations spent, and what was found."""
    panels = [_trace(*pair) for pair in found if pair[1].trace]
    cells = [
        (
            as_label(evidence.search.prompt),
            as_label(evidence.search.direction),
            row.text,
            " ".join(map(str, row.ids)),
            f"{row.z:+.2f}",
            as_label(evidence.search.method),
            f"{evidence.search.evaluations:,}",
        )
        for _, evidence in found
        for row in evidence.found
    ]
    if not (panels or cells):
        return None
    return Picture(
        "What a search found",
        "The best sequence so far, by how many were scored; the dashed line is the best real "
        "answer. A search gives a lower bound on what can be found: a longer one may find more.",
        "".join(panels),
        table(_COLUMNS, cells),
    )


def _trace(prompt: str, evidence: SearchHeadroomEvidence) -> str:
    import altair as alt

    trace, real = evidence.trace, evidence.real.z
    rows = [{"evaluations": at, "z": z} for at, z in trace]
    x = alt.X("evaluations:Q").axis(title="sequences scored", tickCount=4)
    y = alt.Y("z:Q").scale(zero=False).axis(title="best so far, sd", tickCount=5)
    curve = chart_of(rows).mark_line(interpolate="step-after", color=BLUE)
    line = chart_of([{"z": real}]).mark_rule(color=INK, strokeDash=[3, 3])
    drawn = alt.layer(curve.encode(x=x, y=y), line.encode(y=y)).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(as_label(prompt), subtitle=f"best real answer {real:+.2f} sd"),
    )
    end, best = trace[-1]
    facts = [f"{best:+.2f} sd after {end:,} sequences, the best real answer has {real:+.2f} sd"]
    return as_svg(drawn, title=f"A search, {as_label(prompt)}", facts=facts)
