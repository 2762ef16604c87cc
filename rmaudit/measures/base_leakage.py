"""Measure if rewards follow the base model's log-probability at equal sentiment and frequency.

Christian et al. 2025 (§3.3) find that frequent words score higher, part of it whatever their
sentiment, and suspect leakage from pretraining. Here frequency is held fixed, and the rewards are
compared with the base's own log-probability of the answer; that comparison is not the paper's.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, group_means, normal, widened
from rmaudit.measures.rank_correlation import partial_spearman
from rmaudit.measures.word_spellings import word_of
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.word_stems import stem_codes

UNIT = "partial Spearman's rho"
FEWEST = 30  # words
_LEAST_LEFT = 1e-3  # share of the variance of ranks that what is held fixed must leave
_REDUNDANT = 1e-2  # singular value: a variable that is made of the others
_Array = NDArray[np.float64]


def follows_base(  # noqa: PLR0913  (keyword-only after the subjects)
    frame: pd.DataFrame,
    logprobs: pd.Series[float],
    valence: pd.Series[float],
    zipf: pd.Series[float],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return reward's rank correlation with base log-probability at equal valence, Zipf and length.

    `frame` has columns `token_id`, `text` and `score`; `logprobs` is indexed by token id, `valence`
    and `zipf` (frequency) by lower-case word. Spellings of a word are one word: tokens are ranked
    (equal values share a rank, and take up one), a word has the mean rank of its spellings, and
    words are ranked by that. The partial correlation is that of what the ranks of valence, of Zipf
    and of the number of letters leave of either rank, and their distance from the middle rank, for
    what bends. So no unit and no monotone scale of reward or log-probability matters.
    1: at equal valence, frequency and length the reward's order is the base's; 0: it has nothing to
    do with it. Tokens with a NaN in either are left out.

    The interval is the normal one whose variance is that of a U-statistic over stems: what is
    uncertain is which words there are, forms of one together. It is widened by numeric `noise` (its
    sd for a token's score, in the scores' units). Secondary: the correlation with only
    valence held fixed, that with nothing held fixed, and that over all scored tokens, words or not.

    Raises:
        MeasureError: fewer than `FEWEST` words or stems have all four, or reward, log-probability
            or valence is all equal, or reward or log-probability hardly differ but by what is held
            fixed.
        ValueError: there is noise and no `rng`.
    """
    base = frame["token_id"].map(logprobs)
    kept = frame["score"].notna() & base.notna()
    scores, likely = _array(frame["score"][kept]), _array(base[kept])
    if not (np.isfinite(scores).all() and np.isfinite(likely).all()):
        message = "leakage needs finite scores and log-probabilities; an infinity is neither"
        raise MeasureError(message)
    texts = word_of(frame["text"][kept])
    known = pd.concat([valence.rename("valence"), zipf.rename("zipf")], axis=1).dropna()
    inside = texts.isin(known.index).to_numpy()
    places, words = pd.factorize(texts[inside])
    spelt, rated = scores[inside], known.loc[words]
    x, y = _mean_ranks_of_words(spelt, places), _mean_ranks_of_words(likely[inside], places)
    stems = stem_codes(words)
    _refuse_too_few_words(x, y, _array(rated["valence"]), stems, str(valence.name))
    held = _control_variables([*_array(rated).T, _array([len(word) for word in words])])
    value = _partial_correlation(x, y, held)
    if not math.isfinite(value):
        message = (
            "the ranks of scores or of log-probabilities are those of valence, frequency or "
            "length: where these are equal nothing is left to correlate"
        )
        raise MeasureError(message)
    secondary = {
        "only valence held fixed": _partial_correlation(x, y, _array(rated[["valence"]])),
        "nothing held fixed": _rho(x, y),
        "all scored tokens, nothing held fixed": _rho(scores, likely),
        "stems": float(len(np.unique(stems))),
    }
    error = partial_spearman(x, y, held, stems)[1]
    estimate = Estimate(
        value,
        *normal(value, error, within=(-1.0, 1.0)),
        UNIT,
        n=len(words),
        interval="normal, over words by stem (a U-statistic)",
        secondary={name: number for name, number in secondary.items() if math.isfinite(number)},
    )

    def value_of(drawn: _Array) -> float:
        return _partial_correlation(_mean_ranks_of_words(drawn, places), y, held)

    return widened(estimate, value_of, spelt, noise, rng, within=(-1.0, 1.0))


def _array(values: ArrayLike) -> _Array:
    return np.asarray(values, dtype=np.float64)


def _mean_ranks_of_words(values: _Array, word_numbers: NDArray[np.int64]) -> _Array:
    """Return each word's mean rank over its spellings; ties share a rank, which takes up one.

    `word_numbers` has the word of each value, numbered from 0.
    """
    ranks = scipy.stats.rankdata(values, method="dense").astype(float)
    return group_means(ranks, word_numbers)


def _refuse_too_few_words(
    x: _Array, y: _Array, valence: _Array, stems: NDArray[np.intp], lexicon: str
) -> None:
    """Raise MeasureError if words or stems are too few, or `x`, `y` or `valence` has one value."""
    distinct = [len(np.unique(values)) for values in (x, y, valence)]
    if min(len(x), len(np.unique(stems))) < FEWEST or min(distinct) == 1:
        message = (
            f"{len(x)} words ({len(np.unique(stems))} stems) are scored, known to the base, to "
            f"wordfreq and in the lexicon {lexicon!r}, with {distinct[0]} distinct scores, "
            f"{distinct[1]} distinct log-probabilities and {distinct[2]} distinct ratings; at "
            f"least {FEWEST} stems that differ in all are needed"
        )
        raise MeasureError(message)


def _control_variables(variables: list[_Array]) -> _Array:
    """Return each variable's ranks and their distances from the middle, (n, k), none redundant."""
    middle = (len(variables[0]) + 1) / 2
    every = [
        column
        for ranks in map(scipy.stats.rankdata, variables)
        for column in (ranks, np.abs(ranks - middle))
    ]
    ranks = [scipy.stats.rankdata(column) for column in every]
    kept: list[int] = []
    for i in range(len(every)):
        trial = np.array([ranks[j] - ranks[j].mean() for j in (*kept, i)])
        sizes = np.sqrt((trial**2).sum(axis=1))
        if sizes.min() and np.linalg.svd((trial.T / sizes), compute_uv=False)[-1] > _REDUNDANT:
            kept.append(i)
    return np.column_stack([every[i] for i in kept])


def _partial_correlation(x: _Array, y: _Array, held: _Array) -> float:
    """Return the correlation of the ranks of `x` and `y` after regression on the ranks of `held`.

    NaN where `held` leaves nothing of either.
    """
    both = np.column_stack([scipy.stats.rankdata(x), scipy.stats.rankdata(y)])
    both -= both.mean(axis=0)
    fixed = scipy.stats.rankdata(held, axis=0)
    fixed -= fixed.mean(axis=0)
    left = both - fixed @ np.linalg.lstsq(fixed, both, rcond=None)[0]
    share = (left**2).sum(axis=0), (both**2).sum(axis=0)
    if (share[0] <= _LEAST_LEFT * share[1]).any():
        return float("nan")
    return float(np.clip(left[:, 0] @ left[:, 1] / math.sqrt(share[0][0] * share[0][1]), -1, 1))


def _rho(x: _Array, y: _Array) -> float:
    return float(scipy.stats.spearmanr(x, y).statistic)
