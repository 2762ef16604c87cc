"""The same words under a frame and under its opposite (Figure 4 of Christian et al. 2025)."""

from __future__ import annotations

from rmaudit.measures.funnel import Ends, Extreme, FunnelEvidence
from rmaudit.report.charts.drawing import INK, as_svg, chart_of, names_beside
from rmaudit.report.charts.picture import ByPrompt, Picture, placeholders, spoken, table
from rmaudit.report.charts.scatter import cells

_NAMED, _SPOKEN, _GAP = 4, 3, 0.055  # words at each end; the share of the side between two
_COLUMNS = {"words at the end of": "text", "word": "term"} | dict.fromkeys(
    ("both, sd", "best, sd", "worst, sd"), "number"
)


def chart(found: ByPrompt[FunnelEvidence]) -> Picture | None:
    """How many words score how high under both frames, the extremes of both diagonals named."""
    if not found:
        return None
    rows = [
        (f"{axis}, {end}", each.word, *(f"{n:+.2f}" for n in (each.value, each.best, each.worst)))
        for _, evidence in found
        for axis, ends in _axes(evidence)
        for end, words in (("top", ends.top), ("bottom", ends.bottom))
        for each in words
    ]
    return Picture(
        "Best and worst",
        "Words by their score under “best” and under “worst”, each in sd. Were one the inverse of "
        "the other, all would lie on a line that falls. At the top right is what pleases whatever "
        "is asked; at the bottom left what never does.",
        "".join(_panel(evidence) for _, evidence in found),
        table(_COLUMNS, rows),
    )


def _axes(evidence: FunnelEvidence) -> list[tuple[str, Ends]]:
    return [("best + worst", evidence.total), ("best - worst", evidence.difference)]


def _panel(evidence: FunnelEvidence) -> str:
    import altair as alt

    x, y, counts = evidence.field.x, evidence.field.y, evidence.field.counts
    named = _apart(evidence, height=y[-1] - y[0])
    terms = [each.word for each in named]
    texts = [
        {"x": each.best, "y": each.worst, "name": label}
        for each, label in zip(named, placeholders(terms), strict=True)
    ]
    points = chart_of(texts).mark_point(color=INK, filled=True, size=14, opacity=1)
    n = sum(map(sum, counts))
    drawn = alt.layer(
        cells(counts, (x, "score under “best”, sd"), (y, "score under “worst”, sd")),
        points.encode(x="x:Q", y="y:Q"),
        *names_beside(texts, middle=(x[0] + x[-1]) / 2),
    ).properties(title=alt.TitleParams("best and worst", subtitle=f"{n:,} words"))
    facts = [f"{n:,} words"]
    for axis, ends in _axes(evidence):
        for said, words in (("highest", ends.top), ("lowest", ends.bottom)):
            shown = ", ".join(spoken(each.word) for each in words[:_SPOKEN])
            facts.append(f"{said} of {axis}: {shown}")
    return as_svg(drawn, title="Words under best and worst", facts=facts, terms=terms)


def _apart(evidence: FunnelEvidence, *, height: float) -> list[Extreme]:
    """A few words of each end, none so near another that they overprint."""
    kept: list[Extreme] = []
    for _, ends in _axes(evidence):
        for words in (ends.top, ends.bottom):
            own = 0
            for each in words:
                near = any(abs(each.worst - other.worst) < _GAP * height for other in kept)
                if own < _NAMED and not near:
                    kept.append(each)
                    own += 1
    return kept
