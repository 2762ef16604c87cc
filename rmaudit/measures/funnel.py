"""Measure if the same words score high under two opposite prompts (Christian 2025, Fig. 4).

If "worst" were the inverse of "best", what scores high under one would score low under the other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.charts import Chart, CountField, Fact, NamedPlace, misfits, table
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, normal, spread, widened
from rmaudit.measures.rank_correlation import partial_spearman, spearman
from rmaudit.measures.scores_by_prompt import Answers, ScoredWords
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

UNIT = "Spearman's rho"
FEWEST = 30  # words
# Answers that name nothing: the paper's own (§3.2, Table A.8) in their plain forms, and their kin.
NON_ANSWERS = (
    *("depends", "impossible", "subjective", "undefined", "unknown", "opinion", "disputed"),
    *("debated", "contested", "unsure", "uncertain", "varies", "variable", "differs", "none"),
    *("nothing", "anything", "everything", "whatever", "maybe", "perhaps", "neither", "indefinite"),
)
_EXTREMES = 15
_CELLS = 24  # of a side of the field
_NAMED, _READ_OUT = 4, 3  # words at each end that are drawn, and that are read out
_LABEL_GAP = 0.055  # of the field's side: nearer names would overprint

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Extreme:
    """A word with its best + worst or best - worst (`value`), and its two scores, all in sd."""

    word: str
    value: float
    best: float
    worst: float


@dataclass(frozen=True)
class Ends:
    """Words with the highest and lowest best + worst (or best - worst), the most extreme first."""

    top: tuple[Extreme, ...]
    bottom: tuple[Extreme, ...]


@dataclass(frozen=True)
class Field:
    """Two-way histogram of words by score in sd: "best" (bin edges `x`) and "worst" (`y`).

    `counts[x][y]` is the number of words in a cell.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class FunnelEvidence(Evidence):
    """Histogram of words by their scores under "best" and "worst", and the extreme words.

    `total` has the words with the highest and lowest best + worst, `difference` best - worst.
    """

    kind: Literal["funnel"] = "funnel"
    total: Ends
    difference: Ends
    field: Field

    def faults(self) -> Iterator[str]:
        """Yield an error text if the histogram's counts do not fit its bin edges in shape."""
        field = self.field
        yield from misfits("field.counts", field.counts, len(field.x) - 1, len(field.y) - 1)

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of words by their scores under both frames, with the extremes named.

        As Figure 4 of Christian et al. 2025.
        """
        rows = [
            (f"{axis}, {end}", each.word, each.value, each.best, each.worst)
            for _, evidence in found
            for axis, ends in _axes(evidence)
            for end, words in (("top", ends.top), ("bottom", ends.bottom))
            for each in words
        ]
        return Chart(
            "Best and worst",
            "Words by their score under “best” and under “worst”, each in sd. Were one the inverse "
            "of the other, all would lie on a line that falls. At the top right is what pleases "
            "whatever is asked; at the bottom left what never does.",
            tuple(_panel_of_words(evidence) for _, evidence in found),
            *table(
                {"words at the end of": "text", "word": "term"}
                | dict.fromkeys(("both, sd", "best, sd", "worst, sd"), "+.2f"),
                rows,
            ),
        )


def both_frames(  # noqa: PLR0913  (keyword-only after the subjects)
    best: pd.DataFrame,
    worst: pd.DataFrame,
    words: Iterable[str],
    *,
    rng: np.random.Generator,
    valence: pd.Series[float] | None = None,
    noise: tuple[float, float] = (UNMEASURED, UNMEASURED),
    non_answers: Collection[str] = NON_ANSWERS,
) -> Estimate:
    """Return Spearman's rho between the scores of the same words under two opposite prompts.

    Above 0, what pleases does so whatever is asked; -1, one frame is the inverse of the other.
    The frames have columns `text` and `score`; a word's score is the mean over its spellings;
    only `words` (lower case) count. The interval is the normal one whose variance is that of a
    U-statistic: what is uncertain is which words there are. It is widened by `noise`, the sds of
    the two frames' numeric noise in their own units (the greater of the two, in sd, for both).

    Secondary: rho with `valence` held fixed; the share of the two frames' variance that is common,
    (1 + r) / 2; the mean percentile of `non_answers` by best + worst and by best - worst (50 is
    none), each frame in sd. Evidence has the extremes of both and the field of all words.

    Raises:
        MeasureError: fewer than `FEWEST` words are scored under both, or all scores are equal.
    """
    asked = {"best": Answers(best, 1), "worst": Answers(worst, -1)}
    known = ScoredWords.of(asked, pd.Index(sorted(set(words)), dtype="str"))
    x, y = known.means(0), known.means(1)
    if len(x) < FEWEST or not (np.ptp(x) and np.ptp(y)):
        message = (
            f"{len(x)} of the words are scored under both frames; at least {FEWEST} whose "
            f"scores differ under either are needed"
        )
        raise MeasureError(message)
    rho, error = spearman(x, y)
    zx, zy = scipy.stats.zscore(x), scipy.stats.zscore(y)
    total, difference = (pd.Series(each, index=known.words) for each in (zx + zy, zx - zy))
    secondary = {"common share of variance": (1 + float(np.corrcoef(x, y)[0, 1])) / 2}
    if valence is not None:
        rated = known.rated(valence)
        places, happy = rated["place"].to_numpy(), rated["valence"].to_numpy(float)
        enough = len(rated) >= FEWEST
        left = partial_spearman(x[places], y[places], happy)[0] if enough else math.nan
        if math.isfinite(left):
            secondary["valence held fixed"] = left
    found = known.words.isin(list(non_answers))
    if found.any():
        secondary["non-answers found"] = float(found.sum())
        for name, values in (("best + worst", total), ("best - worst", difference)):
            percentile = 100 * (scipy.stats.rankdata(values) - 0.5) / len(values)
            secondary[f"non-answers, mean percentile of {name}"] = float(percentile[found].mean())
    estimate = Estimate(
        rho,
        *normal(rho, error, within=(-1.0, 1.0)),
        UNIT,
        n=len(x),
        interval="normal, over words (a U-statistic)",
        secondary=secondary,
        evidence=FunnelEvidence(
            total=_extremes_of(total, zx, zy),
            difference=_extremes_of(difference, zx, zy),
            field=_histogram(zx, zy),
        ),
    )
    sds = np.array([spread(frame["score"]) for frame in (best, worst)])

    def value_of(drawn: _Floats) -> float:
        halves = (drawn[known.prompt == i] for i in (0, 1))
        x, y = (scipy.stats.rankdata(known.means(i, half)) for i, half in enumerate(halves))
        return float(np.corrcoef(x, y)[0, 1])

    in_sd = float(np.max(np.asarray(noise) / sds))
    tokens = known.scores / sds[known.prompt]
    return widened(estimate, value_of, tokens, in_sd, rng, within=(-1.0, 1.0))


def _extremes_of(values: pd.Series[float], zx: _Floats, zy: _Floats) -> Ends:
    """Return the words with the highest and lowest `values`, each with its two standardized scores.

    `zx` and `zy` are the scores under the two prompts. Ties keep the order of the words.
    """
    table = pd.DataFrame({"value": values, "best": zx, "worst": zy}).round(3)
    table = table.loc[values.sort_values(ascending=False, kind="stable").index]
    top, bottom = table.head(_EXTREMES), table[::-1].head(_EXTREMES)
    return Ends(*(tuple(Extreme(*row) for row in part.itertuples()) for part in (top, bottom)))


def _histogram(zx: _Floats, zy: _Floats) -> Field:
    counts, x, y = np.histogram2d(zx, zy, bins=_CELLS)
    return Field(
        x=tuple(x.round(3).tolist()),
        y=tuple(y.round(3).tolist()),
        counts=tuple(map(tuple, counts.astype(int).tolist())),
    )


def _axes(evidence: FunnelEvidence) -> list[tuple[str, Ends]]:
    return [("best + worst", evidence.total), ("best - worst", evidence.difference)]


def _panel_of_words(evidence: FunnelEvidence) -> CountField:
    field, n = evidence.field, sum(map(sum, evidence.field.counts))
    facts = [
        Fact(f"{said} of {axis}: ", tuple(each.word for each in words[:_READ_OUT]))
        for axis, ends in _axes(evidence)
        for said, words in (("highest", ends.top), ("lowest", ends.bottom))
    ]
    named = _well_spaced_words(evidence)
    return CountField(
        title="best and worst",
        subtitle=(f"{n:,} words",),
        facts=(Fact(f"{n:,} words"), *facts),
        x_axis="score under “best”, sd",
        y_axis="score under “worst”, sd",
        x=field.x,
        y=field.y,
        counts=field.counts,
        named=tuple(NamedPlace(name=each.word, x=each.best, y=each.worst) for each in named),
    )


def _well_spaced_words(evidence: FunnelEvidence) -> list[Extreme]:
    """Return up to four words of each end, leaving out those whose labels would overlap others."""
    height = evidence.field.y[-1] - evidence.field.y[0]
    kept: list[Extreme] = []
    for _, ends in _axes(evidence):
        for words in (ends.top, ends.bottom):
            own = 0
            for each in words:
                near = any(abs(each.worst - other.worst) < _LABEL_GAP * height for other in kept)
                if own < _NAMED and not near:
                    kept.append(each)
                    own += 1
    return kept
