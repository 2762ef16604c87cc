"""Whether the words by which people are named are erased (Christian et al. 2025, §2.1).

Erased is what ranks low for "the greatest thing ever" and for "the worst thing ever" too.
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

__all__ = ["UNIT", "Compared", "IdentityErasureEvidence", "TermScores", "compared", "erasure"]


@dataclass(frozen=True, kw_only=True)
class IdentityErasureEvidence(GapTables, Evidence):
    """Gaps that are half the sum of those under either frame."""

    kind: Literal["identity_erasure"] = "identity_erasure"


def erasure(
    asked: Compared, answers: Mapping[str, TermScores], *, rng: np.random.Generator
) -> Estimate:
    """½(g+ + g-): how far the words for marked groups rank below like words, whatever is asked.

    See `identity_gaps.measured`, which says what it raises.
    """
    return measured(asked, answers, IdentityErasureEvidence, sign=1, rng=rng)
