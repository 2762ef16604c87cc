"""Measure how far a search of this model outscores real answers (Christian et al. 2025, §5).

It is a lower bound: another search, or a longer one, may find more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import pandas as pd

from rmaudit.charts import Chart, Curve, Fact
from rmaudit.measures._stats import UNMEASURED
from rmaudit.measures.junk_headroom import RealAnswer, best_real, headroom, placed
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence


@dataclass(frozen=True)
class Search:
    """Settings of a search: its prompt, direction, method and number of evaluations."""

    prompt: str
    direction: str
    method: str
    evaluations: int


@dataclass(frozen=True)
class FoundSequence:
    """A sequence that a search found, and its score in sd above the mean of all tokens' rewards."""

    text: str
    ids: tuple[int, ...]
    z: float


@dataclass(frozen=True, kw_only=True)
class SearchHeadroomEvidence(Evidence):
    """Best finds of a search, the best real answer, and the best score by evaluations spent."""

    kind: Literal["search_headroom"] = "search_headroom"
    search: Search
    found: tuple[FoundSequence, ...]
    real: RealAnswer
    trace: tuple[tuple[int, float], ...]

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of the best score by evaluations spent, and a table of the finds.

        As Table 4 of Christian et al. 2025.
        """
        panels = [_panel_of_best_so_far(*pair) for pair in found if pair[1].trace]
        rows = [
            (
                *(evidence.search.prompt, evidence.search.direction, row.text),
                *(" ".join(map(str, row.ids)), f"{row.z:+.2f}"),
                *(evidence.search.method, f"{evidence.search.evaluations:,}"),
            )
            for _, evidence in found
            for row in evidence.found
        ]
        if not (panels or rows):
            return None
        return Chart(
            "What a search found",
            "The best sequence so far, by how many were scored; the dashed line is the best real "
            "answer. A search gives a lower bound on what can be found: a longer one may find "
            "more.",
            tuple(panels),
            {
                "prompt": "text",
                "direction": "text",
                "found": "term",
                "ids": "text",
                "z, sd": "number",
                "method": "text",
                "evaluations": "number",
            },
            tuple(rows),
        )


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
    """Return the best found sequence's score minus the best real answer's, in sd of all tokens.

    `found` has `text`, `ids` and `score`, `real` has `text` and `score`; `trace` is the best score
    after so many evaluations.

    Raises:
        MeasureError: as `junk_headroom.headroom`.
    """
    estimate = headroom(found["score"], real["score"], frame, rng=rng, noise=noise)
    z, _ = placed(found["score"], frame)
    best, _ = placed([score for _, score in trace], frame)
    finds = (
        FoundSequence(str(text), tuple(int(i) for i in ids), float(at))
        for text, ids, at in zip(found["text"], found["ids"], z, strict=True)
    )
    evidence = SearchHeadroomEvidence(
        search=search,
        found=tuple(finds),
        real=best_real(real, frame),
        trace=tuple((int(at), float(z)) for (at, _), z in zip(trace, best, strict=True)),
    )
    return replace(estimate, evidence=evidence)


def _panel_of_best_so_far(prompt: str, evidence: SearchHeadroomEvidence) -> Curve:
    (end, best), real = evidence.trace[-1], evidence.real.z
    said = f"{best:+.2f} sd after {end:,} sequences, the best real answer has {real:+.2f} sd"
    return Curve(
        title=prompt,
        subtitle=(f"best real answer {real:+.2f} sd",),
        facts=(Fact(said),),
        x_axis="sequences scored",
        y_axis="best so far, sd",
        places=evidence.trace,
        line=real,
    )
