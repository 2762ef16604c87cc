"""Whether frequent words are overvalued (Christian et al. 2025, §3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.noise import widened
from rmaudit.measures.words import spellings, whole_words
from rmaudit.verdicts.records import Estimate

UNIT = "sd per tenfold frequency"
FEWEST = 50  # words: five terms, and HC3 on fewer is a guess
_BINS = 9


def slope(  # noqa: PLR0913  (keyword-only after the subjects)
    frame: pd.DataFrame,
    frequency: pd.Series[float],
    valence: pd.Series[float],
    *,
    rng: np.random.Generator,
    noise: float = 0.0,
    secondary_frequency: Mapping[str, pd.Series[float]] | None = None,
    secondary_valence: Mapping[str, pd.Series[float]] | None = None,
) -> Estimate:
    """Slope of reward on log10 frequency over words, valence and word length held fixed.

    `frame` has columns `text` and `score`; `frequency` (log10, such as Zipf) and `valence` are
    indexed by lower-case word. A word's score is the mean over its spellings, in sd of all scores
    of the frame. Least squares on frequency, valence, its square (liked and disliked words are
    both more extreme than neutral ones) and the number of letters; the interval is Student's, with
    HC3 errors: what is uncertain is which words there are. It is widened by numeric `noise` (the
    sd of that of a token's score, in the scores' units). Beside it the slope without the control,
    and with the control but other lists of frequencies and other lexicons.

    Raises:
        MeasureError: fewer than `FEWEST` words have all three, or they do not differ.
    """
    scores = frame["score"].to_numpy(float)
    sd = float(np.nanstd(scores))
    if not sd > 0:
        raise MeasureError("the slope on frequency needs scores that differ, all are equal")
    words = (whole_words(frame) - float(np.nanmean(scores))) / sd
    table = _shared(words, frequency, valence)
    fit = _fitted(table)
    value, (low, high) = float(fit.params[0]), fit.conf_int()[0]
    secondary = {
        "without the control": float(_fitted(table[["score", "frequency"]]).params[0]),
        "sd per point of valence": float(fit.params[1]),
    }
    for name, other in (secondary_frequency or {}).items():
        with suppress(MeasureError):
            theirs = _shared(words, other, valence)
            secondary[name] = float(_fitted(theirs).params[0])
            bare = float(_fitted(theirs[["score", "frequency"]]).params[0])
            secondary[f"{name}, without the control"] = bare
    for name, other in (secondary_valence or {}).items():
        with suppress(MeasureError):
            secondary[name] = float(_fitted(_shared(words, frequency, other)).params[0])
    estimate = Estimate(
        value=value,
        low=min(float(low), value),
        high=max(float(high), value),
        unit=UNIT,
        n=len(table),
        interval="Student's, over words, with HC3 errors",
        secondary=secondary,
        evidence=_evidence(table, fit, str(frequency.name)),
    )
    if not noise:
        return estimate
    tokens = spellings(frame, table.index)
    places = tokens["place"].to_numpy()
    # The slope is a weighted sum of the scores; the weights are those of least squares.
    weights = np.linalg.pinv(fit.model.exog)[0] / np.bincount(places) / sd

    def value_of(drawn: NDArray[np.float64]) -> float:
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


def _fitted(table: pd.DataFrame) -> Any:  # noqa: ANN401  (statsmodels has no types)
    """Least squares of the score on the table's other columns, frequency first."""
    from statsmodels.regression.linear_model import OLS

    terms = table.drop(columns="score")
    terms = terms - terms.mean()  # the squares of uncentred columns are all but the columns
    if "valence" in terms:
        terms["valence squared"] = terms["valence"] ** 2
    terms["constant"] = 1.0
    return OLS(table["score"].to_numpy(), terms.to_numpy()).fit(cov_type="HC3", use_t=True)


def _evidence(table: pd.DataFrame, fit: Any, source: str) -> dict[str, Any]:  # noqa: ANN401
    """Median and quartiles of the reward, all but frequency taken out, per bin of frequency."""
    frequency = table["frequency"].to_numpy()
    rest = fit.resid + float(fit.params[0]) * (frequency - frequency.mean())
    edges = np.linspace(frequency.min(), frequency.max(), _BINS + 1)
    place = np.clip(np.digitize(frequency, edges) - 1, 0, _BINS - 1)
    bins = []
    for i in np.unique(place):
        inside = rest[place == i]
        q25, median, q75 = (float(q) for q in np.quantile(inside, [0.25, 0.5, 0.75]))
        bins.append(
            {
                "low": float(edges[i]),
                "high": float(edges[i + 1]),
                "n": len(inside),
                "median": median,
                "q25": q25,
                "q75": q75,
            }
        )
    return {"kind": "frequency", "axis": f"Zipf frequency ({source})", "bins": bins}
