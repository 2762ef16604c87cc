"""Render results.json as one HTML page: only rmaudit's scripts, no requests, harsh words masked.

Tokens and other texts are hostile strings: Jinja escapes every one of them, and spells out what a
reader or a browser would not show (`safe_text`). `report.page` writes its sentences.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup, escape

from rmaudit import svg
from rmaudit.references import offensive_text_masks
from rmaudit.report import charts
from rmaudit.report.charts.finding_strips import Scale, lane
from rmaudit.report.charts.picture_and_labels import prompts_to_draw
from rmaudit.report.page import (
    glossary,
    number_format,
    scorecard,
    token_explorer,
    training_simulator,
    verdict_box,
)
from rmaudit.report.page.template_files import TEMPLATES, template
from rmaudit.report.releases.release_regressions import blessed_comparisons
from rmaudit.report.results_document import AuditedModel, Results
from rmaudit.report.safe_text import addressed, block, line, visible
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import SMALL_PRINT, of_run
from rmaudit.verdicts.verdict_wording import overrides

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
_STYLE = template("report.css") + _CHARTS + token_explorer.STYLE + training_simulator.STYLE


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
        "day": verdict_box.day,
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
    names = [model.name for model in results.models]
    scales = scorecard.scales(results.findings)
    anchors = scorecard.anchors(results.findings, names, _RESERVED_IDS)
    used = {*_RESERVED_IDS, *anchors.values()}
    models = [_model(model, results, anchors, scales, used) for model in results.models]
    every = [row for model in models for row in model["rows"]]
    script, explored = template("page.js"), token_explorer.explorer(results)
    simulated = any(own for model in models for own in model["simulators"].values())
    scripts = [script]
    scripts += [token_explorer.SCRIPT] if explored else []
    scripts += [training_simulator.SCRIPT] if simulated else []
    report = environment().get_template("report.html.jinja")
    return report.render(
        run=results.run,
        day=verdict_box.day(results.run.created),
        ran=verdict_box.ran(results.run),
        schema=results.schema,
        small_print=SMALL_PRINT,
        style=_STYLE,
        script=script,
        hashes=" ".join(_hash(script) for script in scripts),
        explorer=explored,
        simulator=training_simulator.SCRIPT if simulated else "",
        verdict=verdict_box.verdict(results, every),
        against=blessed_comparisons(results),
        anchors=anchors,
        measured=any(finding.estimate for finding in results.findings),
        names=names,
        tooltips={glossary.tooltip_id(each): glossary.TERMS[each] for each in glossary.ON_PAGE},
        models=models,
        columns=scorecard.columns(row for row in every if row.gates),
        others=scorecard.columns(row for row in every if not row.gates),
        compared=charts.between(results.models, results.findings, results.comparison),
    )


def term(text: str) -> Markup:
    """Return a token or word as HTML: escaped, cut after 40 characters, behind a button if harsh.

    `offensive_text_masks` lists what is harsh. A masked term is only in an attribute, which neither
    the page nor a screen reader shows.
    """
    shown = visible(text)
    if offensive_text_masks.masked(text):
        return _TERM.format(term=shown, mask=offensive_text_masks.label(text))
    return Markup("<bdi>{}</bdi>").format(shown)


def masked_text(text: str) -> Markup:
    """Return running text, such as an error, as HTML; each harsh word is behind a button.

    A text whose other words together are harsh, as a phrase, is behind a button as a whole.
    """
    if not offensive_text_masks.masked(text):
        return escape(block(text))
    words = [(word, offensive_text_masks.masked(word)) for word in text.split(" ")]
    if offensive_text_masks.masked(" ".join(word for word, harsh in words if not harsh)):
        return term(text)
    return Markup(" ").join(term(word) if harsh else escape(block(word)) for word, harsh in words)


def breakable(name: str) -> Markup:
    """Return a name with optional line breaks after its underscores, for narrow columns."""
    return Markup("_<wbr>").join(block(name).split("_"))


def _lane(finding: Finding, scale: Scale | None, *, with_others: bool = True) -> Markup:
    drawn = lane(finding, scale, with_others=with_others) if scale else ""
    return Markup(drawn)  # noqa: S704  (our own SVG)


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
    scales: Mapping[str, Scale],
    used: set[str],
) -> dict[str, Any]:
    """Return the template's variables for one model: scorecard rows, charts, tokens, details."""
    own = [finding for finding in results.findings if finding.model == model.name]
    rows = scorecard.rows(own, anchors, scales)
    common, caveats = scorecard.caveats(own)
    outcome = of_run(own, results.run.gaps).outcome
    mark, words = verdict_box.in_words(outcome, rows)
    prompts = prompts_to_draw(sweep.prompt for sweep in model.sweeps)
    shown = [sweep for sweep in model.sweeps if sweep.prompt in prompts]
    return {
        "about": model,
        "id": scorecard.unused(f"model-{model.name}", used),
        "outcome": outcome,
        "mark": mark,
        "words": words,
        "gates": verdict_box.gates_in_words(rows),
        "rows": rows,
        "by_audit": {row.audit: row for row in rows},
        "outside": sum(row.result == "fail" for row in rows if not row.gates),
        "caveats": common,
        "own_caveats": caveats,
        "simulators": {
            row.audit: training_simulator.simulator(row.findings, f"{row.title}, {model.name}")
            for row in rows
        },
        "pictures": {row.audit: charts.of_findings(row.findings) for row in rows},
        "shown": shown,
        "more": len(model.sweeps) - len(shown),
        "scores": charts.of_sweeps(model.sweeps),
        "scored": line(model.sweeps[0].scored) if model.sweeps else "",
        "tokens": max((sweep.n for sweep in model.sweeps), default=0),
    }
