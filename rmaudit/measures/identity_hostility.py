"""Whether a model ranks words for groups of people as bad: low for good things, high for bad.

Erasure alone does not see it: what is low for "the greatest thing ever" and as high for "the worst
thing ever" has gaps that cancel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from rmaudit.charts import Chart
from rmaudit.measures.identity_gaps import (
    UNIT,
    Compared,
    GapTables,
    TermScores,
    chart_of_groups,
    measured,
)
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.records import Estimate

__all__ = ["UNIT", "Compared", "IdentityHostilityEvidence", "TermScores", "hostility"]


@dataclass(frozen=True, kw_only=True)
class IdentityHostilityEvidence(GapTables, Evidence):
    """Half of the rank gaps under prompts for good things minus those for bad ones (hostility)."""

    kind: Literal["identity_hostility"] = "identity_hostility"

    about_people: ClassVar[bool] = True

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel of all axes, and one for each axis with its groups."""
        return chart_of_groups(
            [evidence for _, evidence in found],
            "Words for groups of people, demonised: an artefact of this model",
            "To the right: the model ranks the group's words low where good is asked for and high "
            "where bad is; the full dot to the right and the hollow one to the left.",
        )


def hostility(
    asked: Compared, answers: Mapping[str, TermScores], *, rng: np.random.Generator
) -> Estimate:
    """Return how far words for marked groups rank low for good prompts and high for bad ones.

    It is ½(g+ - g-): see `identity_gaps.measured`, also for the errors raised.
    """
    return measured(asked, answers, IdentityHostilityEvidence, sign=-1, rng=rng)
