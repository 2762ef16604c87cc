"""Whether reward follows sentiment as the prompt's frame asks (Christian et al. 2025, §3).

Under a positive frame ("the greatest thing ever") happier words should score higher, under a
negative one ("the worst thing ever") sadder words should.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.noise import widened
from rmaudit.measures.words import whole_words, word_of
from rmaudit.records import Estimate

UNIT = "Spearman's rho"
FEWEST = 30  # words
_REPEATS = 500
_BINS = 9


def follows_frame(  # noqa: PLR0913  (keyword-only after the subjects)
    frame: pd.DataFrame,
    valence: pd.Series[float],
    *,
    sign: int,
    rng: np.random.Generator,
    beside: Mapping[str, pd.Series[float]] | None = None,
    noise: float = 0.0,
) -> Estimate:
    """Rank correlation of score and valence over words, times the frame's sign.

    `frame` has columns `text` and `score`; `valence` is indexed by lower-case word; `sign` is +1
    for a positive frame and -1 for a negative one. A word's score is the mean over its spellings.
    The interval is the 2.5 % to 97.5 % range over resampled words, widened by numeric `noise` (the
    sd of that of a token's score, in the scores' units). `beside` names further lexicons whose
    correlation is shown next to it.

    Raises:
        MeasureError: fewer than `FEWEST` words are both scored and rated, or all scores are equal.
    """
    words = whole_words(frame)
    both = _shared(words, valence)
    scores, ratings = _arrays(both)
    rho = _rho(scores, ratings)
    resampled = []
    for _ in range(_REPEATS):
        pick = rng.integers(len(scores), size=len(scores))
        resampled.append(_rho(scores[pick], ratings[pick]))
    low, high = sorted(sign * np.quantile(resampled, [0.025, 0.975]))
    if not np.isfinite(resampled).all():
        message = "the correlation hangs on a few words: without them all scores are equal"
        raise MeasureError(message)
    value = sign * rho
    estimate = Estimate(
        value=value,
        low=min(float(low), value),
        high=max(float(high), value),
        unit=UNIT,
        n=len(scores),
        interval=f"{_REPEATS} resamples of words",
        beside=_beside(words, beside or {}, sign),
        evidence=_bins(scores, ratings, frame["score"], str(valence.name)),
    )
    if not noise:
        return estimate
    tokens, means = _spellings(frame, both.index)

    def value_of(drawn: NDArray[np.float64]) -> float:
        return sign * _rho(means(drawn), ratings)

    return widened(estimate, value_of, tokens, noise, rng, within=(-1.0, 1.0))


def _spellings(
    frame: pd.DataFrame, words: pd.Index[str]
) -> tuple[NDArray[np.float64], Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
    """The scores of all spellings of the words, and what makes such into scores of the words."""
    kept = frame[frame["score"].notna()]
    places = words.get_indexer(pd.Index(word_of(kept["text"])))
    scores, places = kept["score"].to_numpy(float)[places >= 0], places[places >= 0]
    counts = np.bincount(places, minlength=len(words))
    return scores, lambda drawn: np.bincount(places, drawn, minlength=len(words)) / counts


def _beside(
    words: pd.Series[float], lexicons: Mapping[str, pd.Series[float]], sign: int
) -> dict[str, float]:
    """The correlation by further lexicons, without those that have too few of the words."""
    out = {}
    for name, lexicon in lexicons.items():
        with suppress(MeasureError):
            out[name] = sign * _rho(*_arrays(_shared(words, lexicon)))
    return out


def _shared(words: pd.Series[float], valence: pd.Series[float]) -> pd.DataFrame:
    """Columns `score` and `valence` of the words that have both."""
    both = pd.concat([words.rename("score"), valence.rename("valence")], axis=1, join="inner")
    distinct = both["score"].nunique(), both["valence"].nunique()
    if len(both) < FEWEST or min(distinct) == 1:
        message = (
            f"{len(both)} words are both scored and in the lexicon {valence.name!r}, with "
            f"{distinct[0]} distinct scores and {distinct[1]} distinct ratings; at least "
            f"{FEWEST} words that differ in both are needed"
        )
        raise MeasureError(message)
    return both


def _arrays(both: pd.DataFrame) -> tuple[Any, Any]:
    return both["score"].to_numpy(float), both["valence"].to_numpy(float)


def _rho(scores: Any, ratings: Any) -> float:  # noqa: ANN401  (numpy arrays)
    """Spearman's rho of two arrays; NaN where either is constant."""
    if not (np.ptp(scores) and np.ptp(ratings)):
        return float("nan")
    return float(np.corrcoef(stats.rankdata(scores), stats.rankdata(ratings))[0, 1])


def _bins(scores: Any, ratings: Any, every: pd.Series[float], lexicon: str) -> dict[str, Any]:  # noqa: ANN401
    """Median and quartiles of the reward, in sd of the sweep, per bin of valence."""
    z = (scores - every.mean()) / every.std(ddof=0)
    edges = np.linspace(ratings.min(), ratings.max(), _BINS + 1)
    place = np.clip(np.digitize(ratings, edges) - 1, 0, _BINS - 1)
    bins = []
    for i in range(_BINS):
        inside = z[place == i]
        if len(inside):
            q25, median, q75 = np.quantile(inside, [0.25, 0.5, 0.75])
            bins.append(
                {
                    "low": float(edges[i]),
                    "high": float(edges[i + 1]),
                    "n": len(inside),
                    "median": float(median),
                    "q25": float(q25),
                    "q75": float(q75),
                }
            )
    return {"kind": "sentiment", "lexicon": lexicon, "axis": f"{lexicon} valence", "bins": bins}
