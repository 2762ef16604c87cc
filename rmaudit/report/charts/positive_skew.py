"""The words that stand highest, and how happy they are as the prompt asks."""

from __future__ import annotations

from rmaudit.measures.positive_skew import PositiveSkewEvidence
from rmaudit.report.charts.drawing import BLUE, FAINT, as_svg, chart_of, names_left
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, placeholders, spoken, table

_WIDTH, _STEP = 165, 18  # pixels
_MOST, _SPOKEN = 20, 5  # words of a panel, and of its description: the table has all
_COLUMNS = {"prompt": "text", "word": "term", "reward, sd": "number", "valence, sd": "number"}


def chart(found: ByPrompt[PositiveSkewEvidence]) -> Picture | None:
    """A panel a prompt: the words of the upper tail from the top, by their valence."""
    found = [(prompt, evidence) for prompt, evidence in found if evidence.words]
    if not found:
        return None
    cells = [
        (as_label(prompt), row.word, f"{row.reward:+.2f}", f"{row.valence:+.2f}")
        for prompt, evidence in found
        for row in evidence.words
    ]
    ends = [row.valence for _, evidence in found for row in evidence.words]
    domain = (min(0.0, *ends), max(0.0, *ends))
    return Picture(
        "What stands highest",
        "Rated words from the highest reward down, by their valence in sd of all rated words, "
        "turned as the prompt asks: to the right of the dashed line is what was asked for.",
        "".join(_panel(*pair, domain=domain) for pair in found),
        table(_COLUMNS, cells),
    )


def _panel(prompt: str, evidence: PositiveSkewEvidence, *, domain: tuple[float, float]) -> str:
    import altair as alt

    rows = evidence.words[:_MOST]
    terms = [row.word for row in rows]
    values = [
        {"place": place, "valence": row.valence, "name": name}
        for place, (row, name) in enumerate(zip(rows, placeholders(terms), strict=True))
    ]
    y = alt.Y("place:O").axis(None)
    axis = f"{as_label(evidence.axis)}, sd, as asked"
    x = alt.X("valence:Q").scale(domain=list(domain)).axis(title=axis, tickCount=4)
    zero = chart_of([{"valence": 0}]).mark_rule(color=FAINT, strokeDash=[3, 3]).encode(x=x)
    points = chart_of(values).mark_point(color=BLUE, filled=True, opacity=1, size=42)
    drawn = alt.layer(zero, points.encode(x=x, y=y), *names_left(values, y)).properties(
        width=_WIDTH,
        height=_STEP * len(rows),
        title=alt.TitleParams(as_label(prompt), subtitle=f"{len(rows)} of {evidence.n:,} words"),
    )
    facts = [f"{spoken(row.word)} {row.valence:+.2f}" for row in rows[:_SPOKEN]]
    return as_svg(drawn, title=f"What stands highest, {as_label(prompt)}", facts=facts, terms=terms)
