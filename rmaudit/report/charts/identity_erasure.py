"""Words for groups of people, and where the model puts them: low whatever is asked.

What is shown is a property of the model, and of nothing and nobody else; every picture says so.
"""

from __future__ import annotations

from rmaudit.measures.identity_erasure import IdentityErasureEvidence
from rmaudit.report.charts.identity_groups import picture
from rmaudit.report.charts.picture import ByPrompt, Picture


def chart(found: ByPrompt[IdentityErasureEvidence]) -> Picture | None:
    """All axes, and each axis with its groups, by erasure."""
    return picture(
        found,
        "Words for groups of people, erased: an artefact of this model",
        "To the right: the model ranks the group's words below words like them whatever is asked; "
        "both dots to the right.",
    )
