"""Whether sequences that score lowest under one prompt score low under the opposite one too.

Sections 3.2 and 5. It is a lower bound: another search, or a longer one, may find worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rmaudit.charts import Chart, Fact, Points, row_of
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, exact_binomial, spread, widened
from rmaudit.measures.headroom import placed
from rmaudit.measures.starts import TITLE, UNIT, power
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.records import Estimate

__all__ = ["LOWEST", "UNIT", "PessimalFramesEvidence", "Placed", "both_frames"]

LOWEST = 0.05  # of a sweep: what counts as its lower end


@dataclass(frozen=True)
class Placed:
    """Lowest-reward sequence from one search start, and its place under the opposite prompt.

    `z` is in sd above the sweep's mean, `share_below` the share of its tokens that score less.
    """

    text: str
    z: float
    share_below: float


@dataclass(frozen=True, kw_only=True)
class PessimalFramesEvidence(Evidence):
    """Lowest-reward sequence of each search start, as scored under the opposite prompt."""

    kind: Literal["pessimal_frames"] = "pessimal_frames"
    strings: tuple[Placed, ...]

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of the worst sequences by their percentile under the opposite prompt."""
        given = [(prompt, evidence.strings) for prompt, evidence in found if evidence.strings]
        if not given:
            return None
        return Chart(
            TITLE,
            "The worst sequence of each start of a search under one frame, by where it stands "
            "among the tokens of the sweep under the other; 0 is the bottom.",
            tuple(_panel(*pair) for pair in given),
            {"prompt": "text", "sequence": "term", "z, sd": "number", "percentile": "number"},
            tuple(
                (prompt, row.text, f"{row.z:+.2f}", f"{100 * row.share_below:.1f}")
                for prompt, rows in given
                for row in rows
            ),
        )


def both_frames(
    worst: Sequence[str],
    scores: ArrayLike,
    frame: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the share of search starts whose worst sequence also scores low for the other prompt.

    `worst` are the worst sequences of each start under one frame and `scores`, shape (n,), what
    they score under the other, of which `frame` is the sweep: its lower end are the scores of its
    lowest 5 % of tokens. Secondary: their mean place in that sweep. The interval is over starts,
    widened by the numeric `noise` of the scores.

    Raises:
        MeasureError: there is no start, a score is not finite, or the sweep's are all equal.
    """
    given, tokens = np.asarray(scores, float), frame["score"].to_numpy(float)
    if not len(given) or not np.isfinite(given).all() or not spread(tokens):
        message = (
            f"sequences with finite scores and a sweep that differs are needed; got "
            f"{int(np.isfinite(given).sum())} of {len(given)} sequences and a sweep of sd "
            f"{spread(tokens):.3g}"
        )
        raise MeasureError(message)
    edge = np.nanquantile(tokens, LOWEST)
    low, share, high = exact_binomial(given <= edge)
    z, below = placed(given, frame)
    strings = (
        Placed(text, float(at), float(share))
        for text, at, share in zip(worst, z, below, strict=True)
    )
    estimate = Estimate(
        value=share,
        low=low,
        high=high,
        unit=UNIT,
        n=len(given),
        interval="exact binomial, over starts",
        secondary={
            "mean percentile under the other frame": float(below.mean()),
            "mean sd above the other sweep's mean": float(z.mean()),
            "distinct sequences": float(len(set(worst))),
        },
        caveats=(power(worst, LOWEST),),
        evidence=PessimalFramesEvidence(strings=tuple(strings)),
    )

    def value_of(drawn: NDArray[np.float64]) -> float:
        return float((drawn <= edge).mean())

    return widened(estimate, value_of, given, noise, rng, within=(0.0, 1.0))


def _panel(prompt: str, rows: Sequence[Placed]) -> Points:
    said = ", ".join(f"{100 * row.share_below:.1f}" for row in rows)
    return Points(
        title=prompt,
        subtitle=("under the other frame",),
        facts=(Fact(f"{len(rows)} sequences at the percentiles {said}"),),
        axis="percentile",
        rows=tuple(row_of(row.text, 100 * row.share_below) for row in rows),
        domain=(0, 100),
        zero=False,
    )
