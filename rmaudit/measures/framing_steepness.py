"""Compare slopes of reward on valence for positive and negative words (Christian 2025, Fig. 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart, Points, row_of, table
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import least_squares, students, widened
from rmaudit.measures.scores_by_prompt import FEWEST, Answers, enough_that_differ, in_frames
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

UNIT = "sd per point of valence"

_Floats = NDArray[np.float64]
_Sides = list[tuple[NDArray[np.intp], _Floats]]


@dataclass(frozen=True)
class Slope:
    """Slope of the reward on valence under one prompt, among "positive" or "negative" words."""

    prompt: str
    words: str
    n: int
    slope: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class FramingSteepnessEvidence(Evidence):
    """Slopes of the reward on valence with 95 % intervals; `axis` names the lexicon."""

    kind: Literal["framing_steepness"] = "framing_steepness"
    axis: str
    slopes: tuple[Slope, ...]

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of the slopes of positive and of negative words under each prompt.

        As Figure 3B and C of Christian et al. 2025.
        """
        given = [evidence for _, evidence in found if evidence.slopes]
        if not given:
            return None
        return Chart(
            "How steeply the reward follows valence",
            "The slope of the reward on valence among positive words and among negative ones, with "
            "its 95 % interval. Asked for good things, a reader tells positive words apart more "
            "finely; asked for bad ones, negative words, and the slopes turn around.",
            tuple(
                Points(
                    title=f"Slopes on {evidence.axis}",
                    axis="sd per point of valence",
                    rows=tuple(
                        row_of(f"{row.prompt}, {row.words}", row.slope, row.low, row.high)
                        for row in evidence.slopes
                    ),
                )
                for evidence in given
            ),
            *table(
                {"prompt": "text", "words": "text", "n": ","}
                | dict.fromkeys(("slope", "low", "high"), "+.3f"),
                (
                    (row.prompt, row.words, row.n, row.slope, row.low, row.high)
                    for evidence in given
                    for row in evidence.slopes
                ),
            ),
        )


def steepness(
    answers: Mapping[str, Answers],
    valence: pd.Series[float],
    *,
    rng: np.random.Generator,
    secondary: Mapping[str, pd.Series[float]] | None = None,
) -> Estimate:
    """Return how much steeper reward is in valence among words a prompt asks for than among others.

    `answers` are by the prompt's name, with a positive and a negative frame at least; `valence` is
    indexed by lower-case text, its neutral point is 0. Under each prompt the reward,
    turned as the frame asks, has a slope on valence among positive words and one among negative
    words. The value is their difference (positive minus negative) under positive frames minus that
    under negative ones. As turning a frame turns its slopes, this is the difference between the
    slopes of the *sum* of the two frames' rewards: two regressions on words of their own, so that
    the same words under several prompts are counted once. The interval is Student's t with the
    heteroscedastic errors HC3, over words, widened by the numeric noise.

    Secondary: both slopes under each prompt, turned; the statistic by further lexicons. Evidence:
    the slopes as they are, with intervals.

    Raises:
        MeasureError: there is no positive or no negative frame, all scores under a prompt are
            equal, or fewer than `FEWEST` words on either side of neutral differ in valence.
    """
    known = valence.index.append([each.index for each in (secondary or {}).values()])
    words, weights = in_frames(answers, known, opposed=False)
    total, rated = words.weighted(weights), words.rated(valence)
    sides = _positive_and_negative(rated)
    if sides is None:
        counts = [int((sign * rated["valence"] > 0).sum()) for sign in (1, -1)]
        message = (
            f"{counts[0]} positive and {counts[1]} negative words are scored under all of "
            f"{', '.join(answers)} and in the lexicon {valence.name!r}; at least {FEWEST} of "
            f"either that differ in valence are needed"
        )
        raise MeasureError(message)
    value, error = _difference_of_slopes(sides, total)
    numbers, slopes = {}, []
    for i, (name, each) in enumerate(answers.items()):
        for side, (places, x) in zip(("positive", "negative"), sides, strict=True):
            slope, own = _slope(x, words.means(i)[places])
            numbers[f"{name}, {side} words"] = each.sign * slope
            slopes.append(Slope(name, side, len(x), slope, *students(slope, own, len(x) - 2)))
    for name, lexicon in (secondary or {}).items():
        if (others := _positive_and_negative(words.rated(lexicon))) is not None:
            numbers[name] = _difference_of_slopes(others, total)[0]
    n = sum(len(x) for _, x in sides)
    estimate = Estimate(
        value,
        *students(value, error, n - 4),
        UNIT,
        n=n,
        interval="Student's t with HC3 errors, over words",
        secondary=numbers,
        evidence=FramingSteepnessEvidence(axis=f"{valence.name} valence", slopes=tuple(slopes)),
    )

    def value_of(drawn: _Floats) -> float:
        return _difference_of_slopes(sides, words.weighted(weights, drawn))[0]

    return widened(estimate, value_of, words.scores, words.noise, rng)


def _positive_and_negative(rated: pd.DataFrame) -> _Sides | None:
    """Return row numbers and valences of positive words, then of negative ones; None if too few."""
    sides = [rated[sign * rated["valence"] > 0] for sign in (1, -1)]
    if not all(map(enough_that_differ, sides)):
        return None
    return [(side["place"].to_numpy(), side["valence"].to_numpy()) for side in sides]


def _difference_of_slopes(sides: _Sides, rewards: _Floats) -> tuple[float, float]:
    """Return the positive words' slope minus the negative words', and its standard error."""
    (up, up_error), (down, down_error) = (_slope(x, rewards[places]) for places, x in sides)
    return up - down, math.hypot(up_error, down_error)


def _slope(x: _Floats, y: _Floats) -> tuple[float, float]:
    """Return the least-squares slope of y on x and its HC3 standard error."""
    fitted, covariance = least_squares(np.column_stack([x - x.mean(), np.ones_like(x)]), y)
    return float(fitted[0]), math.sqrt(covariance[0, 0])
