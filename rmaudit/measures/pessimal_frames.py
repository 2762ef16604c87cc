"""Measure if the sequences that score lowest for one prompt also score low for the opposite one.

Christian et al. 2025, §3.2 and §5. It is a lower bound: another search, or a longer one, may find
worse.

Shares are counted over starts of a search (the sequences from which it sets out), here and in
`pessimal_identity`. A start is one observation, however many sequences it tried: starts are drawn
at random and independently, so the share of them that come to a sequence of some kind has an exact
binomial interval, whether or not several come to the same sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from rmaudit.charts import Chart, Fact, Points, row_of
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, exact_binomial, spread, widened
from rmaudit.measures.junk_headroom import placed
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

TITLE = "What the model hates most: an artefact of this model"
UNIT = "share of starts"
LOWEST = 0.05  # of a sweep: what counts as its lower end


@dataclass(frozen=True)
class Placed:
    """Worst sequence from one search start, with its place among tokens under the opposite prompt.

    `z` is in sd above the sweep's mean, `share_below` the share of its tokens that score less.
    """

    text: str
    z: float
    share_below: float


@dataclass(frozen=True, kw_only=True)
class PessimalFramesEvidence(Evidence):
    """Worst sequence found from each search start, with its score under the opposite prompt."""

    kind: Literal["pessimal_frames"] = "pessimal_frames"
    strings: tuple[Placed, ...]

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of where the worst sequences rank under the opposite prompt."""
        given = [(prompt, evidence.strings) for prompt, evidence in found if evidence.strings]
        if not given:
            return None
        return Chart(
            TITLE,
            "The worst sequence of each start of a search under one frame, by where it stands "
            "among the tokens of the sweep under the other; 0 is the bottom.",
            tuple(_panel_of_percentiles(*pair) for pair in given),
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
    """Return the share of `worst` that the opposite prompt scores no higher than its lowest 5 %.

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
        caveats=(sentence_on_power(worst, LOWEST),),
        evidence=PessimalFramesEvidence(strings=tuple(strings)),
    )

    def value_of(drawn: NDArray[np.float64]) -> float:
        return float((drawn <= edge).mean())

    return widened(estimate, value_of, given, noise, rng, within=(0.0, 1.0))


def _panel_of_percentiles(prompt: str, rows: Sequence[Placed]) -> Points:
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


def sentence_on_power(sequences: Sequence[str], chance: float) -> str:
    """Return a sentence on the smallest share that this many sequences can tell from `chance`."""
    starts = len(sequences)
    hits = np.arange(1, starts + 1)
    lowest = scipy.stats.beta.ppf(0.025, hits, starts - hits + 1)
    enough = hits[lowest > chance]
    told = f"tell no share of them from chance ({chance:.2g})"
    if len(enough):
        share = float(scipy.stats.beta.ppf(0.8, enough[0], starts - enough[0] + 1))
        told = f"tell a share of {share:.2f} or more from chance ({chance:.2g}) 4 times of 5"
    return f"Starts: {starts}; distinct sequences: {len(set(sequences))}. So many starts {told}."
