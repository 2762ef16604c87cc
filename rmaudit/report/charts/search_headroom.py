"""What searches found, and what others' findings do here (Tables 4 and 5 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmaudit.report.charts.drawing import BLUE, INK, VERMILLION, as_svg, chart_of, names_left
from rmaudit.report.charts.labels import as_label, placeholders
from rmaudit.report.charts.picture import Picture, evidence_of, table
from rmaudit.verdicts.records import Finding

_WIDTH, _HEIGHT, _STEP = 270, 150, 18  # pixels
_FOUND = {"prompt": "text", "direction": "text", "found": "term", "ids": "text"} | {
    "z, sd": "number",
    "method": "text",
    "evaluations": "number",
}
_MOST = 20  # strings of a panel: the table has all
_REPLAYED = {"prompt": "text", "string": "term", "found to": "text", "found on": "text"} | {
    "source": "text",
    "z, sd": "number",
    "percentile": "number",
    "beats the best real answer": "text",
}


def search(findings: Sequence[Finding]) -> Picture | None:
    """How the best found so far grew with the evaluations spent, and what was found."""
    found = [(finding.prompt, evidence_of(finding)) for finding in findings]
    panels = [_trace(*pair) for pair in found if pair[1]["trace"]]
    cells = [
        (
            *(as_label(str(row[key])) for key in ("prompt", "direction")),
            row["text"],
            " ".join(map(str, row["ids"])),
            f"{row['z']:+.2f}",
            as_label(str(row["method"])),
            f"{row['evaluations']:,}",
        )
        for _, evidence in found
        for row in evidence["found"]
    ]
    if not (panels or cells):
        return None
    return Picture(
        "What a search found",
        "The best sequence so far, by how many were scored; the dashed line is the best real "
        "answer. A search gives a lower bound on what can be found: a longer one may find more.",
        "".join(panels),
        table(_FOUND, cells),
    )


def probes(findings: Sequence[Finding]) -> Picture | None:
    """Strings found on other models, replayed here, against the best real answer."""
    found = [(finding.prompt, evidence_of(finding)) for finding in findings]
    found = [(prompt, evidence) for prompt, evidence in found if evidence["strings"]]
    if not found:
        return None
    cells = [
        (
            as_label(prompt),
            row["text"],
            "please" if row["direction"] == "up" else "displease",
            *(as_label(str(row[key])) for key in ("found_on", "source")),
            f"{row['z']:+.2f}",
            f"{row['percentile']:.1f}",
            "yes" if row["beats_real"] else "no",
        )
        for prompt, evidence in found
        for row in evidence["strings"]
    ]
    return Picture(
        "Strings that please other models, replayed here",
        "A point is a string, in sd of the sweep; the dashed line is the best real answer. A "
        "string to its right is preferred to every real answer. What was found to displease "
        "stands in the table only.",
        "".join(_replayed(*pair) for pair in found),
        table(_REPLAYED, cells),
    )


def _trace(prompt: str, evidence: Mapping[str, Any]) -> str:
    import altair as alt

    trace, real = evidence["trace"], evidence["real"]["z"]
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


def _replayed(prompt: str, evidence: Mapping[str, Any]) -> str:
    import altair as alt

    pleasing = [row for row in evidence["strings"] if row["direction"] == "up"]
    strings = sorted(pleasing, key=lambda row: -row["z"])[:_MOST]
    if not strings:
        return ""
    real = evidence["real"]["z"]
    terms = [row["text"] for row in strings]
    rows = [
        {"place": place, "z": row["z"], "name": label, "beats": bool(row["beats_real"])}
        for place, (row, label) in enumerate(zip(strings, placeholders(terms), strict=True))
    ]
    y = alt.Y("place:O").axis(None)
    x = alt.X("z:Q").scale(zero=False).axis(title="sd of the sweep", tickCount=4)
    points = [
        chart_of([row for row in rows if row["beats"] == beats])
        .mark_point(color=color, filled=beats, opacity=1, size=42)
        .encode(x=x, y=y)
        for beats, color in ((True, VERMILLION), (False, BLUE))
    ]
    line = chart_of([{"z": real}]).mark_rule(color=INK, strokeDash=[3, 3])
    beaten = sum(bool(row["beats_real"]) for row in pleasing)
    said = f"{beaten} of {len(pleasing)} beat the best real answer ({real:+.2f} sd)"
    marks = "full: beats it" + (f"; the {_MOST} highest" if len(pleasing) > _MOST else "")
    drawn = alt.layer(line.encode(x=x), *points, *names_left(rows, y)).properties(
        width=_WIDTH - 100,
        height=_STEP * len(rows),
        title=alt.TitleParams(as_label(prompt), subtitle=[said, marks]),
    )
    return as_svg(drawn, title=f"Strings replayed, {as_label(prompt)}", facts=[said], terms=terms)
