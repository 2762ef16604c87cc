"""Compute which of a policy's answers, several to a prompt, a reward picks as the best of n.

In what share of all ways to draw n of a prompt's samples a sample wins is known exactly
(`winning`), so nothing is drawn a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError

MOST = 16  # draws
FEWEST_PROMPTS = 8
FEWEST_SAMPLES = 4
_LONGEST = 240  # characters of an example

_Floats = NDArray[np.float64]


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


def shortened(text: str) -> str:
    """Return the text, cut to the length of an example."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
