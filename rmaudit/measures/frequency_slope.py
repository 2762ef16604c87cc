"""Measure whether frequent words are overvalued (Christian et al. 2025, §3.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.charts import Chart
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import least_squares, widened
from rmaudit.measures.differences_of_estimates import grouped
from rmaudit.measures.framing_inversion import PromptBins, binned, boxes
from rmaudit.measures.scores_by_prompt import Answers, ScoredWords, in_both_lists, normal_scores
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence
from rmaudit.word_stems import stem_key

UNIT = "points of valence per tenfold frequency"
FEWEST = 50  # words: five terms, and CR3 on fewer is a guess
REACH = 10.0  # points: labMT's scale has eight, so no interval says more by going further
UNBOUNDED = (
    "The rewards hardly follow valence as the prompts ask, so that no number of points is ruled "
    f"out: the interval is cut at {REACH:g} points."
)

_Floats = NDArray[np.float64]


class _Ratio(NamedTuple):
    """Ratio of coefficients and its Fieller confidence limits, infinite if there is no interval."""

    value: float
    low: float
    high: float

    def mirrored(self) -> _Ratio:
        """Return the ratio with reversed sign: value and limits of -b / c."""
        return _Ratio(-self.value, -self.high, -self.low)


@dataclass(frozen=True, kw_only=True)
class FrequencySlopeEvidence(Evidence):
    """Rewards in standard deviations by bins of word frequency, adjusted for valence and length."""

    kind: Literal["frequency_slope"] = "frequency_slope"
    axis: str
    panels: tuple[PromptBins, ...]

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel for each prompt: adjusted rewards by bins of word frequency.

        As Figure 3D of Christian et al. 2025.
        """
        return boxes(
            [(evidence.axis, panel) for _, evidence in found for panel in evidence.panels],
            "Reward and frequency",
            "Words by how often people write them (Zipf scale: one more is ten times as often), "
            "their valence and length taken out: median reward of a bin's words, and its "
            "quartiles. Rewards are normal scores of ranks.",
        )


def slope(  # noqa: PLR0913  (keyword-only after the subjects)
    answers: Mapping[str, Answers],
    frequency: pd.Series[float],
    valence: pd.Series[float],
    *,
    rng: np.random.Generator,
    secondary_frequency: Mapping[str, pd.Series[float]] | None = None,
    secondary_valence: Mapping[str, pd.Series[float]] | None = None,
) -> Estimate:
    """Return how many points of valence a tenfold word frequency is worth in reward, without sign.

    `answers` are by the prompt's name; `frequency` (log10, such as Zipf) and `valence` are indexed
    by lower-case word. A word's reward under a prompt goes by ranks only: the mean normal score of
    its spellings (`ScoredWords.rewards`), made normal scores again. Least squares of it on
    frequency, valence, its square (liked and disliked words are both more extreme than neutral
    ones) and the number of letters gives b a decade of frequency and c a point of valence, under
    each prompt. The price of a point is the mean over prompts of c, turned as the frame asks.

    Frequency may count in the same way whatever is asked, or turn round with the frame. So two
    ratios to that price are taken, of the mean of b and of the mean of b turned; the value is how
    far the one that is further from 0 is from it, whichever its sign, and its interval says the
    same of the two ratios' intervals: it is below a bound exactly where both are within it on
    either side, and above one where one of them is beyond it. These are Fieller's (1954), with
    covariances by stem (CR3): what is uncertain is which words there are. Where the price is not
    clearly above 0, Fieller's set is no interval, and the estimate is anything up to `REACH`, with
    a caveat. Numeric noise widens the interval.

    Secondary, with signs: the ratio of the mean of b ("whatever is asked"), of b turned ("as
    asked"), and under each prompt; b and c themselves; the ratio without the control of valence,
    with other lists of frequencies, and with other lexicons. Evidence: rewards under each prompt
    by bins of frequency, valence and length taken out.

    Raises:
        MeasureError: fewer than `FEWEST` words are scored and in both lists, they do not differ,
            or all scores under a prompt are equal.
    """
    fit = _Regression.of(answers, frequency, valence)
    rewards = fit.rewards()
    found = _larger_distance_from_0(_ratios_with_limits(fit, rewards))
    slopes = np.linalg.pinv(fit.terms) @ rewards.T  # (terms, prompts)
    price = float(slopes[1] @ fit.signs) / len(fit.signs)
    numbers = dict(zip(("whatever is asked", "as asked"), _ratios(fit, rewards), strict=True))
    for name, own in zip(answers, slopes[0], strict=True):
        numbers[name] = _clipped_ratio(float(own), price)
    numbers["sd per tenfold frequency"] = float(slopes[0].mean())
    numbers["sd per point of valence"] = price
    numbers["without the control"] = _clipped_ratio(_slope_without_control(fit, rewards), price)
    for name, other in (secondary_frequency or {}).items():
        with suppress(MeasureError):
            theirs = _Regression.of(answers, other, valence)
            numbers[name] = _ratios(theirs, theirs.rewards())[0]
            numbers[f"{name}, without the control"] = _clipped_ratio(
                _slope_without_control(theirs, theirs.rewards()), price
            )
    for name, other in (secondary_valence or {}).items():
        with suppress(MeasureError):
            theirs = _Regression.of(answers, frequency, other)
            numbers[name] = _ratios(theirs, theirs.rewards())[0]
    panels = (
        PromptBins(name, binned(own - fit.terms[:, 1:] @ fitted[1:], fit.frequency))
        for name, own, fitted in zip(answers, rewards, slopes.T, strict=True)
    )
    estimate = Estimate(
        value=found.value,
        low=min(found.low, found.value),
        high=max(min(found.high, REACH), found.value),
        unit=UNIT,
        n=len(fit.ranked.words),
        interval="Fieller's, over stems, with CR3 errors",
        secondary=numbers,
        caveats=() if math.isfinite(found.high) else (UNBOUNDED,),
        evidence=FrequencySlopeEvidence(
            axis=f"Zipf frequency ({frequency.name})", panels=tuple(panels)
        ),
        parts=_grouped_influences(fit, rewards) if math.isfinite(found.high) else (),
    )

    def value_of(drawn: _Floats) -> float:
        return max(map(abs, _ratios(fit, fit.rewards(drawn))))

    scores, noise = fit.ranked.scores, fit.ranked.noise
    return widened(estimate, value_of, scores, noise, rng, within=(0.0, REACH))


@dataclass(frozen=True, slots=True)
class _Regression:
    """Design matrix for words that every prompt scores and that have a frequency and a valence.

    `terms` (words, 5): frequency, valence, letters, each minus its mean, the square of the second,
    and a constant; `signs` are the prompts' frames.
    """

    ranked: ScoredWords
    frequency: _Floats
    terms: _Floats
    signs: _Floats

    @classmethod
    def of(
        cls, answers: Mapping[str, Answers], frequency: pd.Series[float], valence: pd.Series[float]
    ) -> _Regression:
        ranked, table = in_both_lists(answers, frequency, valence, fewest=FEWEST)
        terms = table - table.mean()  # the squares of uncentred columns are all but the columns
        terms["valence squared"] = terms["valence"] ** 2
        terms["constant"] = 1.0
        signs = np.array([each.sign for each in answers.values()], float)
        return cls(ranked, table["frequency"].to_numpy(), terms.to_numpy(float), signs)

    def rewards(self, scores: _Floats | None = None) -> _Floats:
        """Return normal scores of words' rewards, (prompts, words), from these or from `scores`."""
        return np.stack([normal_scores(each) for each in self.ranked.rewards(scores)])


def _ratios(fit: _Regression, rewards: _Floats) -> tuple[float, float]:
    """Return the points of valence that a tenfold frequency is worth, plain and turned by frame.

    The second counts frequency with the sign of the frame: -1 where bad things are asked for.
    """
    solve = np.linalg.pinv(fit.terms)[:2]
    turned = solve @ (fit.signs @ rewards) / len(rewards)
    return (
        _clipped_ratio(float(solve[0] @ rewards.mean(axis=0)), float(turned[1])),
        _clipped_ratio(float(turned[0]), float(turned[1])),
    )


def _slope_without_control(fit: _Regression, rewards: _Floats) -> float:
    """Return the rewards' mean slope on frequency over prompts, without control for anything."""
    x = fit.terms[:, 0]
    return float(rewards.mean(axis=0) @ x / (x @ x))


def _clipped_ratio(slope: float, price: float) -> float:
    """Return slope / |price|, clipped to ± `REACH`; `price` is the slope of reward on valence."""
    if abs(slope) >= REACH * abs(price):
        return math.copysign(REACH, slope)
    return slope / abs(price)


def _grouped_influences(fit: _Regression, rewards: _Floats) -> tuple[float, ...]:
    """Return words' influences on what `slope` measures (delta method), summed by groups of stems.

    From those of two models comes the error of a difference
    (`differences_of_estimates.difference`).
    """
    solve = np.linalg.pinv(fit.terms)
    means = rewards.mean(axis=0), fit.signs @ rewards / len(rewards)
    left = [y - fit.terms @ (solve @ y) for y in means]
    price = float(solve[1] @ means[1])
    found = []
    for y, residual in zip(means, left, strict=True):
        ratio = float(solve[0] @ y) / price
        moved = (solve[0] * residual - ratio * solve[1] * left[1]) / price
        found.append((abs(ratio), math.copysign(1.0, ratio) * moved))
    influences = max(found, key=lambda each: each[0])[1]
    return grouped(influences, map(stem_key, fit.ranked.words))


def _ratios_with_limits(fit: _Regression, rewards: _Floats) -> tuple[_Ratio, _Ratio]:
    """Return both values of `_ratios`, each with Fieller's 95 % confidence limits by stems.

    Two regressions, of the mean reward and of the mean turned one, are fitted as one, so that
    their coefficients have a common covariance.
    """
    n, k = fit.terms.shape
    nothing = np.zeros((n, k))
    design = np.block([[fit.terms, nothing], [nothing, fit.terms]])
    y = np.concatenate([rewards.mean(axis=0), fit.signs @ rewards / len(rewards)])
    stems = np.tile(fit.ranked.stems, 2)
    fitted, covariance = least_squares(design, y, stems)
    t = float(scipy.stats.t.ppf(0.975, len(np.unique(stems)) - k))
    first, second = (
        _ratio_with_fieller_limits(fitted, covariance, (place, k + 1), t) for place in (0, k)
    )
    return first, second


def _ratio_with_fieller_limits(
    fitted: _Floats, covariance: _Floats, indices: tuple[int, int], t: float
) -> _Ratio:
    """Return the ratio of two of the coefficients `fitted`, with Fieller's limits at `t` errors.

    `indices` are those of numerator and denominator. Limits are infinite where the latter is not
    clearly above 0.
    """
    (b, c), v = fitted[[*indices]], t**2 * covariance[np.ix_(indices, indices)]
    value, sure = _clipped_ratio(float(b), float(c)), c**2 - v[1, 1]
    if c <= 0 or sure <= 0:
        return _Ratio(value, -math.inf, math.inf)
    middle = b * c - v[0, 1]
    root = math.sqrt(max(middle**2 - sure * (b**2 - v[0, 0]), 0.0))
    return _Ratio(value, float((middle - root) / sure), float((middle + root) / sure))


def _larger_distance_from_0(ratios: tuple[_Ratio, ...]) -> _Ratio:
    """Return the ratio furthest from 0, without its sign, and an interval for that distance."""
    outward = [each if each.value >= 0 else each.mirrored() for each in ratios]
    value, low = (max(column) for column in list(zip(*outward, strict=True))[:2])
    return _Ratio(value, max(low, 0.0), max(max(each.high, -each.low) for each in outward))
