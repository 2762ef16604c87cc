"""Measure how much of a score is due to a word's spelling: `Love`, ` love`, `LOVE`."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, jackknife_variance, spread, students, widened
from rmaudit.measures.word_spellings import spellings
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "share of variance"
FEWEST = 30  # words in two spellings or more
_CASES = ("lower", "capitalize", "upper")


def spelling_share(
    frame: pd.DataFrame,
    words: Iterable[str],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the share of the scores' variance that lies between spellings of one word.

    `frame` has columns `text` and `score`; of `words` (lower case) those with at least two scored
    spellings count. It is 1 - ICC(1), the intraclass correlation of a one-way random-effects
    analysis of variance with unequal numbers (Donner 1986, International Statistical Review 54);
    about 1 (a little more is possible) where spellings of a word differ as any two tokens do. The
    interval is Student's, from a jackknife over words, widened by numeric `noise` (the sd of that
    of a score, in the scores' units), which itself makes part of the share.

    Secondary: the mean change, in sd of the frame's scores, from a space in front, from a first
    capital letter and from capitals throughout, all else of the spelling equal.

    Raises:
        MeasureError: fewer than `FEWEST` words have two scored spellings, or all scores are equal.
    """
    rows = spellings(frame, pd.Index(sorted(set(words)), dtype="str"))
    rows = rows[rows["place"].duplicated(keep=False)]
    scores = rows["score"].to_numpy()
    places, names = pd.factorize(rows["place"], sort=True)
    if len(names) < FEWEST or not np.ptp(scores):
        message = (
            f"{len(names)} words have two scored spellings, with {len(np.unique(scores))} distinct "
            f"scores; at least {FEWEST} words and scores that differ are needed"
        )
        raise MeasureError(message)
    z = (scores - scores.mean()) / scores.std()
    in_sd = noise / float(scores.std())

    def value_of(drawn: NDArray[np.float64]) -> float:
        return float(_share_within_words(_sums_by_word(drawn, places).sum(axis=0), len(names)))

    value, sums = value_of(z), _sums_by_word(z, places)
    without = _share_within_words(sums.sum(axis=0) - sums, len(names) - 1)  # each word in turn
    if not np.isfinite(without).all():
        raise MeasureError("the share hangs on one word: without it all scores are equal")
    error = math.sqrt(jackknife_variance(without))
    low, high = students(value, error, len(names) - 1, within=(0.0, math.inf))
    estimate = Estimate(
        value=value,
        low=low,
        high=high,
        unit=UNIT,
        n=len(names),
        interval="Student's, over words with all their spellings (jackknife)",
        secondary={
            "spellings": float(len(scores)),
            **({} if math.isnan(noise) else {"share that numeric noise makes": in_sd**2}),
            **_effects_of_spelling(rows["text"], places, scores, spread(frame["score"])),
        },
    )
    return widened(estimate, value_of, z, in_sd, rng, within=(0.0, math.inf))


def _sums_by_word(z: NDArray[np.float64], places: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return for each word: count, count², sum, sum² / count, sum of squares; shape (words, 5)."""
    n, total, squares = np.bincount(places), np.bincount(places, z), np.bincount(places, z**2)
    return np.stack([n, n**2, total, total**2 / n, squares], axis=1)


def _share_within_words(sums: NDArray[np.float64], words: int) -> NDArray[np.float64]:
    """Return the share of variance within words (1 - ICC(1)) from the sums of `_sums_by_word`."""
    n, n_squared, total, between, squares = np.moveaxis(sums, -1, 0)
    within = (squares - between) / (n - words)
    among = (between - total**2 / n) / (words - 1)
    size = (n - n_squared / n) / (words - 1)
    varies = squares - total**2 / n > 1e-9 * n  # beyond rounding; z has variance 1
    with np.errstate(invalid="ignore", divide="ignore"):
        share: NDArray[np.float64] = size * within / (among + (size - 1) * within)
    return np.where(varies, share, np.nan)


def _effects_of_spelling(
    texts: pd.Series[str], places: NDArray[np.intp], scores: NDArray[np.float64], sd: float
) -> dict[str, float]:
    """Return by name what a leading space, a capital and all capitals add to scores, in sd."""
    bare = texts.str.strip()
    spaced = (texts == " " + bare).to_numpy()
    plain = spaced | (texts == bare).to_numpy()
    cases = np.stack([(bare == getattr(bare.str, case)()) for case in _CASES])
    cases[2] &= (bare.str.len() > 1).to_numpy()  # one letter in upper case is a capital letter
    cases[1] &= ~cases[0]  # a script without cases
    table = np.full((2, len(_CASES), int(places.max()) + 1), np.nan)  # space, case, word
    for space in (0, 1):
        for case in range(len(_CASES)):
            here = plain & (spaced == bool(space)) & cases[case]
            table[space, case, places[here]] = scores[here] / sd
    changes = {
        "sd from a space in front": table[1] - table[0],
        "sd from a capital letter": table[:, 1] - table[:, 0],
        "sd from capitals throughout": table[:, 2] - table[:, 0],
    }
    return {name: float(np.nanmean(c)) for name, c in changes.items() if not np.isnan(c).all()}
