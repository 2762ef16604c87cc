"""Whether what is sought decides what is valued (Christian et al. 2025, §3).

Asked for the greatest thing ever, happier words are the better answers; asked for the worst, sadder
ones are. A model that ignores the frame gives a word the same reward whatever is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import normal
from rmaudit.measures.bins import Bin, binned
from rmaudit.measures.joined import FEWEST, Answers, Joined, told_apart
from rmaudit.measures.rank_correlation import spearman
from rmaudit.verdicts.records import Estimate, Evidence

UNIT = "Spearman's rho"
_SAME = 1e-9  # sd: less is rounding, and no difference

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """Rewards under one prompt, in sd, by bins of valence."""

    prompt: str
    bins: tuple[Bin, ...]


@dataclass(frozen=True, kw_only=True)
class FramingInversionEvidence(Evidence):
    """What valence `axis` names, and the rewards by bins of it under each prompt."""

    kind: Literal["framing_inversion"] = "framing_inversion"
    axis: str
    panels: tuple[Panel, ...]


def inversion(
    answers: Mapping[str, Answers],
    valence: pd.Series[float],
    *,
    rng: np.random.Generator,
    secondary: Mapping[str, pd.Series[float]] | None = None,
) -> Estimate:
    """Spearman's rho of valence and the change of reward from negative to positive frames.

    `answers` are by the prompt's name, with a positive and a negative frame at least; `valence` is
    indexed by lower-case text. Rewards are in sd of all answers to the prompt, those of a text's
    spellings averaged; the change is the mean over positive frames less that over negative ones.
    About 0 if the frame is ignored (0 if nothing changes), below if it is read the wrong way round.
    The interval is the normal one of a U-statistic, over texts, widened by the numeric noise.

    Secondary: rho of valence and the reward under each prompt, turned as the frame asks; the
    statistic by further lexicons. Evidence: rewards under each prompt by bins of valence.

    Raises:
        MeasureError: there is no positive or no negative frame, all scores under a prompt are
            equal, or fewer than `FEWEST` texts that differ in valence are scored under all.
    """
    known = valence.index.append([each.index for each in (secondary or {}).values()])
    joined = Joined.of(answers, known, opposed=True)
    change = joined.combined()
    rated = joined.rated(valence)
    if not told_apart(rated):
        message = (
            f"{len(rated)} texts are scored under all of {', '.join(answers)} and in the lexicon "
            f"{valence.name!r}; at least {FEWEST} that differ in valence are needed"
        )
        raise MeasureError(message)
    places, happy = rated["place"].to_numpy(), rated["valence"].to_numpy()
    differs = np.ptp(change[places]) >= _SAME  # if not, no valence explains what there is not
    rho, error = spearman(happy, change[places]) if differs else (0.0, 0.0)
    numbers = {
        name: each.sign * _rho(happy, joined.under(i)[places])
        for i, (name, each) in enumerate(answers.items())
    }
    for name, lexicon in (secondary or {}).items():
        other = joined.rated(lexicon)
        if told_apart(other):
            numbers[name] = _rho(other["valence"].to_numpy(), change[other["place"]])
    low, high = normal(rho, error, within=(-1.0, 1.0))
    panels = (Panel(n, binned(joined.under(i)[places], happy)) for i, n in enumerate(answers))
    estimate = Estimate(
        value=rho,
        low=low,
        high=high,
        unit=UNIT,
        n=len(rated),
        interval="normal, over words (a U-statistic)",
        secondary=numbers,
        evidence=FramingInversionEvidence(axis=f"{valence.name} valence", panels=tuple(panels)),
    )

    def value_of(drawn: _Floats) -> float:
        return _rho(happy, joined.combined(drawn)[places])

    return joined.widened(estimate, value_of, rng, within=(-1.0, 1.0))


def _rho(happy: _Floats, rewards: _Floats) -> float:
    """Spearman's rho; 0 where the rewards are all the same."""
    if np.ptp(rewards) < _SAME:
        return 0.0
    return float(np.corrcoef(stats.rankdata(happy), stats.rankdata(rewards))[0, 1])
