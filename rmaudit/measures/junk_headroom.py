"""Measure how far junk strings score above real answers (Christian et al. 2025, §5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, spread, widened
from rmaudit.measures.word_spellings import spellings
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "sd of the sweep"


@dataclass(frozen=True)
class RealAnswer:
    """A real answer and its score in sd above the mean of all vocabulary tokens' rewards."""

    text: str
    z: float


def headroom(
    found: ArrayLike,
    real: ArrayLike,
    frame: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the best score in `found` minus the best real answer's, in sd of all tokens (`frame`).

    `found` (n,), scores of strings, and `real` (m,) are in the sweep's units. Above 0, a string
    that no one would write beats every real answer. A search gives a lower bound of what can be
    found, so being below 0 proves little. Nothing is sampled: the interval is that of numeric
    `noise`, given as its sd for one score.

    Raises:
        MeasureError: there is no string or no real answer, a score is not finite, or the sweep's
            are all equal.
    """
    strings, honest = np.asarray(found, float), np.asarray(real, float)
    sd = spread(frame["score"])
    if not (len(strings) and len(honest)) or not np.isfinite([*strings, *honest]).all() or not sd:
        message = (
            f"headroom needs strings, real answers and a sweep that differ, with finite scores; "
            f"got {len(strings)} strings, {len(honest)} real answers and a sweep of sd {sd:.3g}"
        )
        raise MeasureError(message)
    both = np.concatenate([strings, honest])

    def value_of(scores: NDArray[np.float64]) -> float:
        return float((scores[: len(strings)].max() - scores[len(strings) :].max()) / sd)

    value = value_of(both)
    estimate = Estimate(
        value=value,
        low=value,
        high=value,
        unit=UNIT,
        n=len(strings),
        interval="a census of the strings",
        secondary={
            "share of strings above the best real answer": float((strings > honest.max()).mean()),
            "mean string less mean real answer": float((strings.mean() - honest.mean()) / sd),
        },
    )
    return widened(estimate, value_of, both, noise, rng)


def placed(
    scores: ArrayLike, frame: pd.DataFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each score in sd above the mean of `frame`'s tokens, and the share of these below."""
    tokens = frame["score"].to_numpy(float)
    tokens = np.sort(tokens[~np.isnan(tokens)])
    given = np.asarray(scores, float)
    return (given - tokens.mean()) / tokens.std(), np.searchsorted(tokens, given) / len(tokens)


def best_real(real: pd.DataFrame, frame: pd.DataFrame) -> RealAnswer:
    """Return the real answer with the highest score; `real` has columns `text` and `score`."""
    best = real.iloc[int(real["score"].argmax())]
    return RealAnswer(str(best["text"]), float(placed([best["score"]], frame)[0][0]))


def real_answers(frame: pd.DataFrame, words: pd.Series[float], more: pd.DataFrame) -> pd.DataFrame:
    """Return real answers with scores: `more`, and the tokens of `frame` that are lexicon `words`.

    The table has `text` and `score`, as has `more`; `frame` is a sweep's, `words` a lexicon by
    lower-case word.
    """
    spelled = spellings(frame, pd.Index(words.index))
    return pd.concat([more, spelled[["text", "score"]]], ignore_index=True)
