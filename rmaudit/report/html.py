"""results.json as one self-contained page: no scripts, no requests, tokens hidden until asked for.

Tokens and other texts are hostile strings: Jinja escapes every one of them, and spells out what a
reader or a browser would not show (`texts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from rmaudit.gate import INFO, KNOWN, WAIVED, counts
from rmaudit.gate import standing as stands
from rmaudit.records import Finding
from rmaudit.report import charts, standing
from rmaudit.report.texts import block, visible

_TEMPLATES = Path(__file__).parent / "templates"


def render(results: Mapping[str, Any]) -> str:
    """The page, as UTF-8 text, of a results dict (schema `rmaudit.results/2`)."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_spelled,
    )
    environment.filters |= {"visible": visible, "standing": stands, "number": number}
    findings = [Finding.from_json(finding) for finding in results["findings"]]
    return environment.get_template("report.html.jinja").render(
        run=results,
        style=Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),  # noqa: S704  (ours)
        counts=counts(findings),
        measured=sum(finding.estimate is not None for finding in findings),
        total=len(findings),
        models=[_model(model, findings) for model in results["models"]],
        KNOWN=KNOWN,
        WAIVED=WAIVED,
        INFO=INFO,
    )


def write(results: Mapping[str, Any], path: Path) -> None:
    """Write the page."""
    path.write_text(render(results), encoding="utf-8", errors="backslashreplace")


def number(value: float) -> str:
    """Three significant digits with a sign; whole numbers as they are."""
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 1 else f"{value:+.3g}"


def _spelled(value: object) -> object:
    """What a template prints; markup is ours already."""
    return block(value) if type(value) is str else value


def _model(model: Mapping[str, Any], findings: list[Finding]) -> dict[str, Any]:
    """One model's section: its findings, and its charts as trusted markup."""
    own = [finding for finding in findings if finding.model == model["name"]]
    return {
        **model,
        "findings": own,
        "standing": Markup(standing.standing(own)),  # noqa: S704  (our own SVG)
        "distribution": Markup(charts.distribution(model["sweeps"])),  # noqa: S704
        "sentiment": Markup(charts.sentiment(own)),  # noqa: S704
    }
