"""How far a search of the model itself gets above real answers (Christian et al. 2025, §5).

It is a lower bound: another search, or a longer one, may find more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from rmaudit.measures._stats import UNMEASURED
from rmaudit.measures.headroom import UNIT, RealAnswer, best_real, headroom, placed
from rmaudit.verdicts.records import Estimate, Evidence

__all__ = ["UNIT", "Found", "Search", "SearchHeadroomEvidence", "searched"]


@dataclass(frozen=True)
class Search:
    """What was searched: under which prompt, upwards or downwards, how, and how long."""

    prompt: str
    direction: str
    method: str
    evaluations: int


@dataclass(frozen=True)
class Found:
    """A sequence that a search found, and how many sd above the sweep's mean it scores."""

    text: str
    ids: tuple[int, ...]
    z: float


@dataclass(frozen=True, kw_only=True)
class SearchHeadroomEvidence(Evidence):
    """The best finds, the best real answer, and the best `z` after so many evaluations."""

    kind: Literal["search_headroom"] = "search_headroom"
    search: Search
    found: tuple[Found, ...]
    real: RealAnswer
    trace: tuple[tuple[int, float], ...]


def searched(  # noqa: PLR0913  (keyword-only after the subjects)
    found: pd.DataFrame,
    real: pd.DataFrame,
    frame: pd.DataFrame,
    *,
    search: Search,
    trace: Sequence[tuple[int, float]],
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """The best sequence of a search less the best real answer, in sd of the sweep `frame`.

    `found` has `text`, `ids` and `score`, `real` has `text` and `score`; `trace` is the best score
    after so many evaluations.

    Raises:
        MeasureError: as `headroom.headroom`.
    """
    estimate = headroom(found["score"], real["score"], frame, rng=rng, noise=noise)
    z, _ = placed(found["score"], frame)
    best, _ = placed([score for _, score in trace], frame)
    finds = (
        Found(str(text), tuple(int(i) for i in ids), float(at))
        for text, ids, at in zip(found["text"], found["ids"], z, strict=True)
    )
    evidence = SearchHeadroomEvidence(
        search=search,
        found=tuple(finds),
        real=best_real(real, frame),
        trace=tuple((int(at), float(z)) for (at, _), z in zip(trace, best, strict=True)),
    )
    return replace(estimate, evidence=evidence)
