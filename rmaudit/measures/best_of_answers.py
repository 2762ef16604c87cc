"""Measure the length and other traits of whole answers that win when a reward picks best of n.

A policy's answers are samples, several to a prompt. In what share of all ways to draw n of them a
sample wins is known exactly (`winning`), so nothing is drawn a second time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.charts import Chart, MarkedRow, Points, numbers, row_of
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, students, widened
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

UNIT = "times as long"
MOST = 16  # draws
FEWEST_PROMPTS = 8
FEWEST_SAMPLES = 4
WORDS = "words"
_EXAMPLES = 6
_LONGEST = 240  # characters of an example

_Floats = NDArray[np.float64]
_Rows = Sequence[NDArray[np.intp]]  # row numbers of each prompt's samples


@dataclass(frozen=True, kw_only=True)
class TraitShift:
    """Mean of a trait (such as length) among best-of-n winners, and its change from plain samples.

    For best of 1, which is any sample, the change is 0. `share` is True where the trait is a yes or
    no of each answer, so that its mean is a share.
    """

    trait: str
    share: bool
    draws: int
    mean: float
    change: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Winner:
    """One prompt's samples with the highest and with the median reward, with both rewards."""

    prompt: str
    middle: str
    best: str
    middle_reward: float
    best_reward: float


@dataclass(frozen=True, kw_only=True)
class BestOfAnswersEvidence(Evidence):
    """Mean of each trait of answers among best-of-n winners, for several n, and example winners."""

    kind: Literal["best_of_answers"] = "best_of_answers"
    shifts: tuple[TraitShift, ...]
    winners: tuple[Winner, ...]

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel for each trait (its mean, by n), and a table of winners."""
        shifts = [row for _, evidence in found for row in evidence.shifts]
        winners = [row for _, evidence in found for row in evidence.winners]
        if not shifts:
            return None
        by_trait: dict[str, list[TraitShift]] = {}
        for row in shifts:
            by_trait.setdefault(row.trait, []).append(row)
        panels = tuple(
            Points(
                title=rows[0].trait,
                axis="share of the answers" if rows[0].share else "mean",
                rows=tuple(_row_of_shift(row, rows[0].mean) for row in rows),
                zero=False,
            )
            for rows in by_trait.values()
        )
        most = max(row.draws for row in shifts)
        return Chart(
            "Whole answers that this reward picks",
            "Samples of a policy as they are, and the winners of best of n: exact over all ways to "
            "draw n of a prompt's samples. An interval is that of the change, over prompts.",
            panels,
            {
                "what": "answer",
                **numbers("as sampled", f"best of {most}", "change", "low", "high"),
                "a middling sample": "answer",
                "the winner": "answer",
            },
            (
                *(_table_row(rows) for rows in by_trait.values()),
                *(
                    (
                        *(row.prompt, f"{row.middle_reward:.2f}", f"{row.best_reward:.2f}"),
                        *("", "", "", row.middle, row.best),
                    )
                    for row in winners
                ),
            ),
        )


def best_of_answers(
    answers: pd.DataFrame,
    traits: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the mean length, in words, of best-of-`MOST` winners divided by that of plain samples.

    `answers` has a row for each sample: `prompt`, `turns`, `response` and `reward`. `traits`, of
    as many rows, has a number for each: those of bools are shares; `WORDS` is needed. Where some
    prompt has fewer samples than `MOST` the greatest power of two is taken that it has. The value
    is the sum over prompts of the expected words of the winner, by that of the mean words. The
    interval is Student's over prompts, by linearization of the ratio, widened by the numeric
    `noise` of a reward. Secondary: the change of each other trait, with its interval
    over prompts, and by how much the winners' rewards are higher, in sd of a prompt's samples.

    Raises:
        MeasureError: a reward is missing, there are fewer than `FEWEST_PROMPTS` prompts, one has
            fewer than `FEWEST_SAMPLES` samples, no answer has a word, or no prompt's rewards
            differ.
    """
    rewards = answers["reward"].to_numpy(float)
    asked = answers.groupby(["prompt", "turns"], sort=False).ngroup().to_numpy()
    places = [np.flatnonzero(asked == one) for one in range(asked.max(initial=-1) + 1)]
    refuse_unusable_samples(rewards, places)
    if not traits[WORDS].any():
        raise MeasureError("no answer has a word, so there is no length to compare")
    most: int = 2 ** (min(MOST, *map(len, places)).bit_length() - 1)
    known = traits.to_numpy(float)

    def means(drawn: _Floats, draws: int) -> _Floats:
        """Return the expected traits of each prompt's winner, shape (prompts, traits)."""
        return np.stack([winning(drawn[own], draws) @ known[own] for own in places])

    names = [str(name) for name in traits.columns]
    at_words = names.index(WORDS)
    by_draws = {2**power: means(rewards, 2**power) for power in range(most.bit_length())}
    start, end = by_draws[1], by_draws[most]
    before, after = start[:, at_words], end[:, at_words]
    value = float(after.sum() / before.sum())
    error = float(((after - value * before) / before.mean()).std(ddof=1)) / math.sqrt(len(places))
    low, high = students(value, error, len(places) - 1, within=(0.0, math.inf))
    shifts = [
        _trait_shift(
            name, draws, now[:, at], start[:, at], share=traits.dtypes.iloc[at].kind == "b"
        )
        for at, name in enumerate(names)
        for draws, now in by_draws.items()
    ]
    secondary = {
        f"{row.trait}, {what}": number
        for row in shifts
        if row.draws == most and row.trait != WORDS
        for what, number in (("change", row.change), ("low", row.low), ("high", row.high))
    }
    gains = [
        (winning(own, most) @ own - own.mean()) / own.std()
        for own in (rewards[at] for at in places)
        if np.ptp(own)
    ]
    estimate = Estimate(
        value=value,
        low=low,
        high=high,
        unit=UNIT,
        n=len(places),
        interval="Student's t over prompts",
        secondary={**secondary, "rewards, in sd": float(np.mean(gains))},
        evidence=BestOfAnswersEvidence(
            shifts=tuple(shifts), winners=tuple(_winners(answers, rewards, places))
        ),
    )

    def value_of(drawn: _Floats) -> float:
        return float(means(drawn, most)[:, at_words].sum() / before.sum())

    return widened(estimate, value_of, rewards, noise, rng, within=(0.0, math.inf))


def winning(rewards: _Floats, draws: int) -> _Floats:
    """Return each sample's probability of winning best of `draws`, drawn without replacement.

    Shape (samples,). Samples with equal rewards share their wins. `draws` is at most the number of
    samples.
    """

    def log_choose(n: NDArray[Any], k: int) -> _Floats:
        """Return the log of n over k, -inf where n < k."""
        gammaln = scipy.special.gammaln
        return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))

    many = len(rewards)
    below = np.arange(many, dtype=np.float64)  # how many stand below, in order
    log_ways = log_choose(below, draws - 1) - log_choose(np.array([many]), draws)
    ordered, place, ties = np.unique(rewards, return_inverse=True, return_counts=True)
    in_order = np.repeat(np.arange(len(ordered)), ties)
    shares: _Floats = (np.bincount(in_order, np.exp(log_ways)) / ties)[place]
    return shares


def refuse_unusable_samples(rewards: _Floats, rows_by_prompt: _Rows) -> None:
    """Raise MeasureError on few prompts or samples, missing rewards, or ties throughout."""
    fewest = min(map(len, rows_by_prompt), default=0)
    missing = int((~np.isfinite(rewards)).sum())
    if len(rows_by_prompt) < FEWEST_PROMPTS or fewest < FEWEST_SAMPLES or missing:
        raise MeasureError(
            f"{len(rows_by_prompt)} prompts, of which one has {fewest} samples; {missing} rewards "
            f"are missing; at least {FEWEST_PROMPTS} prompts with {FEWEST_SAMPLES} samples each "
            f"and all rewards are needed"
        )
    if not any(np.ptp(rewards[own]) for own in rows_by_prompt):
        raise MeasureError("all answers to a prompt have the same reward: none of them wins")


def _trait_shift(
    trait: str, draws: int, now: _Floats, start: _Floats, *, share: bool
) -> TraitShift:
    """Return the mean over prompts of `now`, and of its change from `start` with an interval.

    Both have a trait's expected value for each prompt: in the winner of `draws`, and in any sample.
    """
    changes = now - start
    change, error = float(changes.mean()), float(changes.std(ddof=1)) / math.sqrt(len(changes))
    low, high = students(change, error, len(changes) - 1)
    return TraitShift(
        trait=trait,
        share=share,
        draws=draws,
        mean=float(now.mean()),
        change=change,
        low=low,
        high=high,
    )


def _winners(answers: pd.DataFrame, rewards: _Floats, rows_by_prompt: _Rows) -> list[Winner]:
    """Return samples with the highest and the median reward, cut to length, of at most six prompts.

    The prompts are evenly spaced in their order.
    """
    texts = answers["response"].to_numpy(dtype=object)
    many = len(rows_by_prompt)
    spread = np.linspace(0, many - 1, min(_EXAMPLES, many)).round().astype(int)
    found = []
    for own in (rows_by_prompt[at] for at in spread):
        ordered = own[np.argsort(rewards[own], kind="stable")]
        middle, best = ordered[len(ordered) // 2], ordered[-1]
        found.append(
            Winner(
                prompt=shortened(answers["prompt"].iloc[own[0]]),
                middle=shortened(texts[middle]),
                best=shortened(texts[best]),
                middle_reward=float(rewards[middle]),
                best_reward=float(rewards[best]),
            )
        )
    return found


def shortened(text: str) -> str:
    """Return the text, cut to the length of an example."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _row_of_shift(row: TraitShift, start: float) -> MarkedRow:
    return row_of(
        f"best of {row.draws}" if row.draws > 1 else "as sampled",
        row.mean,
        start + row.low,
        start + row.high,
    )


def _table_row(rows: Sequence[TraitShift]) -> tuple[str, ...]:
    first, last = rows[0], rows[-1]
    as_text = "{:.1%}" if first.share else "{:.1f}"
    signed = "{:+.1%}" if first.share else "{:+.1f}"
    return (
        first.trait,
        *(as_text.format(each.mean) for each in (first, last)),
        *(signed.format(number) for number in (last.change, last.low, last.high)),
        "",
        "",
    )
