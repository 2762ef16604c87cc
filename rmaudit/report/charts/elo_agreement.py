"""Where people and a model rank the same things (Figure 5 of Christian et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rmaudit.measures.elo_agreement import EloAgreementEvidence, Item, Wording
from rmaudit.report.charts.drawing import FAINT, as_svg, chart_of
from rmaudit.report.charts.heat import heat
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, spoken, table
from rmaudit.report.charts.scatter import Move, Scale, cells, moves

_SPOKEN = 3
_COLUMNS = {"prompt": "text", "item": "term", "people's rank": "number", "model's rank": "number"}


def chart(found: ByPrompt[EloAgreementEvidence]) -> Picture | None:
    """People's rank against the model's, what they disagree on most, and ranks by prompt."""
    wordings = [(evidence.n, each) for _, evidence in found for each in evidence.wordings]
    if not wordings:
        return None
    panels = [panel for n, each in wordings for panel in _panels(n, each)]
    if len(wordings) > 1:
        panels.append(_by_wording([each for _, each in wordings], max(n for n, _ in wordings)))
    rows = [
        (as_label(each.prompt), item.name, f"{item.human:,.0f}", f"{item.model:,.0f}")
        for _, each in wordings
        for item in _listed(each)
    ]
    return Picture(
        "People's ranks and the model's",
        "Rank 1 is the best. Left, how many items lie where: on the line from corner to corner "
        "people and model agree. Beside it, the items that they rank furthest apart. What people "
        "rank is theirs: voters of one website, who are no sample of anyone else.",
        "".join(panels),
        table(_COLUMNS, rows),
    )


def _panels(n: int, wording: Wording) -> list[str]:
    label = as_label(wording.prompt)
    panels = [_field(label, n, wording)] if n else []
    scale = Scale("rank of " + f"{n:,}", (1, n))
    for items, said in _sides(wording):
        rows = [Move(item.name, item.human, item.model) for item in items]
        if rows:
            subtitle = f"ranked {said} than people do"
            ends = ("people", "model")
            panels.append(moves(rows, scale=scale, names=ends, title=label, subtitle=subtitle))
    return panels


def _field(prompt: str, n: int, wording: Wording) -> str:
    import altair as alt

    counts = wording.cells
    edges = np.linspace(0.5, n + 0.5, len(counts) + 1).tolist()
    # Best at the right and at the top: turn both axes.
    turned = [row[::-1] for row in counts[::-1]]
    x, y = (edges[::-1], "people's rank"), (edges[::-1], "model's rank")
    line = chart_of([{"x": edges[-1], "y": edges[-1]}, {"x": edges[0], "y": edges[0]}])
    drawn = alt.layer(
        cells(turned, x, y), line.mark_line(color=FAINT, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q")
    ).properties(title=alt.TitleParams(prompt, subtitle=f"{n:,} items, best at the top right"))
    facts = [f"{n:,} items"]
    for items, said in _sides(wording):
        facts += [
            f"{spoken(item.name)} is {item.human:,.0f} with people and {said}, "
            f"{item.model:,.0f}, with the model"
            for item in items[:_SPOKEN]
        ]
    return as_svg(drawn, title=f"People's ranks and the model's, {prompt}", facts=facts)


def _sides(wording: Wording) -> list[tuple[tuple[Item, ...], str]]:
    return [(wording.undervalued, "lower"), (wording.overvalued, "higher")]


def _by_wording(wordings: Sequence[Wording], n: int) -> str:
    """The items that were named beforehand, under each wording."""
    named = [{item.name: item for item in each.also} for each in wordings]
    both = [name for name in named[0] if all(name in each for each in named)]
    items = {name: [named[0][name].human, *(each[name].model for each in named)] for name in both}
    stops = ["people", *(each.prompt for each in wordings)]
    return heat(items, stops=stops, title="Ranks by prompt", of=n)


def _listed(wording: Wording) -> Sequence[Item]:
    every = (*wording.undervalued, *wording.overvalued, *wording.also)
    return list({item.name: item for item in every}.values())
