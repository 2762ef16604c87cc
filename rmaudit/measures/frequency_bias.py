"""Whether frequent words are overvalued (Christian et al. 2025, §3.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, least_squares, spread, students, widened
from rmaudit.measures.bins import Bin, binned
from rmaudit.measures.words import spellings, whole_words
from rmaudit.verdicts.records import Estimate, Evidence

UNIT = "sd per tenfold frequency"
FEWEST = 50  # words: five terms, and HC3 on fewer is a guess

_Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FrequencyBiasEvidence(Evidence):
    """Rewards in sd by bins of frequency (of the list that `axis` names), all else taken out."""

    kind: Literal["frequency_bias"] = "frequency_bias"
    axis: str
    bins: tuple[Bin, ...]


def slope(  # noqa: PLR0913  (keyword-only after the subjects)
    frame: pd.DataFrame,
    frequency: pd.Series[float],
    valence: pd.Series[float],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
    secondary_frequency: Mapping[str, pd.Series[float]] | None = None,
    secondary_valence: Mapping[str, pd.Series[float]] | None = None,
) -> Estimate:
    """Slope of reward on log10 frequency over words, valence and word length held fixed.

    `frame` has columns `text` and `score`; `frequency` (log10, such as Zipf) and `valence` are
    indexed by lower-case word. A word's score is the mean over its spellings, in sd of all scores
    of the frame. Least squares on frequency, valence, its square (liked and disliked words are
    both more extreme than neutral ones) and the number of letters; the interval is Student's, with
    HC3 errors: what is uncertain is which words there are. It is widened by numeric `noise` (the
    sd of that of a token's score, in the scores' units). Secondary: the slope without the
    control, and with the control but other lists of frequencies and other lexicons.

    Raises:
        MeasureError: fewer than `FEWEST` words have all three, or they do not differ.
    """
    scores = frame["score"].to_numpy(float)
    sd = spread(scores)
    if not sd > 0:
        raise MeasureError("the slope on frequency needs scores that differ, all are equal")
    words = (whole_words(frame) - float(np.nanmean(scores))) / sd
    table = _shared(words, frequency, valence)
    terms, score = _terms(table), table["score"].to_numpy()
    fitted, covariance = least_squares(terms, score)
    value = float(fitted[0])
    freedom = len(score) - int(np.linalg.matrix_rank(terms))
    low, high = students(value, math.sqrt(covariance[0, 0]), freedom)
    secondary = {
        "without the control": _first(table[["score", "frequency"]]),
        "sd per point of valence": float(fitted[1]),
    }
    for name, other in (secondary_frequency or {}).items():
        with suppress(MeasureError):
            theirs = _shared(words, other, valence)
            secondary[name] = _first(theirs)
            secondary[f"{name}, without the control"] = _first(theirs[["score", "frequency"]])
    for name, other in (secondary_valence or {}).items():
        with suppress(MeasureError):
            secondary[name] = _first(_shared(words, frequency, other))
    x = terms[:, 0]
    estimate = Estimate(
        value=value,
        low=low,
        high=high,
        unit=UNIT,
        n=len(table),
        interval="Student's, over words, with HC3 errors",
        secondary=secondary,
        evidence=FrequencyBiasEvidence(
            axis=f"Zipf frequency ({frequency.name})",
            bins=binned(score - terms @ fitted + value * x, table["frequency"].to_numpy()),
        ),
    )
    tokens = spellings(frame, table.index)
    places = tokens["place"].to_numpy()
    # The slope is a weighted sum of the scores; the weights are those of least squares.
    weights = np.linalg.pinv(terms)[0] / np.bincount(places) / sd

    def value_of(drawn: _Floats) -> float:
        return float(np.dot(weights[places], drawn))

    return widened(estimate, value_of, tokens["score"].to_numpy(), noise, rng)


def _shared(
    words: pd.Series[float], frequency: pd.Series[float], valence: pd.Series[float]
) -> pd.DataFrame:
    """Columns `score`, `frequency`, `valence` and `letters` of the words that have them all."""
    columns = {"score": words, "frequency": frequency, "valence": valence}
    table = pd.concat(columns, axis=1, join="inner").sort_index()
    table["letters"] = table.index.str.len().astype(float)
    same = [name for name in table if len(table) and not np.ptp(table[name])]
    if len(table) < FEWEST or same:
        message = (
            f"{len(table)} words are scored, in the frequency list {frequency.name!r} and in the "
            f"lexicon {valence.name!r}; at least {FEWEST} that differ in all are needed"
        )
        raise MeasureError(f"{message} (all have the same {same[0]})" if same else message)
    return table


def _first(table: pd.DataFrame) -> float:
    """The coefficient of the score on the first of the table's other columns."""
    return float(least_squares(_terms(table), table["score"].to_numpy())[0][0])


def _terms(table: pd.DataFrame) -> _Floats:
    """The columns but the score, centred, frequency first; valence squared; a constant."""
    terms = table.drop(columns="score")
    terms = terms - terms.mean()  # the squares of uncentred columns are all but the columns
    if "valence" in terms:
        terms["valence squared"] = terms["valence"] ** 2
    terms["constant"] = 1.0
    return terms.to_numpy(float)
