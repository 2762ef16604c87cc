"""Items by models, or by prompts: each rank in a cell, the darker the better."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from rmaudit.references import masks
from rmaudit.report.charts.picture import as_label, cut
from rmaudit.report.safe_text import line

_FAINTEST, _DENSEST = 0.0, 0.55  # opacities of a cell: text on it keeps its contrast


def heat(
    items: Mapping[str, Sequence[float]], *, stops: Sequence[str], title: str, of: float
) -> str:
    """A table, shaded: a row for each item, a column for each stop; rank 1 of `of` is the darkest.

    Rows are in the order of their mean rank. Returns "" where there is no item, or one stop.
    """
    if not items or len(stops) < 2:  # noqa: PLR2004  (nothing to compare)
        return ""
    ordered = sorted(items, key=lambda name: (sum(items[name]), name))
    heads = "".join(f'<th scope="col" class="n">{_text(stop)}</th>' for stop in stops)
    rows = "".join(
        f'<tr><th scope="row">{_term(name)}</th>{"".join(_cell(r, of) for r in items[name])}</tr>'
        for name in ordered
    )
    label = _text(title)
    return (
        f'<div class="scroll heat" tabindex="0" role="group" aria-label="{label}">'
        f"<table><caption>{label}: rank 1 of {of:,.0f} is the best</caption>"
        f'<thead><tr><th scope="col">item</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(rank: float, of: float) -> str:
    share = 1 - (rank - 1) / (of - 1) if of > 1 else 1.0
    shade = _FAINTEST + (_DENSEST - _FAINTEST) * min(max(share, 0.0), 1.0)
    return f'<td style="--share:{100 * shade:.0f}%">{rank:,.0f}</td>'


def _text(text: str) -> str:
    return html.escape(line(as_label(text)))


def _term(term: str) -> str:
    """A term that may be masked, as labels of charts are: the page's switch shows it."""
    if not masks.masked(term):
        return html.escape(cut(term))
    return (
        f'<span data-term="{html.escape(cut(term))}">{html.escape(cut(masks.label(term)))}</span>'
    )
