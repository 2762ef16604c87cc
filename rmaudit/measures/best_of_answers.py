"""Measure the length and other traits of whole answers that win when a reward picks best of n.

A policy's answers are samples, several to a prompt. In what share of all ways to draw n of them a
sample wins is known exactly (`winning`), so nothing is drawn a second time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, students, widened
from rmaudit.measures.best_of_answers_evidence import BestOfAnswersEvidence, TraitShift, Winner
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "times as long"
MOST = 16  # draws
FEWEST_PROMPTS = 8
FEWEST_SAMPLES = 4
WORDS = "words"
_EXAMPLES = 6
_LONGEST = 240  # characters of an example

_Floats = NDArray[np.float64]


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
    samples = PromptSamples.of(answers)
    rewards, places, most = samples.rewards, samples.rows, samples.draws
    if not traits[WORDS].any():
        raise MeasureError("no answer has a word, so there is no length to compare")
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
            shifts=tuple(shifts), winners=tuple(_winners(answers, samples))
        ),
    )

    def value_of(drawn: _Floats) -> float:
        return float(means(drawn, most)[:, at_words].sum() / before.sum())

    return widened(estimate, value_of, rewards, noise, rng, within=(0.0, math.inf))


class PromptSamples(NamedTuple):
    """A policy's answers: rewards (n,), the number of the prompt (n,), and each prompt's rows."""

    rewards: _Floats
    prompts: NDArray[np.intp]
    rows: Sequence[NDArray[np.intp]]

    @classmethod
    def of(cls, answers: pd.DataFrame) -> PromptSamples:
        """Return the samples of a table with the columns `prompt`, `turns` and `reward`.

        Raises:
            MeasureError: there are few prompts, or few samples of one, a reward is missing, or no
                prompt's rewards differ.
        """
        rewards = answers["reward"].to_numpy(float)
        asked = answers.groupby(["prompt", "turns"], sort=False).ngroup()
        prompts = np.asarray(asked, dtype=np.intp)
        rows = [np.flatnonzero(prompts == one) for one in range(prompts.max(initial=-1) + 1)]
        fewest, missing = min(map(len, rows), default=0), int((~np.isfinite(rewards)).sum())
        if len(rows) < FEWEST_PROMPTS or fewest < FEWEST_SAMPLES or missing:
            raise MeasureError(
                f"{len(rows)} prompts, of which one has {fewest} samples; {missing} rewards are "
                f"missing; at least {FEWEST_PROMPTS} prompts with {FEWEST_SAMPLES} samples each "
                f"and all rewards are needed"
            )
        if not any(np.ptp(rewards[own]) for own in rows):
            raise MeasureError("all answers to a prompt have the same reward: none of them wins")
        return cls(rewards, prompts, rows)

    @property
    def draws(self) -> int:
        """Return the greatest power of two, up to `MOST`, of which each prompt has samples."""
        fewest: int = min(MOST, *map(len, self.rows))
        return 1 << fewest.bit_length() - 1


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


def _winners(answers: pd.DataFrame, samples: PromptSamples) -> Iterator[Winner]:
    """Yield samples with the highest and the median reward, cut to length, of at most six prompts.

    The prompts are evenly spaced in their order.
    """
    texts, rewards, rows = answers["response"], samples.rewards, samples.rows
    spread = np.linspace(0, len(rows) - 1, min(_EXAMPLES, len(rows))).round().astype(int)
    for own in (rows[at] for at in spread):
        ordered = own[np.argsort(rewards[own], kind="stable")]
        middle, best = ordered[len(ordered) // 2], ordered[-1]
        yield Winner(
            prompt=shortened(answers["prompt"].iloc[own[0]]),
            middle=shortened(texts.iloc[middle]),
            best=shortened(texts.iloc[best]),
            middle_reward=float(rewards[middle]),
            best_reward=float(rewards[best]),
        )


def shortened(text: str) -> str:
    """Return the text, cut to the length of an example."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
