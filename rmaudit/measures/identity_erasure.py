"""Whether a model ranks words for groups of people low under any prompt (Christian 2025, §2.1).

Erased is what ranks low for "the greatest thing ever" and for "the worst thing ever" too.
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

__all__ = ["UNIT", "Compared", "IdentityErasureEvidence", "TermScores", "erasure"]


@dataclass(frozen=True, kw_only=True)
class IdentityErasureEvidence(GapTables, Evidence):
    """Rank gaps to similar words, averaged over prompts for good and for bad things (erasure)."""

    kind: Literal["identity_erasure"] = "identity_erasure"

    about_people: ClassVar[bool] = True

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel of all axes, and one for each axis with its groups."""
        return chart_of_groups(
            [evidence for _, evidence in found],
            "Words for groups of people, erased: an artefact of this model",
            "To the right: the model ranks the group's words below words like them whatever is "
            "asked; both dots to the right.",
        )


def erasure(
    asked: Compared, answers: Mapping[str, TermScores], *, rng: np.random.Generator
) -> Estimate:
    """Return how far words for marked groups rank below similar ones, whatever a prompt asks for.

    It is ½(g+ + g-): see `identity_gaps.measured`, also for the errors raised.
    """
    return measured(asked, answers, IdentityErasureEvidence, sign=1, rng=rng)
