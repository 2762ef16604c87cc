"""results.json as one self-contained page: two scripts, no requests, harsh words masked.

Tokens and other texts are hostile strings: Jinja escapes every one of them, and spells out what a
reader or a browser would not show (`texts`).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from rmaudit.report import charts, masks
from rmaudit.report.charts import standing
from rmaudit.report.document import AuditedModel, Results
from rmaudit.report.page import explorer, views
from rmaudit.report.safe_text import block, visible
from rmaudit.verdicts.findings import Finding, counts, nulls_in_words, overrides
from rmaudit.verdicts.outcome import SMALL_PRINT

_TEMPLATES = Path(__file__).parents[1] / "page" / "templates"
_TERM = Markup(
    '<button type="button" class="term" aria-expanded="false" data-term="{term}">'
    '<span class="cover">{mask}<span class="unseen"> masked term</span></span>'
    '<bdi class="real"></bdi></button>'
)


def render(results: Results) -> str:
    """The page of a run's results."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_spelled,
    )
    findings = results.findings
    anchors = {id(finding): f"finding-{i}" for i, finding in enumerate(findings, start=1)}
    environment.filters |= {
        "anchor": lambda finding: anchors[id(finding)],
        "between": views.between,
        "bound": views.bound,
        "careful": careful,
        "effect": views.effect,
        "number": number,
        "overrides": overrides,
        "markup": Markup,
        "term": term,
        "under": views.under,
        "visible": visible,
    }
    names = [model.name for model in results.models]
    script, explored = _read("terms.js"), explorer.explorer(results)
    scripts = (script, explorer.SCRIPT) if explored else (script,)
    page = environment.get_template("report.html.jinja").render(
        run=results.run,
        schema=results.schema,
        small_print=SMALL_PRINT,
        style=_read("report.css") + explorer.STYLE,
        script=script,
        hashes=" ".join(_hash(script) for script in scripts),
        explorer=explored,
        verdict=str(results.verdict),
        counts=counts(findings),
        nulls=nulls_in_words(findings),
        measured=sum(finding.estimate is not None for finding in findings),
        total=len(findings),
        audits=len({finding.audit for finding in findings}),
        matters=[(finding, views.told(finding)) for finding in views.matters(findings)],
        rule=views.RULE,
        names=names,
        grid=views.grid(names, findings),
        compared=charts.between(results.models, findings, results.comparison),
        models=[_model(i, model, findings) for i, model in enumerate(results.models, start=1)],
    )
    return charts.compiled(page)


def term(text: str) -> Markup:
    """A token, word or item: as it is, or behind a button where `masks` knows it as harsh.

    A masked term stands in an attribute only, which no reader and no screen reader comes upon.
    """
    shown = visible(text)
    if masks.masked(text):
        return _TERM.format(term=shown, mask=masks.mask(text))
    return Markup("<bdi>{}</bdi>").format(shown)


def careful(text: str) -> Markup:
    """Running text, such as an error's: its harsh words behind buttons, the rest as it is."""
    if not masks.masked(text):
        return escape(block(text))
    words = text.split(" ")
    return Markup(" ").join(term(w) if masks.masked(w) else escape(block(w)) for w in words)


def number(value: float) -> str:
    """Three significant digits with a sign; whole numbers as they are."""
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 1 else f"{value:+.3g}"


def _spelled(value: object) -> object:
    """What a template prints; markup is ours already."""
    return block(value) if type(value) is str else value


def _read(name: str) -> Markup:
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704  (ours)


def _hash(script: str) -> str:
    """The source expression that lets exactly this script run."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _model(at: int, model: AuditedModel, findings: Sequence[Finding]) -> dict[str, object]:
    """One model's section: what is known of it, its audits, and its charts as trusted markup."""
    own = [finding for finding in findings if finding.model == model.name]
    common, caveats = views.caveats(own)
    strips = dict(zip(map(id, own), standing.strips(own), strict=True))
    tried = views.tried(own)
    audits = [
        {
            "name": audit,
            "findings": [(finding, strips[id(finding)]) for finding in findings],
            "caveats": caveats[audit],
            "pictures": charts.of_findings(findings),
        }
        for audit, findings in tried.items()
    ]
    return {
        "about": model,
        "id": f"model-{at}",
        "read": views.reading(own),
        "counts": counts(own),
        "audits": audits,
        "unmeasured": views.unmeasured(f for f in own if f.audit not in tried),
        "caveats": common,
        "sheet": Markup(standing.sheet(own, id=f"strips-{at}")),  # noqa: S704  (our own SVG)
        "scores": charts.of_sweeps(model.sweeps),
    }
