"""Draw a table of ranks, terms by models or by prompts: a darker cell is a better rank.

This is a table of the page and no picture: its cells are words and numbers that a reader may copy,
and it scrolls where it is wider than a phone.
"""

from __future__ import annotations

import html

from rmaudit.charts import RankTable
from rmaudit.references import masks
from rmaudit.report.charts.picture import as_label, cut
from rmaudit.report.safe_text import line

_FAINTEST, _DENSEST = 0.0, 0.55  # opacities of a cell: text on it keeps its contrast


def heat(panel: RankTable) -> str:
    """Return the table as HTML, its rows sorted by mean rank."""
    heads = "".join(f'<th scope="col" class="n">{_text(name)}</th>' for name in panel.by)
    rows = "".join(
        f'<tr><th scope="row">{_term(row.name)}</th>'
        f"{''.join(_cell(rank, panel.of) for rank in row.ranks)}</tr>"
        for row in sorted(panel.rows, key=lambda row: (sum(row.ranks), row.name))
    )
    label = _text(panel.title)
    return (
        f'<div class="scroll heat" tabindex="0" role="group" aria-label="{label}">'
        f"<table><caption>{label}: rank 1 of {panel.of:,.0f} is the best</caption>"
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
    """Return a term as a table label; a masked term appears when the reader unmasks all terms."""
    if not masks.masked(term):
        return html.escape(cut(term))
    return (
        f'<span data-term="{html.escape(cut(term))}">{html.escape(cut(masks.label(term)))}</span>'
    )
