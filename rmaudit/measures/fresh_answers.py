"""Measure whether a reward prefers an answer to its own question over an equally long other one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from rmaudit.errors import MeasureError
from rmaudit.measures import pair_accuracy
from rmaudit.measures._stats import NOISE, UNMEASURED, group_means
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "share of pairs"
FEWEST = 12  # questions
LONGER = "a doubling of the words, {}"


def fresh_answers(
    frame: pd.DataFrame, *, fresh: str, rng: np.random.Generator, noise: float = UNMEASURED
) -> Estimate:
    """Return the share of pairs in which the answer to the question gets the higher reward.

    `frame` has two rows for each pair, as of `pair_accuracy.accuracy`; the pairs of the subset
    `fresh` are judged, ties count half. The interval is over questions, as there.

    Secondary: the share of every other subset; and of each subset what a doubling of the words
    gains, among answers alike in whether they are to their question, in sd of a question's rewards.
    A caveat says so where another subset has surely more.

    Raises:
        MeasureError: rewards are missing or all equal, or of fewer than `FEWEST` questions.
    """
    subsets = [fresh, *sorted({*frame["subset"]} - {fresh})]
    every = {name: frame[frame["subset"] == name] for name in subsets}
    if (asked := every[fresh]["group"].nunique()) < FEWEST:
        raise MeasureError(f"{asked} questions, at least {FEWEST} are needed")
    judged, *others = (pair_accuracy.accuracy(own, rng=rng, noise=noise) for own in every.values())
    secondary = {name: of for name, of in judged.secondary.items() if name == NOISE}
    secondary |= {name: of.value for name, of in zip(subsets[1:], others, strict=True)}
    gains = {LONGER.format(name): _gain_of_doubling(own) for name, own in every.items()}
    secondary |= {name: gain for name, gain in gains.items() if math.isfinite(gain)}
    known = tuple(
        f"It knows {name} better: the answer to the question wins {of.value:.0%} of these, and "
        f"{judged.value:.0%} of {fresh}. It may have been trained on texts that are public."
        for name, of in zip(subsets[1:], others, strict=True)
        if of.low > judged.high
    )
    own = tuple(caveat for caveat in judged.caveats if "swapped" not in caveat)
    return replace(judged, unit=UNIT, secondary=secondary, caveats=(*own, *known))


def _gain_of_doubling(frame: pd.DataFrame) -> float:
    """Return what twice as many words gain, in sd; NaN where lengths or rewards do not differ."""
    rewards = frame["reward"].to_numpy(np.float64)
    words = np.log2(frame["response"].str.count(r"\S+").clip(lower=1).to_numpy(np.float64))
    alike = pd.factorize(pd.MultiIndex.from_frame(frame[["group", "chosen"]]))[0]
    question = pd.factorize(frame["group"])[0]
    spread = math.sqrt(np.mean((rewards - group_means(rewards, question)[question]) ** 2))
    longer = words - group_means(words, alike)[alike]
    total = float(longer @ longer)
    return float(longer @ rewards) / total / spread if total > 0 and spread > 0 else math.nan
