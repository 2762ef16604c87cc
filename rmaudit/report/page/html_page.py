"""Render results.json as one HTML page: only rmaudit's scripts, no requests, harsh words masked.

Tokens and other texts are hostile strings: Jinja escapes every one of them, and spells out what a
reader or a browser would not show (`safe_text`). `report.page` writes its sentences.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

from markupsafe import Markup

from rmaudit import svg
from rmaudit.report.charts.between_models import between
from rmaudit.report.charts.finding_strips import scales
from rmaudit.report.charts.reward_distributions import of_models, of_sweeps, prompts_to_draw
from rmaudit.report.finding_words import caveats_of, onsets_of
from rmaudit.report.page import glossary, part, template, token_explorer, training_simulator
from rmaudit.report.releases.release_regressions import blessed_comparisons
from rmaudit.report.results_document import AuditedModel, Results
from rmaudit.report.safe_text import line
from rmaudit.report.summary import Summary, summarize
from rmaudit.verdicts.findings import AnyFinding, Figure
from rmaudit.verdicts.run_verdict import SMALL_PRINT, Outcome

_RESERVED_IDS = (
    "summary",
    "blessed",
    "appendix",
    "said",
    "models",
    "compared",
    "explorer",
    "explorer-title",
    "about",
    "show-terms",
    *map(glossary.tooltip_id, glossary.ON_PAGE),
)
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")  # in an HTML id
_CHARTS = Markup(svg.STYLE)  # noqa: S704  (our own)
_STYLE = template("report.css") + _CHARTS + token_explorer.STYLE + training_simulator.STYLE


def render(results: Results) -> str:
    """Render the results of a run as an HTML page."""
    run, names = summarize(results), [model.name for model in results.models]
    every: list[AnyFinding] = [*results.findings, *results.figures]
    used = {*_RESERVED_IDS}
    anchors = anchors_of(every, used, several=len(names) > 1)
    models = [_model(model, run.of(model.name), used) for model in results.models]
    every_question = (each for model in models for each in model["questions"])
    asked = {each.family: each for each in every_question if any(r.measured for r in each.gates)}
    kept = prompts_to_draw(each.prompt for each in results.comparison)
    drawn = [each for each in results.comparison if each.prompt in kept]
    rewards = of_models(results.models)
    script, explored = template("page.js"), token_explorer.explorer(results)
    simulated = any(own for model in models for own in model["simulators"].values())
    simulator = training_simulator.SCRIPT if simulated else ""
    scripts = [script, *([token_explorer.SCRIPT] if explored else []), *filter(None, [simulator])]
    page = part(
        "report.html.jinja",
        run=results.run,
        schema=results.schema,
        small_print=SMALL_PRINT,
        style=_STYLE,
        script=script,
        hashes=" ".join(_hash(script) for script in scripts),
        explorer=explored,
        simulator=simulator,
        summary=run,
        blocking=run.failures,
        against=blessed_comparisons(results),
        anchors=anchors,
        scales=scales(results.findings),
        measured=any(each.estimate for each in every),
        names=names,
        asked=[*asked.values()],
        alike=drawn[0] if drawn else None,
        tooltips={glossary.tooltip_id(each): glossary.TERMS[each] for each in glossary.ON_PAGE},
        models=models,
        compared=[
            *([rewards] if rewards else []),
            *between(results.findings, results.comparison, drawn),
        ],
    )
    return str(page)


def _hash(script: str) -> str:
    """Return the hash by which the page's Content-Security-Policy allows this script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def anchors_of(
    findings: Iterable[AnyFinding], used: set[str], *, several: bool
) -> dict[tuple[str, str], str]:
    """Return an HTML id for each (model, audit), added to `used`; `several` models are named."""
    return {
        (model, audit): _unused(f"{audit}--{model}" if several else audit, used)
        for model, audit in dict.fromkeys((each.model, each.audit) for each in findings)
    }


def _unused(name: str, used: set[str]) -> str:
    """Turn `name` into an HTML id that is not in `used`, and add the id to `used`."""
    plain = _UNSAFE.sub("-", name)[:80] or "audit"
    found, n = plain, 1
    while found in used:
        n += 1
        found = f"{plain}-{n}"
    used.add(found)
    return found


def _model(model: AuditedModel, own: Summary, used: set[str]) -> dict[str, Any]:
    """Return the template's variables for one model, which `own` sums up: charts, tokens, ids."""
    figures: dict[str, list[Figure]] = {}
    for figure in own.figures:
        figures.setdefault(figure.audit, []).append(figure)
    common, caveats = caveats_of([*own.findings, *chain(*figures.values())])
    onsets = onsets_of([*chain(*figures.values()), *own.findings])
    prompts = prompts_to_draw(sweep.prompt for sweep in model.sweeps)
    shown = [sweep for sweep in model.sweeps if sweep.prompt in prompts]
    scores = of_sweeps(model.sweeps)
    return {
        "about": model,
        "id": _unused(f"model-{model.name}", used),
        "summary": own,
        "rank": list(Outcome).index(own.verdict.outcome),
        "questions": own.questions,
        "by_audit": {row.audit: row for row in own.ranked},
        "caveats": common,
        "own_caveats": caveats,
        "figures": sorted(figures.values(), key=lambda own: own[0].title),
        "simulators": {
            audit: training_simulator.simulator(own, f"{own[0].title}, {model.name}", onsets)
            for audit, own in figures.items()
        },
        "onsets": onsets,
        "shown": shown,
        "more": len(model.sweeps) - len(shown),
        "scores": scores,
        "scored": line(model.sweeps[0].scored) if model.sweeps else "",
        "tokens": max((sweep.n for sweep in model.sweeps), default=0),
    }
