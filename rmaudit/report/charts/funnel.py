"""The same words under a frame and under its opposite (Figure 4 of Christian et al. 2025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmaudit.report.charts.drawing import INK, as_svg, chart_of, names_beside
from rmaudit.report.charts.labels import placeholders, spoken
from rmaudit.report.charts.picture import Picture, evidence_of, table
from rmaudit.report.charts.scatter import cells
from rmaudit.verdicts.records import Finding

_AXES = ("best + worst", "best - worst")
_NAMED, _SPOKEN, _GAP = 4, 3, 0.055  # words at each end; the share of the side between two
_COLUMNS = {"words at the end of": "text", "word": "term"} | dict.fromkeys(
    ("both, sd", "best, sd", "worst, sd"), "number"
)


def funnel(findings: Sequence[Finding]) -> Picture | None:
    """How many words score how high under both frames, the extremes of both diagonals named."""
    found = [evidence for finding in findings if (evidence := evidence_of(finding))]
    if not found:
        return None
    rows = [
        (f"{axis}, {end}", word, *(f"{number:+.2f}" for number in numbers))
        for evidence in found
        for axis in _AXES
        for end in ("top", "bottom")
        for word, *numbers in evidence[axis][end]
    ]
    return Picture(
        "Best and worst",
        "Words by their score under “best” and under “worst”, each in sd. Were one the inverse of "
        "the other, all would lie on a line that falls. At the top right is what pleases whatever "
        "is asked; at the bottom left what never does.",
        "".join(map(_panel, found)),
        table(_COLUMNS, rows),
    )


def _panel(evidence: Mapping[str, Any]) -> str:
    import altair as alt

    picture = evidence["picture"]
    x, y = picture["x"], picture["y"]
    named = _apart(evidence, height=y[-1] - y[0])
    labels = placeholders([word for word, *_ in named])
    texts = [
        {"x": at, "y": up, "name": label} for (_, at, up), label in zip(named, labels, strict=True)
    ]
    points = chart_of(texts).mark_point(color=INK, filled=True, size=14, opacity=1)
    n = sum(map(sum, picture["counts"]))
    drawn = alt.layer(
        cells(picture["counts"], (x, "score under “best”, sd"), (y, "score under “worst”, sd")),
        points.encode(x="x:Q", y="y:Q"),
        *names_beside(texts, middle=(x[0] + x[-1]) / 2),
    ).properties(title=alt.TitleParams("best and worst", subtitle=f"{n:,} words"))
    facts = [f"{n:,} words"]
    for axis in _AXES:
        for end, said in (("top", "highest"), ("bottom", "lowest")):
            words = ", ".join(spoken(row[0]) for row in evidence[axis][end][:_SPOKEN])
            facts.append(f"{said} of {axis}: {words}")
    terms = [word for word, *_ in named]
    return as_svg(drawn, title="Words under best and worst", facts=facts, terms=terms)


def _apart(evidence: Mapping[str, Any], *, height: float) -> list[tuple[str, float, float]]:
    """A few words of each end with their places, none so near another that they overprint."""
    kept: list[tuple[str, float, float]] = []
    for axis in _AXES:
        for end in ("top", "bottom"):
            own = 0
            for word, _, best, worst in evidence[axis][end]:
                near = any(abs(worst - up) < _GAP * height for _, _, up in kept)
                if own < _NAMED and not near:
                    kept.append((word, best, worst))
                    own += 1
    return kept
