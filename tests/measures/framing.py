"""Scores under three prompts, and what the measures of framing make of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from rmaudit.measures.framing_inversion import inversion
from rmaudit.measures.framing_steepness import steepness
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract

WORDS = [a + b for a, b in product("abcdefghijklmnop", repeat=2)][:240]


HAPPY = pd.Series(np.random.default_rng(9).uniform(-4, 4, size=240), index=WORDS, name="toy")


X = HAPPY.to_numpy()


SIGNS = {"greatest": 1, "best": 1, "worst": -1}


def asked(scores: Any, noise: float = 0.0) -> dict[str, Answers]:
    """Scores under greatest, best and worst, shape (3, n), as answers."""
    return contract.under(SIGNS, WORDS, map(np.asarray, scores), noise)


def planted(seed: int, frame: float = 1.0, noise: float = 1.0) -> np.ndarray:
    """Scores that follow valence under a positive frame, and against it under the negative."""
    rng = np.random.default_rng(seed)
    return np.stack([X, X, (1 - 2 * frame) * X]) + noise * rng.normal(size=(3, 240))


def rho_of(answers: dict[str, Answers], valence: pd.Series[float] = HAPPY, **more: Any) -> Estimate:
    """The inversion."""
    return inversion(answers, valence, rng=np.random.default_rng(0), **more)


def slopes_of(
    answers: dict[str, Answers], valence: pd.Series[float] = HAPPY, **more: Any
) -> Estimate:
    """The steepness."""
    return steepness(answers, valence, rng=np.random.default_rng(0), **more)
