"""Define a report's picture (markup and table), and make labels that are safe to draw.

Terms (tokens, words, items) are hostile strings, and may be slurs. They never reach the compiler: a
placeholder does, and `with_terms` puts the term in its place, masked if it is harsh.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from rmaudit.invisible_characters import spelled_out
from rmaudit.prompts import PROMPTS
from rmaudit.references import offensive_text_masks
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import Finding

_FIRST = 0xE000  # placeholders: characters for private use, which no label has (see `as_label`)
_PLACEHOLDER = re.compile(r"<text([^>]*)>([\uE000-\uF8FF])n*</text>")
_LONGEST = 22  # characters of a label

_E = TypeVar("_E", bound=Evidence)


class Picture(NamedTuple):
    """Picture of a report: `svg` is trusted markup; the page must escape all other fields."""

    title: str
    caption: str
    svg: str
    columns: Mapping[str, str]
    """The kind of each column, by column name; cells of kind "term" or "answer" may be masked."""
    rows: tuple[tuple[str, ...], ...]
    """The table's rows: a cell for each column, ready to print except for the masks of terms."""


def prompts_to_draw(prompts: Iterable[str]) -> list[str]:
    """Return those of the three standard prompts that are given, or else the first three given.

    The numbers of other prompts, such as 54 wordings, are in the table.
    """
    every = list(dict.fromkeys(prompts))
    return [prompt for prompt in every if prompt in PROMPTS] or every[: len(PROMPTS)]


def with_evidence(findings: Sequence[Finding], kind: type[_E]) -> list[tuple[Finding, _E]]:
    """Return each finding that has evidence of type `kind`, with that evidence."""
    measured = [(finding, finding.estimate.evidence) for finding in findings if finding.estimate]
    return [(finding, each) for finding, each in measured if isinstance(each, kind)]


def as_label(text: str) -> str:
    """Return `text` as a chart label: invisible characters as escapes, cut after 88 characters."""
    shown = text if len(text) <= _LONGEST * 4 else text[: _LONGEST * 4] + "…"
    return spelled_out(shown)


def quoted_term(term: str) -> str:
    """Return a term in quotation marks, cut to 22 characters, and masked if it is harsh."""
    shown = offensive_text_masks.label(term) if offensive_text_masks.masked(term) else term
    return f"“{short_label(shown)}”"


def placeholders(terms: Sequence[str]) -> list[str]:
    """Return a placeholder for each term, about as wide as the term; `with_terms` replaces it."""
    return [chr(_FIRST + i) + "n" * (len(short_label(term)) - 1) for i, term in enumerate(terms)]


def with_terms(svg: str, terms: Sequence[str]) -> str:
    """Return `svg` with each placeholder replaced by its term, which is masked if it is harsh.

    A masked term is drawn as its mask; the term itself is in the attribute `data-term`, and the
    page shows it when a reader asks.
    """
    return _PLACEHOLDER.sub(
        lambda found: _term_markup(found[1], terms[ord(found[2]) - _FIRST]), svg
    )


def _term_markup(attributes: str, term: str) -> str:
    text = html.escape(short_label(term))
    if not offensive_text_masks.masked(term):
        return f"<text{attributes}>{text}</text>"
    mask = html.escape(short_label(offensive_text_masks.label(term)))
    return f'<text{attributes} data-term="{text}">{mask}</text>'


def short_label(text: str) -> str:
    """Return text as a chart label of at most 22 characters; `(empty)` for blank text."""
    label = as_label(text.strip(" ")) or "(empty)"
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"
