"""Define a report's picture (markup and table), and make labels that are safe to draw.

Terms (tokens, words, items) are hostile strings, and may be slurs: `term_text` and `quoted_term`
mask them, and `rmaudit.svg` escapes every text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rmaudit import svg
from rmaudit.charts import Panel
from rmaudit.invisible_characters import spelled_out
from rmaudit.references import offensive_text_masks

_LONGEST = 22  # characters of a label


class Picture(NamedTuple):
    """Picture of a report: `svg` is trusted markup; the page must escape all other fields."""

    title: str
    caption: str
    svg: str
    columns: Mapping[str, str]
    """The kind of each column, by column name; cells of kind "term" or "answer" may be masked."""
    rows: tuple[tuple[str, ...], ...]
    """The table's rows: a cell for each column, ready to print except for the masks of terms."""


def as_label(text: str) -> str:
    """Return `text` as a chart label: invisible characters as escapes, cut after 88 characters."""
    shown = text if len(text) <= _LONGEST * 4 else text[: _LONGEST * 4] + "…"
    return spelled_out(shown)


def quoted_term(term: str) -> str:
    """Return a term in quotation marks, cut to 22 characters, and masked if it is harsh."""
    shown = offensive_text_masks.label(term) if offensive_text_masks.masked(term) else term
    return f"“{short_label(shown)}”"


def term_text(x: float, y: float, term: str, *, room: float, anchor: str = "") -> str:
    """Return the SVG of a term that fits into `room` pixels, masked if it is harsh.

    A masked term is drawn as its mask; the term itself is in the attribute `data-term`, and the
    page shows it when a reader asks.
    """
    shown, harsh = seen_term(term, room), offensive_text_masks.masked(term)
    hidden = svg.fitted(short_label(term), room) if harsh else ""
    return svg.text(x, y, shown, anchor=anchor, term=hidden)


def seen_term(term: str, room: float) -> str:
    """Return a term, or its mask if it is harsh, as a label that fits into `room` pixels."""
    harsh = offensive_text_masks.masked(term)
    return svg.fitted(short_label(offensive_text_masks.label(term) if harsh else term), room)


def framed(  # noqa: PLR0913  (keyword-only after the subjects)
    panel: Panel,
    of: str,
    marks: Iterable[str],
    *,
    height: float,
    facts: Sequence[str],
    left: float = 0.0,
    width: float = svg.WIDTH,
    below: Sequence[str] = (),
) -> str:
    """Return the SVG of a panel of the chart called `of`, with title and text alternative.

    `facts` are read out where the panel has none of its own; `below` are further lines beneath the
    title.
    """
    own = [
        f"{fact.before}{', '.join(map(quoted_term, fact.terms))}{fact.after}"
        for fact in panel.facts
    ]
    return svg.chart(
        marks,
        height=height,
        name=", ".join(as_label(part) for part in (of, panel.title, *panel.subtitle) if part),
        facts=own or facts,
        left=left,
        width=width,
        title=as_label(panel.title),
        subtitle=[as_label(each) for each in (*panel.subtitle, *below)],
    )


def short_label(text: str) -> str:
    """Return text as a chart label of at most 22 characters; `(empty)` for blank text."""
    label = as_label(text.strip(" ")) or "(empty)"
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"
