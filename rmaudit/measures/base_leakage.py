"""Whether rewards follow what the base language model finds likely, at equal sentiment.

Christian et al. 2025 (§3.3) find that frequent words score higher, part of it whatever their
sentiment, and suspect leakage from pretraining. Here the base's own log-probability in the
answer's place stands for frequency; that comparison is not the paper's.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, normal, widened
from rmaudit.measures.rank_correlation import partial_spearman
from rmaudit.measures.words import word_of
from rmaudit.verdicts.records import Estimate

UNIT = "partial Spearman's rho"
FEWEST = 30  # words
_LEAST = 1e-3  # share of a variable's variance that sentiment must leave
_Array = NDArray[np.float64]


def follows_base(
    frame: pd.DataFrame,
    logprobs: pd.Series[float],
    valence: pd.Series[float],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Rank correlation of reward and base log-probability over words, with valence held fixed.

    `frame` has columns `token_id`, `text` and `score`; `logprobs` is indexed by token id, `valence`
    by lower-case word. Spellings of a word are one word: tokens are ranked (equal values share a
    rank, and take up one), a word has the mean rank of its spellings, and words are ranked by that.
    The partial correlation is that of what a straight line in the ranks of valence leaves of either
    rank, so no unit and no monotone scale matters. 1: at equal valence the reward's order is the
    base's; 0: it has nothing to do with it. Tokens with a NaN in either are left out.

    The interval is the normal one whose variance is that of a U-statistic: what is uncertain is
    which words there are. It is widened by numeric `noise` (the
    sd of that of a token's score, in the scores' units). Secondary: the correlation with
    the square of valence's ranks held fixed too, that with nothing held fixed, and that over
    all scored tokens, words or not.

    Raises:
        MeasureError: fewer than `FEWEST` words have all three, or one of these is all equal, or
            reward or log-probability hardly differ but by valence.
        ValueError: there is noise and no `rng`.
    """
    base = frame["token_id"].map(logprobs)
    kept = frame["score"].notna() & base.notna()
    scores, likely = _array(frame["score"][kept]), _array(base[kept])
    if not (np.isfinite(scores).all() and np.isfinite(likely).all()):
        message = "leakage needs finite scores and log-probabilities; an infinity is neither"
        raise MeasureError(message)
    texts = word_of(frame["text"][kept])
    rated = valence[valence.notna()]
    inside = texts.isin(rated.index).to_numpy()
    places, words = pd.factorize(texts[inside])
    spelt = scores[inside]
    held = _array(rated.loc[words])
    x, y = _of_words(spelt, places), _of_words(likely[inside], places)
    value = _checked(x, y, held, str(valence.name))
    low, high = normal(value, partial_spearman(x, y, held)[1], within=(-1.0, 1.0))
    estimate = Estimate(
        value=value,
        low=low,
        high=high,
        unit=UNIT,
        n=len(words),
        interval="normal, over words (a U-statistic)",
        secondary=_finite(
            {
                "valence and its square held fixed": _partial(x, y, held, powers=2),
                "valence not held fixed": _partial(x, y, held, powers=0),
                "all scored tokens, valence not held fixed": _partial(
                    scores, likely, likely, powers=0
                ),
            }
        ),
    )

    def value_of(drawn: _Array) -> float:
        return _partial(_of_words(drawn, places), y, held)

    return widened(estimate, value_of, spelt, noise, rng, within=(-1.0, 1.0))


def _array(values: ArrayLike) -> _Array:
    return np.asarray(values, dtype=np.float64)


def _of_words(values: _Array, places: NDArray[np.int64]) -> _Array:
    """Shape (n words,): the mean rank of each word's spellings, equal values being one rank."""
    ranks = stats.rankdata(values, method="dense").astype(float)
    return np.bincount(places, ranks) / np.bincount(places)


def _checked(x: _Array, y: _Array, held: _Array, lexicon: str) -> float:
    """The partial correlation, if there is one."""
    distinct = [len(np.unique(values)) for values in (x, y, held)]
    if len(x) < FEWEST or min(distinct) == 1:
        message = (
            f"{len(x)} words are scored, known to the base and in the lexicon {lexicon!r}, with "
            f"{distinct[0]} distinct scores, {distinct[1]} distinct log-probabilities and "
            f"{distinct[2]} distinct ratings; at least {FEWEST} words that differ in all are needed"
        )
        raise MeasureError(message)
    value = _partial(x, y, held)
    if not math.isfinite(value):
        message = (
            "the ranks of scores or of log-probabilities are those of valence: at equal valence "
            "nothing is left to correlate"
        )
        raise MeasureError(message)
    return value


def _partial(x: _Array, y: _Array, held: _Array, *, powers: int = 1) -> float:
    """Correlation of what a polynomial in the ranks of `held` leaves of the ranks of `x` and `y`.

    NaN where it leaves nothing of either.
    """
    both = np.column_stack([stats.rankdata(x), stats.rankdata(y)])
    both -= both.mean(axis=0)
    rank = stats.rankdata(held) / len(held)
    fixed = np.vander(rank - rank.mean(), powers + 1)
    left = both - fixed @ np.linalg.lstsq(fixed, both, rcond=None)[0]
    share = (left**2).sum(axis=0), (both**2).sum(axis=0)
    if (share[0] <= _LEAST * share[1]).any():
        return float("nan")
    return float(np.clip(left[:, 0] @ left[:, 1] / math.sqrt(share[0][0] * share[0][1]), -1, 1))


def _finite(secondary: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in secondary.items() if math.isfinite(value)}
