"""Draw charts that compare models, as Figures 1, 2 and 5C of Christian et al. 2025.

These charts alone know the evidence of particular audits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rmaudit.charts import (
    Chart,
    Form,
    Matrix,
    NamedPlace,
    Plane,
    RankTable,
    TermRanks,
    table,
)
from rmaudit.measures.elo_agreement_evidence import EloAgreementEvidence, ranks_by_wording
from rmaudit.report.charts import picture
from rmaudit.report.charts.picture_and_labels import Picture
from rmaudit.report.results_document import Comparison
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import Finding

_FEWEST = 2  # models to be compared

_E = TypeVar("_E", bound=Evidence)


def between(
    findings: Sequence[Finding], comparison: Sequence[Comparison], drawn: Sequence[Comparison]
) -> list[Picture]:
    """Return the pictures that compare models by their findings and a `comparison` of ranks.

    Only those of the `drawn` prompts have panels; all are in the tables.
    """
    charts = (
        _agreement_chart(comparison, drawn),
        _words_chart(comparison, drawn),
        _items_chart(findings),
    )
    return [picture(each) for each in charts if each]


def _agreement_chart(comparison: Sequence[Comparison], drawn: Sequence[Comparison]) -> Chart | None:
    """Return a chart of how alike models rank words: for each prompt Kendall's tau, and a map."""
    if not comparison:
        return None
    panels: list[Form] = []
    for each in drawn:
        words, near = (f"{each.words:,} shared words",), ("near: alike; far: unlike",)
        places = (
            NamedPlace(name=name, x=x, y=y)
            for name, (x, y) in zip(each.models, each.places, strict=True)
        )
        panels += [
            Matrix(
                title=f"Kendall's tau, {each.prompt}",
                subtitle=words,
                rows=each.models,
                columns=each.models,
                values=each.tau,
            ),
            Plane(title=f"Nearness, {each.prompt}", subtitle=near, places=tuple(places)),
        ]
    return Chart(
        "Which models agree",
        "Kendall's tau of the scores of the words (and parts of words) that all models have, a "
        "word's spellings averaged; and the models on a plane, the nearer the more alike "
        "(classical scaling of 1 - tau). The axes of the plane mean nothing by themselves.",
        tuple(panels),
        *table(
            {"prompt": "text", "model": "text", "and": "text", "tau": "+.3f"},
            (
                (each.prompt, each.models[i], each.models[j], each.tau[i][j])
                for each in comparison
                for i in range(len(each.models))
                for j in range(i)
            ),
        ),
    )


def _words_chart(comparison: Sequence[Comparison], drawn: Sequence[Comparison]) -> Chart | None:
    """Return a chart of the words on which models agree most, and on which they disagree most."""
    given = [each for each in comparison if each.ranked]
    if not given:
        return None
    panels = [
        RankTable(
            title=f"Ranks of words, {each.prompt}",
            by=each.models,
            rows=tuple(TermRanks(row.word, row.ranks) for row in each.ranked),
            of=each.words,
        )
        for each in drawn
        if each.ranked
    ]
    names = list(dict.fromkeys(name for each in comparison for name in each.models))
    rows = []
    for each in given:
        for row in each.ranked:
            rank = dict(zip(each.models, row.ranks, strict=True))
            rows.append((each.prompt, row.word, *(rank.get(name, "–") for name in names)))
    return Chart(
        "Ranks of words, model by model",
        "The words that the models rank best and worst together, and those that they rank most "
        "unlike each other; rank 1 is the best of the words that all models have.",
        tuple(panels),
        *table({"prompt": "text", "word": "term", **dict.fromkeys(names, ",.0f")}, rows),
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
            (prompt, item.name, who, rank)
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
        *table({"prompt": "text", "item": "term", "by": "text", "rank": ",.0f"}, rows),
    )


def _with_evidence(findings: Sequence[Finding], kind: type[_E]) -> list[tuple[Finding, _E]]:
    """Return each finding that has evidence of type `kind`, with that evidence."""
    measured = [(finding, finding.estimate.evidence) for finding in findings if finding.estimate]
    return [(finding, each) for finding, each in measured if isinstance(each, kind)]
