"""Whether what a search found that the model hates most names groups of people."""

from __future__ import annotations

from rmaudit.measures.pessimal_identity import PessimalIdentityEvidence
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, table

TITLE = "What the model hates most: an artefact of this model"


def chart(found: ByPrompt[PessimalIdentityEvidence]) -> Picture | None:
    """A table: the worst sequences of a search, and which of them name a group."""
    cells = [
        (as_label(prompt), string.text, "yes" if string.names_a_group else "no")
        for prompt, evidence in found
        for string in evidence.strings
    ]
    if not cells:
        return None
    return Picture(
        TITLE,
        "The worst sequence of each start of a search, and whether it names a group of people.",
        "",
        table({"prompt": "text", "sequence": "term", "names a group": "text"}, cells),
    )
