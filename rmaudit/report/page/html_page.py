"""Render results.json as one HTML page: only rmaudit's scripts, no requests, harsh words masked.

Tokens and other texts are hostile strings: Jinja escapes every one of them, and spells out what a
reader or a browser would not show (`safe_text`). `report.page` writes its sentences.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup, escape

from rmaudit import svg
from rmaudit.measures.after_training_evidence import AfterTrainingEvidence, Stage
from rmaudit.references.offensive_text_masks import label, masked
from rmaudit.report import charts
from rmaudit.report.charts.finding_strips import Scale, lane, scales
from rmaudit.report.charts.picture_and_labels import prompts_to_draw
from rmaudit.report.page import (
    TEMPLATES,
    glossary,
    number_format,
    part,
    scorecard,
    template,
    token_explorer,
)
from rmaudit.report.releases.release_regressions import blessed_comparisons
from rmaudit.report.results_document import AuditedModel, Results
from rmaudit.report.safe_text import addressed, block, line, visible
from rmaudit.report.summary import count_gates
from rmaudit.verdicts.findings import AnyFinding, Figure, Finding
from rmaudit.verdicts.run_verdict import SMALL_PRINT, of_run
from rmaudit.verdicts.verdict_wording import overrides

SIMULATOR = template("simulator.js")
_OF_STAGE = {  # of a stage, in words
    "nats": "KL from the start, nats",
    "happiness": "mean happiness (labMT)",
    "variety": "effective number of words",
    "zipf": "mean Zipf frequency",
}
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
_TERM = Markup(
    '<button type="button" class="term" aria-expanded="false" data-term="{term}">'
    '<span class="cover">{mask}<span class="unseen"> masked term</span></span>'
    '<bdi class="real"></bdi></button>'
)
_CHARTS = Markup(svg.STYLE)  # noqa: S704  (our own)
_STYLE = template("report.css") + _CHARTS + token_explorer.STYLE + template("simulator.css")


@cache
def environment() -> jinja2.Environment:
    """Return the Jinja environment of all pages; it escapes everything that a template prints.

    There is one, so that each template is compiled once in a process.
    """
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_spell_out,
    )
    jinja.filters |= {
        "addressed": addressed,
        "day": number_format.day,
        "careful": masked_text,
        "errors": number_format.standard_errors_in_words,
        "fixed": number_format.fixed,
        "full": scorecard.full,
        "interval": number_format.interval,
        "lane": _lane,
        "markup": Markup,
        "must": number_format.bound_in_words,
        "number": number_format.number,
        "overrides": overrides,
        "parted": breakable,
        "short": scorecard.short,
        "term": term,
        "value": number_format.value,
        "visible": visible,
        "whole": lambda control: number_format.value_with_interval(
            control.low, control.value, control.high
        ),
    }
    jinja.globals |= {"word": glossary.button, "meaning": glossary.TERMS}
    return jinja


def render(results: Results) -> str:
    """Render the results of a run as an HTML page."""
    names, axes = [model.name for model in results.models], scales(results.findings)
    every: list[AnyFinding] = [*results.findings, *results.figures]
    used = {*_RESERVED_IDS}
    anchors = scorecard.anchors(every, used, several=len(names) > 1)
    models = [_model(model, results, anchors, axes, used) for model in results.models]
    rows = [row for model in models for row in model["rows"]]
    script, explored = template("page.js"), token_explorer.explorer(results)
    simulated = any(own for model in models for own in model["simulators"].values())
    scripts = [script]
    scripts += [token_explorer.SCRIPT] if explored else []
    scripts += [SIMULATOR] if simulated else []
    report = environment().get_template("report.html.jinja")
    return report.render(
        run=results.run,
        ran=scorecard.ran(results.run),
        schema=results.schema,
        small_print=SMALL_PRINT,
        style=_STYLE,
        script=script,
        hashes=" ".join(_hash(script) for script in scripts),
        explorer=explored,
        simulator=SIMULATOR if simulated else "",
        verdict=scorecard.verdict(results, rows),
        against=blessed_comparisons(results),
        anchors=anchors,
        measured=any(each.estimate for each in every),
        names=names,
        tooltips={glossary.tooltip_id(each): glossary.TERMS[each] for each in glossary.ON_PAGE},
        models=models,
        columns=scorecard.columns(row for row in rows if row.decides),
        others=scorecard.columns(row for row in rows if not row.decides),
        compared=charts.between(results.models, results.findings, results.comparison),
    )


def term(text: str) -> Markup:
    """Return a token or word as HTML: escaped, cut after 40 characters, behind a button if harsh.

    `offensive_text_masks` lists what is harsh. A masked term is only in an attribute, which neither
    the page nor a screen reader shows.
    """
    shown = visible(text)
    if masked(text):
        return _TERM.format(term=shown, mask=label(text))
    return Markup("<bdi>{}</bdi>").format(shown)


def masked_text(text: str) -> Markup:
    """Return running text, such as an error, as HTML; each harsh word is behind a button.

    A text whose other words together are harsh, as a phrase, is behind a button as a whole.
    """
    if not masked(text):
        return escape(block(text))
    words = [(word, masked(word)) for word in text.split(" ")]
    if masked(" ".join(word for word, harsh in words if not harsh)):
        return term(text)
    return Markup(" ").join(term(word) if harsh else escape(block(word)) for word, harsh in words)


def breakable(name: str) -> Markup:
    """Return a name with optional line breaks after its underscores, for narrow columns."""
    return Markup("_<wbr>").join(block(name).split("_"))


def _lane(finding: Finding, scale: Scale, *, with_others: bool = True) -> Markup:
    return Markup(lane(finding, scale, with_others=with_others))  # noqa: S704  (our own SVG)


def _spell_out(value: object) -> object:
    """Write a string's invisible characters as escapes; return other values (markup) as is."""
    return block(value) if type(value) is str else value


def _hash(script: str) -> str:
    """Return the hash by which the page's Content-Security-Policy allows this script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _model(
    model: AuditedModel,
    results: Results,
    anchors: Mapping[tuple[str, str], str],
    axes: Mapping[str, Scale],
    used: set[str],
) -> dict[str, Any]:
    """Return the template's variables for one model: scorecard rows, charts, tokens, details."""
    own = [finding for finding in results.findings if finding.model == model.name]
    rows = scorecard.rows(own, anchors, axes)
    figures: dict[str, list[Figure]] = {}
    for figure in results.figures:
        if figure.model == model.name:
            figures.setdefault(figure.audit, []).append(figure)
    common, caveats = scorecard.caveats([*own, *(each for of in figures.values() for each in of)])
    outcome = of_run(own, results.run.gaps).outcome
    mark, words = scorecard.in_words(outcome, rows)
    prompts = prompts_to_draw(sweep.prompt for sweep in model.sweeps)
    shown = [sweep for sweep in model.sweeps if sweep.prompt in prompts]
    return {
        "about": model,
        "id": scorecard.unused(f"model-{model.name}", used),
        "outcome": outcome,
        "mark": mark,
        "words": words,
        "gates": count_gates(rows),
        "rows": rows,
        "by_audit": {row.audit: row for row in rows},
        "outside": sum(row.result == "fail" for row in rows if not row.decides),
        "caveats": common,
        "own_caveats": caveats,
        "figures": sorted(figures.values(), key=lambda own: own[0].title),
        "anchors": {audit: anchors[model.name, audit] for audit in figures},
        "simulators": {
            audit: simulator(own, f"{own[0].title}, {model.name}") for audit, own in figures.items()
        },
        "pictures": {row.audit: charts.of_findings(row.findings) for row in rows}
        | {audit: charts.of_findings(own) for audit, own in figures.items()},
        "shown": shown,
        "more": len(model.sweeps) - len(shown),
        "scores": charts.of_sweeps(model.sweeps),
        "scored": line(model.sweeps[0].scored) if model.sweeps else "",
        "tokens": max((sweep.n for sweep in model.sweeps), default=0),
    }


def simulator(figures: Sequence[Figure], name: str) -> Markup:
    """Render a slider, labelled `name`, over a policy's answers in training; "" without evidence.

    Everything that it shows was computed by `after_training`; the page's script only picks a stage.
    Without scripts the chart and the table of the same evidence stand in its place.
    """
    stages = [
        stage
        for figure in figures
        if figure.estimate and isinstance(figure.estimate.evidence, AfterTrainingEvidence)
        for stage in figure.estimate.evidence.stages
    ]
    if not stages:
        return Markup()
    return part("simulator.html.jinja", data=_simulator_data(stages), name=name)


def _simulator_data(stages: Iterable[Stage]) -> dict[str, Any]:
    """Return the data of the page's script: words, and each prompt's stages of training."""
    words: dict[str, int] = {}
    figures: list[str] = []
    prompts: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for stage in stages:
        both = prompts.setdefault(line(stage.prompt), {"nats": [], "draws": []})
        shares = {"without a letter": stage.letterless}
        shares |= {own.name: own.share for own in stage.listed}
        figures = [*_OF_STAGE.values(), *(f"answers: {name}" for name in shares)]
        shown = {
            "how": stage.how,
            "at": stage.draws or stage.nats,
            "figures": [*(getattr(stage, name) for name in _OF_STAGE), *shares.values()],
            "likely": [
                [words.setdefault(each.word, len(words)), each.before, each.after]
                for each in stage.likely
            ],
        }
        both["draws" if stage.draws else "nats"].append(shown)
        if not stage.draws and not stage.nats:
            both["draws"].append(shown | {"at": 1})
    named = [[visible(word), label(word) if masked(word) else None] for word in words]
    return {"words": named, "prompts": prompts, "figures": figures}
