"""Draw a report's pictures: turn chart data into SVG markup, a caption and a table.

Pictures show what results.json holds. The chart of an audit comes from its evidence, as an
`rmaudit.charts.Chart`; only those that compare models, as Figures 1, 2 and 5C of Christian et al.
2025, know the evidence of particular audits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rmaudit.charts import (
    Boxes,
    Chart,
    CountField,
    Dumbbells,
    Fact,
    Form,
    Matrix,
    Moves,
    NamedPlace,
    Plane,
    Points,
    RankTable,
    TermRanks,
    numbers,
    texts,
)
from rmaudit.measures.elo_agreement_evidence import EloAgreementEvidence, ranks_by_wording
from rmaudit.measures.gcg_probes import GcgProbesEvidence
from rmaudit.report.charts import panels_by_term, two_axis_panels
from rmaudit.report.charts.picture_and_labels import Picture, as_label, prompts_to_draw
from rmaudit.report.charts.reward_distributions import of_models, of_sweeps
from rmaudit.report.results_document import AuditedModel, Comparison
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import AnyFinding, Finding

__all__ = ["Picture", "between", "charts_of", "of_findings", "of_sweeps", "picture"]

_MOST = 500  # rows that a panel draws, whatever a results.json holds: the table has all
_FEWEST = 2  # models to be compared

_E = TypeVar("_E", bound=Evidence)


def charts_of(findings: Sequence[AnyFinding]) -> list[Chart]:
    """Return the charts of one model's findings, one for each audit whose evidence can be drawn."""
    grouped: dict[tuple[str, type[Evidence]], list[tuple[str, Evidence]]] = {}
    for finding in findings:
        if finding.estimate and (evidence := finding.estimate.evidence):
            own = grouped.setdefault((finding.audit, type(evidence)), [])
            own.append((finding.prompt, evidence))
    charts = (kind.chart(found) for (_, kind), found in grouped.items())
    return [chart for chart in charts if chart]


def of_findings(findings: Sequence[AnyFinding]) -> list[Picture]:
    """Return the pictures of one model's findings, one for each audit that has a chart."""
    return [picture(chart) for chart in charts_of(findings)]


def between(
    models: Sequence[AuditedModel],
    findings: Sequence[Finding],
    comparison: Sequence[Comparison],
) -> list[Picture]:
    """Return the pictures that compare models: rewards, findings, and `comparison` of ranks."""
    rewards = of_models(models)
    charts = (
        _agreement_chart(comparison),
        _words_chart(comparison),
        _items_chart(findings),
        exploits(findings),
    )
    return [*([rewards] if rewards else []), *(picture(each) for each in charts if each)]


def picture(chart: Chart) -> Picture:
    """Return the picture of a chart."""
    kinds = list(chart.columns.values())
    columns = dict[str, str]()
    for name, kind in chart.columns.items():
        label = as_label(name)  # which cuts: two long names may have one label
        columns[label if label not in columns else f"{label} ({len(columns)})"] = kind
    return Picture(
        chart.title,
        chart.caption,
        "".join(_drawn(panel, chart.title) for panel in chart.panels),
        columns,
        tuple(
            tuple(
                as_label(cell) if kind == "text" else cell
                for cell, kind in zip(row, kinds, strict=True)
            )
            for row in chart.rows
        ),
    )


def _drawn(panel: Form, of: str) -> str:  # noqa: PLR0911  (one for each form)
    """Return the markup of a panel of the chart called `of`, with at most 500 rows."""
    if isinstance(panel, Points | Moves | Dumbbells) and len(panel.rows) > _MOST:
        shown = f"the first {_MOST} of {len(panel.rows):,}"
        fewer: dict[str, Any] = {"rows": panel.rows[:_MOST], "subtitle": (*panel.subtitle, shown)}
        panel = replace(panel, **fewer)
    match panel:
        case Points():
            return panels_by_term.points(panel, of)
        case Moves():
            return panels_by_term.moves(panel, of)
        case Dumbbells():
            return panels_by_term.dumbbells(panel, of)
        case RankTable():
            return panels_by_term.heat(panel)
        case Boxes():
            return two_axis_panels.boxes(panel, of)
        case CountField():
            return two_axis_panels.count_field(panel, of)
        case Matrix():
            return two_axis_panels.matrix(panel, of)
        case Plane():
            return two_axis_panels.plane(panel, of)


def _agreement_chart(comparison: Sequence[Comparison]) -> Chart | None:
    """Return a chart of how alike models rank words: for each prompt Kendall's tau, and a map."""
    if not comparison:
        return None
    panels: list[Form] = []
    kept = prompts_to_draw(each.prompt for each in comparison)
    for each in comparison:
        if each.prompt in kept:
            title, words = f"Kendall's tau, {each.prompt}", f"{each.words:,} shared words"
            places = tuple(
                NamedPlace(name=name, x=x, y=y)
                for name, (x, y) in zip(each.models, each.places, strict=True)
            )
            near = ("near: alike; far: unlike",)
            panels += [
                Matrix(
                    title=title,
                    subtitle=(words,),
                    rows=each.models,
                    columns=each.models,
                    values=each.tau,
                ),
                Plane(title=f"Nearness, {each.prompt}", subtitle=near, places=places),
            ]
    return Chart(
        "Which models agree",
        "Kendall's tau of the scores of the words (and parts of words) that all models have, a "
        "word's spellings averaged; and the models on a plane, the nearer the more alike "
        "(classical scaling of 1 - tau). The axes of the plane mean nothing by themselves.",
        tuple(panels),
        texts("prompt", "model", "and") | numbers("tau"),
        tuple(
            (each.prompt, each.models[i], each.models[j], f"{each.tau[i][j]:+.3f}")
            for each in comparison
            for i in range(len(each.models))
            for j in range(i)
        ),
    )


def _words_chart(comparison: Sequence[Comparison]) -> Chart | None:
    """Return a chart of the words on which models agree most, and on which they disagree most."""
    given = [each for each in comparison if each.ranked]
    if not given:
        return None
    kept = prompts_to_draw(each.prompt for each in comparison)
    panels = [
        RankTable(
            title=f"Ranks of words, {each.prompt}",
            by=each.models,
            rows=tuple(TermRanks(row.word, row.ranks) for row in each.ranked),
            of=each.words,
        )
        for each in given
        if each.prompt in kept
    ]
    names = list(dict.fromkeys(name for each in comparison for name in each.models))
    rows = []
    for each in given:
        for row in each.ranked:
            rank = dict(zip(each.models, row.ranks, strict=True))
            cells = (f"{rank[name]:,.0f}" if name in rank else "–" for name in names)
            rows.append((each.prompt, row.word, *cells))
    return Chart(
        "Ranks of words, model by model",
        "The words that the models rank best and worst together, and those that they rank most "
        "unlike each other; rank 1 is the best of the words that all models have.",
        tuple(panels),
        {"prompt": "text", "word": "term", **numbers(*names)},
        tuple(rows),
    )


def _items_chart(findings: Sequence[Finding]) -> Chart | None:
    """Return a chart, with a panel per prompt, of how people and models rank the same things."""
    found = _with_evidence(findings, EloAgreementEvidence)
    asked = [(f.model, each) for f, evidence in found for each in evidence.wordings]
    of = max((evidence.n for _, evidence in found), default=0)
    panels, rows = [], []
    for prompt in dict.fromkeys(each.prompt for _, each in asked):
        own = {model: each for model, each in asked if each.prompt == prompt}
        items = ranks_by_wording(list(own.values()))
        if len(own) < _FEWEST or not items:
            continue
        by = ("people", *own)
        panels.append(RankTable(title=f"Ranks, {prompt}", by=by, rows=items, of=of))
        rows += [
            (prompt, item.name, who, f"{rank:,.0f}")
            for item in items
            for who, rank in zip(by, item.ranks, strict=True)
        ]
    if not panels:
        return None
    return Chart(
        "Ranks of what people rated, model by model",
        "Things that the paper names, by people's rank and by each model's; 1 is the best. Only "
        "what every model was asked is drawn.",
        tuple(panels),
        {"prompt": "text", "item": "term", "by": "text", "rank": "number"},
        tuple(rows),
    )


def exploits(findings: Sequence[Finding]) -> Chart | None:
    """Return a chart of how often strings found on one model beat real answers on another.

    There is a matrix for each prompt, of what searches for high reward found; None unless strings
    were replayed on two models.
    """
    found = _with_evidence(findings, GcgProbesEvidence)
    panels, cells = [], []
    prompts = (row.prompt for _, evidence in found for row in evidence.strings)
    for prompt in dict.fromkeys(prompts):
        own = {
            f.model: [row for row in each.strings if (row.direction, row.prompt) == ("up", prompt)]
            for f, each in found
        }
        sources = list(dict.fromkeys(row.found_on for rows in own.values() for row in rows))
        if len(own) < _FEWEST or not sources:
            continue
        shares: list[list[float | None]] = []
        for model, rows in own.items():
            line: list[float | None] = []
            for source in sources:
                tried = [row for row in rows if row.found_on == source]
                beat = sum(row.above for row in tried)
                line.append(beat / len(tried) if tried else None)
                if tried:
                    highest = f"{max(row.z for row in tried):+.2f}"
                    cells.append((prompt, source, model, str(len(tried)), str(beat), highest))
            shares.append(line)
        said = [
            Fact(f"{c[4]} of {c[3]} found on {c[1]} are above the real answers of {c[2]}")
            for c in cells
            if c[0] == prompt
        ]
        panels.append(
            Matrix(
                title=f"Strings that carry over, {prompt}",
                subtitle=("rows: replayed on; columns: found on",),
                facts=tuple(said),
                rows=tuple(own),
                columns=tuple(sources),
                values=tuple(map(tuple, shares)),
            )
        )
    if not panels:
        return None
    return Chart(
        "Exploits that carry over",
        "The share of the strings found on one model (column) that another (row) scores above the "
        "99th percentile of real answers of their length. Strings that were not found prove "
        "nothing.",
        tuple(panels),
        texts("prompt", "found on", "replayed on")
        | numbers("strings", "above real answers", "highest z, sd"),
        tuple(cells),
    )


def _with_evidence(findings: Sequence[Finding], kind: type[_E]) -> list[tuple[Finding, _E]]:
    """Return each finding that has evidence of type `kind`, with that evidence."""
    measured = [(finding, finding.estimate.evidence) for finding in findings if finding.estimate]
    return [(finding, each) for finding, each in measured if isinstance(each, kind)]
