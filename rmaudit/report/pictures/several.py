"""Several models beside each other (Figures 1, 2 and 5C of Christian et al. 2025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmaudit.records import Finding
from rmaudit.report.pictures.distribution import of_models
from rmaudit.report.pictures.drawing import (
    BLUE,
    INK,
    Picture,
    as_label,
    as_svg,
    chart_of,
    evidence_of,
    table,
)
from rmaudit.report.pictures.exploits import exploits
from rmaudit.report.pictures.matrix import matrix
from rmaudit.report.pictures.ranks import trajectories

_SIDE = 250
_FEWEST = 2  # models to be compared


def between(
    models: Sequence[Mapping[str, Any]],
    findings: Sequence[Finding],
    comparison: Sequence[Mapping[str, Any]],
) -> list[Picture]:
    """The pictures that need several models: `comparison` is that of results.json."""
    drawn = (
        of_models(models),
        _agreement(comparison),
        _words(comparison),
        _items(findings),
        exploits(findings),
    )
    return [picture for picture in drawn if picture]


def _agreement(comparison: Sequence[Mapping[str, Any]]) -> Picture | None:
    """Kendall's tau of all pairs, and the models on a plane, under each prompt."""
    if not comparison:
        return None
    panels, rows = [], []
    for each in comparison:
        names = [as_label(name) for name in each["models"]]
        prompt, words = as_label(each["prompt"]), f"{each['words']:,} shared words"
        title = f"Kendall's tau, {prompt}"
        panels.append(matrix(each["tau"], rows=names, columns=names, title=title, subtitle=words))
        panels.append(_plane(names, each["places"], prompt=prompt))
        rows += [
            (prompt, names[i], names[j], f"{each['tau'][i][j]:+.3f}")
            for i in range(len(names))
            for j in range(i)
        ]
    columns = {"prompt": "text", "model": "text", "and": "text", "tau": "number"}
    return Picture(
        "Which models agree",
        "Kendall's tau of the scores of the words that all models have, a word's spellings "
        "averaged; and the models on a plane, the nearer the more alike (classical scaling of "
        "1 - tau). The axes of the plane mean nothing by themselves.",
        "".join(panels),
        table(columns, rows),
    )


def _plane(names: Sequence[str], places: Sequence[Sequence[float]], *, prompt: str) -> str:
    import altair as alt

    wide = max(max(abs(x), abs(y)) for x, y in places) or 1.0
    domain = [-1.25 * wide, 1.25 * wide]  # one scale for both: distances are what is shown
    rows = [
        {"x": x, "y": y, "name": name, "up": y + offset}
        for (x, y), name, offset in zip(places, names, _lifts(places, wide), strict=True)
    ]
    x = alt.X("x:Q").scale(domain=domain, nice=False).axis(None)
    y = alt.Y("y:Q").scale(domain=domain, nice=False).axis(None)
    points = chart_of(rows).mark_point(color=BLUE, filled=True, opacity=1, size=50)
    texts = [
        chart_of([row for row in rows if (row["x"] < 0) == left])
        .mark_text(align="left" if left else "right", dx=7 if left else -7, color=INK)
        .encode(x=x, y=alt.Y("up:Q").scale(domain=domain, nice=False), text="name:N")
        for left in (True, False)
    ]
    drawn = alt.layer(points.encode(x=x, y=y), *texts).properties(
        width=_SIDE,
        height=_SIDE,
        title=alt.TitleParams(f"Nearness, {prompt}", subtitle="near: alike; far: unlike"),
    )
    facts = [f"{name} at {x:+.2f}, {y:+.2f}" for name, (x, y) in zip(names, places, strict=True)]
    return as_svg(drawn, title=f"Models on a plane, {prompt}", facts=facts)


def _lifts(places: Sequence[Sequence[float]], wide: float) -> list[float]:
    """How far each name is moved up or down, so that names of near models do not overprint."""
    gap = 2.5 * wide * 13 / _SIDE
    order = sorted(range(len(places)), key=lambda i: places[i][1])
    lifts, last = [0.0] * len(places), {True: -2 * wide, False: -2 * wide}
    for i in order:
        x, y = places[i]
        at = max(y, last[x < 0] + gap)
        last[x < 0] = at
        lifts[i] = at - y
    return lifts


def _words(comparison: Sequence[Mapping[str, Any]]) -> Picture | None:
    """Ranks of words that models rank alike and unlike."""
    panels, rows, columns = [], [], {"prompt": "text", "word": "term"}
    for each in comparison:
        items = {row["word"]: row["ranks"] for row in each["ranked"]}
        title = f"Ranks of words, {as_label(each['prompt'])}"
        panels.append(trajectories(items, stops=each["models"], title=title))
        columns |= {as_label(name): "number" for name in each["models"]}
    names = list(columns)[2:]
    for each in comparison:
        for row in each["ranked"]:
            rank = dict(zip(map(as_label, each["models"]), row["ranks"], strict=True))
            cells = (f"{rank[name]:,.0f}" if name in rank else "–" for name in names)
            rows.append((as_label(each["prompt"]), row["word"], *cells))
    if not rows:
        return None
    return Picture(
        "Ranks of words, model by model",
        "The words that the models rank best and worst together, and those that they rank most "
        "unlike each other; rank 1 is the best of the words that all models have.",
        "".join(panels),
        table(columns, rows),
    )


def _items(findings: Sequence[Finding]) -> Picture | None:
    """Ranks of things that people rated, by people and by each model, under each prompt."""
    panels, rows = [], []
    found = [f for f in findings if evidence_of(f).get("kind") == "ranks"]
    for prompt in dict.fromkeys(finding.prompt for finding in found):
        own = {f.model: evidence_of(f) for f in found if f.prompt == prompt}
        named = {model: {i["name"]: i for i in e["also"]} for model, e in own.items()}
        items = _ranked(named)
        if len(own) < _FEWEST or not items:
            continue
        stops = ["people", *own]
        panels.append(trajectories(items, stops=stops, title=f"Ranks, {as_label(prompt)}"))
        rows += [
            (as_label(prompt), item, as_label(stop), f"{rank:,.0f}")
            for item, ranks in items.items()
            for stop, rank in zip(stops, ranks, strict=True)
        ]
    columns = {"prompt": "text", "item": "term", "by": "text", "rank": "number"}
    return panels and Picture(
        "Ranks of what people rated, model by model",
        "Things that the paper names, by people's rank and by each model's; 1 is the best. Only "
        "what every model was asked is drawn.",
        "".join(panels),
        table(columns, rows),
    ) or None


def _ranked(named: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, list[float]]:
    """People's and all models' ranks of the items that all models have."""
    first, *others = named.values()
    both = [name for name in first if all(name in other for other in others)]
    return {n: [first[n]["human"], *(each[n]["model"] for each in named.values())] for n in both}
