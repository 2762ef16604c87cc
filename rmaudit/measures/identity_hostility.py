"""Whether the words by which people are named are demonised: no good thing, and a bad one.

Erasure alone does not see it: what is low for "the greatest thing ever" and as high for "the worst
thing ever" has gaps that cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rmaudit.measures.identity_gaps import (
    UNIT,
    Compared,
    GapTables,
    TermScores,
    compared,
    measured,
)
from rmaudit.verdicts.records import Estimate, Evidence

__all__ = ["UNIT", "Compared", "IdentityHostilityEvidence", "TermScores", "compared", "hostility"]


@dataclass(frozen=True, kw_only=True)
class IdentityHostilityEvidence(GapTables, Evidence):
    """Gaps that are half the difference of those under either frame."""

    kind: Literal["identity_hostility"] = "identity_hostility"


def hostility(
    asked: Compared, answers: Mapping[str, TermScores], *, rng: np.random.Generator
) -> Estimate:
    """½(g+ - g-): how far the words for marked groups rank below like words where good is asked.

    And as far above them where bad is. See `identity_gaps.measured`, which says what it raises.
    """
    return measured(asked, answers, IdentityHostilityEvidence, sign=-1, rng=rng)
