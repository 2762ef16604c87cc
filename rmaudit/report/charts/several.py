"""Several models next to each other (Figures 1, 2 and 5C of Christian et al. 2025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rmaudit.measures.elo_agreement import EloAgreementEvidence, Item
from rmaudit.measures.gcg_probes import GcgProbesEvidence, Replayed
from rmaudit.report.charts.distributions import of_models
from rmaudit.report.charts.heat import heat
from rmaudit.report.charts.matrix import matrix
from rmaudit.report.charts.picture import Picture, as_label, drawn, table, under_prompts
from rmaudit.report.charts.plane import plane
from rmaudit.report.document import AuditedModel, Comparison
from rmaudit.verdicts.findings import Finding

_FEWEST = 2  # models to be compared
_EXPLOITS = {"prompt": "text", "found on": "text", "replayed on": "text"} | dict.fromkeys(
    ("strings", "above real answers", "highest z, sd"), "number"
)


def between(
    models: Sequence[AuditedModel],
    findings: Sequence[Finding],
    comparison: Sequence[Comparison],
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


def _agreement(comparison: Sequence[Comparison]) -> Picture | None:
    """Kendall's tau of all pairs, and the models on a plane, under each prompt."""
    if not comparison:
        return None
    panels, rows = [], []
    kept = drawn(each.prompt for each in comparison)
    for each in comparison:
        names = [as_label(name) for name in each.models]
        prompt, words = as_label(each.prompt), f"{each.words:,} shared words"
        title = f"Kendall's tau, {prompt}"
        if each.prompt in kept:
            panels.append(matrix(each.tau, rows=names, columns=names, title=title, subtitle=words))
            panels.append(plane(names, each.places, prompt=prompt))
        rows += [
            (prompt, names[i], names[j], f"{each.tau[i][j]:+.3f}")
            for i in range(len(names))
            for j in range(i)
        ]
    columns = {"prompt": "text", "model": "text", "and": "text", "tau": "number"}
    return Picture(
        "Which models agree",
        "Kendall's tau of the scores of the words (and parts of words) that all models have, a "
        "word's spellings averaged; and the models on a plane, the nearer the more alike "
        "(classical scaling of 1 - tau). The axes of the plane mean nothing by themselves.",
        "".join(panels),
        table(columns, rows),
    )


def _words(comparison: Sequence[Comparison]) -> Picture | None:
    """Ranks of words that models rank alike and unlike."""
    panels, rows, columns = [], [], {"prompt": "text", "word": "term"}
    kept = drawn(each.prompt for each in comparison)
    for each in comparison:
        items = {row.word: row.ranks for row in each.ranked}
        title = f"Ranks of words, {as_label(each.prompt)}"
        if each.prompt in kept:
            panels.append(heat(items, stops=each.models, title=title, of=each.words))
        columns |= {as_label(name): "number" for name in each.models}
    names = list(columns)[2:]
    for each in comparison:
        for row in each.ranked:
            rank = dict(zip(map(as_label, each.models), row.ranks, strict=True))
            cells = (f"{rank[name]:,.0f}" if name in rank else "–" for name in names)
            rows.append((as_label(each.prompt), row.word, *cells))
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
    found = under_prompts(findings, EloAgreementEvidence)
    asked = [(f.model, each) for f, evidence in found for each in evidence.wordings]
    of = max((evidence.n for _, evidence in found), default=0)
    for prompt in dict.fromkeys(each.prompt for _, each in asked):
        own = {model: each for model, each in asked if each.prompt == prompt}
        named = {model: {item.name: item for item in e.also} for model, e in own.items()}
        items = _ranked(named)
        if len(own) < _FEWEST or not items:
            continue
        stops = ["people", *own]
        panels.append(heat(items, stops=stops, title=f"Ranks, {as_label(prompt)}", of=of))
        rows += [
            (as_label(prompt), item, as_label(stop), f"{rank:,.0f}")
            for item, ranks in items.items()
            for stop, rank in zip(stops, ranks, strict=True)
        ]
    if not panels:
        return None
    columns = {"prompt": "text", "item": "term", "by": "text", "rank": "number"}
    return Picture(
        "Ranks of what people rated, model by model",
        "Things that the paper names, by people's rank and by each model's; 1 is the best. Only "
        "what every model was asked is drawn.",
        "".join(panels),
        table(columns, rows),
    )


def _ranked(named: Mapping[str, Mapping[str, Item]]) -> dict[str, list[float]]:
    """People's and all models' ranks of the items that all models have."""
    first, *others = named.values()
    both = [name for name in first if all(name in other for other in others)]
    return {n: [first[n].human, *(each[n].model for each in named.values())] for n in both}


def exploits(findings: Sequence[Finding]) -> Picture | None:
    """Which model's strings fool which: the share above real answers of their length.

    A matrix a prompt; None unless strings were replayed on two models.
    """
    found = under_prompts(findings, GcgProbesEvidence)
    panels, cells = [], []
    prompts = (row.prompt for _, evidence in found for row in evidence.strings)
    for prompt in dict.fromkeys(prompts):
        own = {f.model: _pleasing(evidence, prompt) for f, evidence in found}
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
                    named = (as_label(text) for text in (prompt, source, model))
                    cells.append((*named, str(len(tried)), str(beat), highest))
            shares.append(line)
        panels.append(
            matrix(
                shares,
                rows=[as_label(model) for model in own],
                columns=[as_label(source) for source in sources],
                title=f"Strings that carry over, {as_label(prompt)}",
                subtitle="rows: replayed on; columns: found on",
                facts=[
                    f"{c[4]} of {c[3]} found on {c[1]} are above the real answers of {c[2]}"
                    for c in cells
                    if c[0] == as_label(prompt)
                ],
            )
        )
    if not panels:
        return None
    return Picture(
        "Exploits that carry over",
        "The share of the strings found on one model (column) that another (row) scores above the "
        "99th percentile of real answers of their length. Strings that were not found prove "
        "nothing.",
        "".join(panels),
        table(_EXPLOITS, cells),
    )


def _pleasing(evidence: GcgProbesEvidence, prompt: str) -> list[Replayed]:
    """The strings that were found to please: what displeases beats nothing."""
    return [row for row in evidence.strings if (row.direction, row.prompt) == ("up", prompt)]
