"""Render the files in `templates/`: Jinja templates, with their filters, scripts and style sheets.

All that a template prints is escaped, and what would not show is spelled out (`safe_text`).
"""

from __future__ import annotations

import base64
import zlib
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from rmaudit.references.offensive_text_masks import label, masked
from rmaudit.report import charts, finding_words, number_format
from rmaudit.report.audit_rows import MARKS, sign_of
from rmaudit.report.charts.finding_strips import Scale, lane
from rmaudit.report.page import glossary
from rmaudit.report.safe_text import addressed, block, visible
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.rounded_numbers import fixed
from rmaudit.verdicts.verdict_wording import overrides

TEMPLATES = Path(__file__).parent / "templates"
_TERM = Markup(
    '<button type="button" class="term" aria-expanded="false" data-term="{term}">'
    '<span class="cover">{mask}<span class="unseen"> masked term</span></span>'
    '<bdi class="real"></bdi></button>'
)


def template(name: str) -> Markup:
    """Return the text of a file in `templates/` as trusted markup."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704  (ours)


def part(name: str, /, **values: object) -> Markup:
    """Render a page, or a part of one, from its template, with `values` filled in and escaped."""
    return Markup(_environment().get_template(name).render(values))  # noqa: S704  (escaped)


@cache
def _environment() -> jinja2.Environment:
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
        "cause": finding_words.cause_in_words,
        "day": number_format.day,
        "careful": masked_text,
        "commands": commands,
        "errors": number_format.standard_errors_in_words,
        "example": finding_words.example_of,
        "excuse": finding_words.excuse_in_words,
        "fixed": fixed,
        "full": finding_words.full,
        "harm": number_format.harm_in_words,
        "interval": number_format.interval,
        "lane": _lane,
        "markup": Markup,
        "measured": finding_words.measured_in_words,
        "must": number_format.bound_in_words,
        "number": number_format.number,
        "onset": finding_words.onset_in_words,
        "packed": lambda html: base64.b64encode(zlib.compress(html.encode(), 9)).decode(),
        "overrides": overrides,
        "parted": breakable,
        "pictures": charts.of_findings,
        "mark": lambda finding: MARKS[sign_of(finding)],
        "sd_explained": glossary.with_sd_explained,
        "short": finding_words.short,
        "sign": sign_of,
        "term": term,
        "value": number_format.value,
        "visible": visible,
        "whole": lambda control: number_format.value_with_interval(
            control.low, control.value, control.high
        ),
    }
    jinja.globals |= {"word": glossary.button, "meaning": glossary.TERMS}
    return jinja


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


def commands(text: str) -> Markup:
    """Return a text of ours as HTML, in which what stands between backticks is code."""
    parts = text.split("`")
    return Markup().join(
        Markup("<code>{}</code>").format(masked_text(part)) if i % 2 else masked_text(part)
        for i, part in enumerate(parts)
    )


def breakable(name: str) -> Markup:
    """Return a name with optional line breaks after its underscores, for narrow columns."""
    return Markup("_<wbr>").join(block(name).split("_"))


def _lane(finding: Finding, scale: Scale, *, with_others: bool = True) -> Markup:
    return Markup(lane(finding, scale, with_others=with_others))  # noqa: S704  (our own SVG)


def _spell_out(value: object) -> object:
    """Write a string's invisible characters as escapes; return other values (markup) as is."""
    return block(value) if type(value) is str else value
