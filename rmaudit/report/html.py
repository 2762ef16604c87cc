"""results.json as one self-contained page: no scripts, no requests, tokens hidden until asked for.

Tokens are hostile strings. Jinja escapes every one of them, and `visible` shows what a reader or a
browser would not: control and bidirectional characters, lone surrogates, spaces at the ends.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from rmaudit.gate import INFO, KNOWN, counts
from rmaudit.gate import standing as stands
from rmaudit.records import Finding
from rmaudit.report import pictures, standing

_TEMPLATES = Path(__file__).parent / "templates"
_LONGEST = 40  # characters of a token that are shown
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # categories that draw nothing, or mislead


def render(results: Mapping[str, Any]) -> str:
    """The page, as UTF-8 text, of a results dict (schema `rmaudit.results/1`)."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
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
        between=_trusted(pictures.between(results["models"], findings, results["comparison"])),
        KNOWN=KNOWN,
        INFO=INFO,
    )


def write(results: Mapping[str, Any], path: Path) -> None:
    """Write the page."""
    path.write_text(render(results), encoding="utf-8", errors="backslashreplace")


def visible(text: str, longest: int = _LONGEST) -> str:
    """`text` with everything that would not show, or would not show as it is, spelled out."""
    shown = text[:longest]
    spelled = [_spelled(character) for character in shown]
    for end in (0, -1):
        if spelled and shown[end] == " ":
            spelled[end] = "␣"
    more = f"… ({len(text)} characters)" if len(text) > longest else ""
    return "".join(spelled) + more if text else "(empty)"


def number(value: float) -> str:
    """Three significant digits with a sign; whole numbers as they are."""
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 1 else f"{value:+.3g}"


def _spelled(character: str) -> str:
    if character == " " or unicodedata.category(character) not in _HIDDEN:
        # A space of another width is no plain space.
        odd = unicodedata.category(character) == "Zs" and character != " "
        return ascii(character)[1:-1] if odd else character
    return ascii(character)[1:-1]


def _model(model: Mapping[str, Any], findings: list[Finding]) -> dict[str, Any]:
    """One model's section: its findings, and its charts as trusted markup."""
    own = [finding for finding in findings if finding.model == model["name"]]
    return {
        **model,
        "findings": own,
        "standing": Markup(standing.standing(own)),  # noqa: S704  (our own SVG)
        "pictures": _trusted(pictures.pictures_of(model, own)),
    }


def _trusted(drawn: list[pictures.Picture]) -> list[pictures.Picture]:
    """Pictures whose SVG is markup: it is ours, and terms in it are escaped where it is made."""
    return [picture._replace(svg=Markup(picture.svg)) for picture in drawn]  # noqa: S704
