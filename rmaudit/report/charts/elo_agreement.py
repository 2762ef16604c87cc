"""Where people and a model rank the same things (Figure 5 of Christian et al. 2025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rmaudit.report.charts.drawing import FAINT, as_svg, chart_of
from rmaudit.report.charts.labels import as_label, spoken
from rmaudit.report.charts.picture import Picture, evidence_of, table
from rmaudit.report.charts.rank_paths import paths
from rmaudit.report.charts.scatter import Move, Scale, cells, moves
from rmaudit.verdicts.records import Finding

_SPOKEN = 3
_COLUMNS = {"prompt": "text", "item": "term", "people's rank": "number", "model's rank": "number"}


def ranks(findings: Sequence[Finding]) -> Picture | None:
    """People's rank against the model's, what they disagree on most, and ranks by prompt."""
    found = [(finding.prompt, evidence_of(finding)) for finding in findings]
    if not found:
        return None
    panels = [panel for prompt, evidence in found for panel in _panels(prompt, evidence)]
    if len(found) > 1:
        panels.append(_by_prompt(found))
    rows = [
        (as_label(prompt), item["name"], f"{item['human']:,.0f}", f"{item['model']:,.0f}")
        for prompt, evidence in found
        for item in _listed(evidence)
    ]
    return Picture(
        "People's ranks and the model's",
        "Rank 1 is the best. Left, how many items lie where: on the line from corner to corner "
        "people and model agree. Beside it, the items that they rank furthest apart. What people "
        "rank is theirs: voters of one website, who are no sample of anyone else.",
        "".join(panels),
        table(_COLUMNS, rows),
    )


def _panels(prompt: str, evidence: Mapping[str, Any]) -> list[str]:
    n, label = evidence["n"], as_label(prompt)
    panels = [_field(label, evidence)] if n else []
    scale = Scale("rank of " + f"{n:,}", (1, n))
    for side, said in (("undervalued", "lower than people"), ("overvalued", "higher than people")):
        rows = [Move(item["name"], item["human"], item["model"]) for item in evidence[side]]
        if rows:
            subtitle = f"ranked {said} do"
            ends = ("people", "model")
            panels.append(moves(rows, scale=scale, names=ends, title=label, subtitle=subtitle))
    return panels


def _field(prompt: str, evidence: Mapping[str, Any]) -> str:
    import altair as alt

    counts, n = evidence["cells"], evidence["n"]
    edges = np.linspace(0.5, n + 0.5, len(counts) + 1).tolist()
    # Best at the right and at the top: turn both axes.
    turned = [row[::-1] for row in counts[::-1]]
    x, y = (edges[::-1], "people's rank"), (edges[::-1], "model's rank")
    line = chart_of([{"x": edges[-1], "y": edges[-1]}, {"x": edges[0], "y": edges[0]}])
    drawn = alt.layer(
        cells(turned, x, y), line.mark_line(color=FAINT, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q")
    ).properties(title=alt.TitleParams(prompt, subtitle=f"{n:,} items, best at the top right"))
    facts = [f"{n:,} items"]
    for side, said in (("undervalued", "lower"), ("overvalued", "higher")):
        facts += [
            f"{spoken(item['name'])} is {item['human']:,.0f} with people and {said}, "
            f"{item['model']:,.0f}, with the model"
            for item in evidence[side][:_SPOKEN]
        ]
    return as_svg(drawn, title=f"People's ranks and the model's, {prompt}", facts=facts)


def _by_prompt(found: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The items that were named beforehand, under each prompt."""
    named = [{item["name"]: item for item in evidence["also"]} for _, evidence in found]
    both = [name for name in named[0] if all(name in each for each in named)]
    items = {n: [named[0][n]["human"], *(each[n]["model"] for each in named)] for n in both}
    stops = ["people", *(prompt for prompt, _ in found)]
    return paths(items, stops=stops, title="Ranks by prompt")


def _listed(evidence: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    every = [item for key in ("undervalued", "overvalued", "also") for item in evidence[key]]
    return list({item["name"]: item for item in every}.values())
