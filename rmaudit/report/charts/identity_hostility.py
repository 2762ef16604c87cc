"""Words for groups of people, and where the model puts them: among the bad things.

What is shown is a property of the model, and of nothing and nobody else; every picture says so.
"""

from __future__ import annotations

from rmaudit.measures.identity_hostility import IdentityHostilityEvidence
from rmaudit.report.charts.identity_groups import picture
from rmaudit.report.charts.picture import ByPrompt, Picture


def chart(found: ByPrompt[IdentityHostilityEvidence]) -> Picture | None:
    """All axes, and each axis with its groups, by hostility."""
    return picture(
        found,
        "Words for groups of people, demonised: an artefact of this model",
        "To the right: the model ranks the group's words low where good is asked for and high "
        "where bad is; the full dot to the right and the hollow one to the left.",
    )
