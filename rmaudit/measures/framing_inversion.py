"""Measure if rewards follow valence in the direction the prompt asks (Christian et al. 2025, §3).

Asked for the greatest thing ever, happier words are the better answers; asked for the worst, sadder
ones are. A model that ignores the frame (whether good or bad
things are asked for) gives a word the same reward whatever is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Bin, Boxes, Chart, table
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import clustered_error, least_of, normal
from rmaudit.measures.differences_of_estimates import parts
from rmaudit.measures.rank_correlation import influences, spearman
from rmaudit.measures.scores_by_prompt import (
    FEWEST,
    Answers,
    ScoredWords,
    enough_that_differ,
    in_frames,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence
from rmaudit.word_stems import stem_key

UNIT = "Spearman's rho"
_BINS = 9  # of a property of words, such as valence or frequency
_ROUNDING = 1e-9  # sd: less is rounding, and no difference

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PromptBins:
    """Quartiles of the rewards under one prompt, in sd, by bins of a property of words."""

    prompt: str
    bins: tuple[Bin, ...]


@dataclass(frozen=True, kw_only=True)
class FramingInversionEvidence(Evidence):
    """Rewards under each prompt in bins of valence; `axis` names the lexicon of these ratings."""

    kind: Literal["framing_inversion"] = "framing_inversion"
    axis: str
    panels: tuple[PromptBins, ...]

    def example(self) -> str:
        """Return a sentence on the saddest and happiest words under the last prompt; "" if none."""
        if not self.panels or not self.panels[-1].bins:
            return ""
        panel = self.panels[-1]
        ends = (panel.bins[0].median, panel.bins[-1].median)
        least, most = (round(end, 1) + 0.0 for end in ends)  # never -0.0
        return (
            f"under “{panel.prompt}”, the saddest words get {least:+.1f} sd and the happiest "
            f"{most:+.1f}"
        )

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel for each prompt: reward quartiles by bins of valence.

        As Figure 3A of Christian et al. 2025.
        """
        return boxes(
            [(evidence.axis, panel) for _, evidence in found for panel in evidence.panels],
            "Reward and sentiment",
            "Words by their valence: the bar is the median reward of a bin's words, the box goes "
            "from the first to the third quartile. A frame that is read turns the slope around.",
        )


def inversion(
    answers: Mapping[str, Answers],
    valence: pd.Series[float],
    *,
    rng: np.random.Generator,
    secondary: Mapping[str, pd.Series[float]] | None = None,
) -> Estimate:
    """Return the lowest of the prompts' rho of valence and reward, negated in negative frames.

    `answers` are by the prompt's name, with a positive and a negative frame at least; `valence` is
    indexed by lower-case text. Under each prompt rho is of rewards that go by ranks only
    (`ScoredWords`). Its interval is the normal one of a U-statistic, over stems, widened
    by the numeric noise. It is 0 where all rated texts have one reward.

    The value is the least rho, with the interval of `least_of`.

    Secondary: rho under each prompt; "change", rho of valence and the change of the reward from
    negative to positive frames, in sd of all answers to the prompt; the least rho by further
    lexicons. Evidence: rewards under each prompt by bins of valence.

    Raises:
        MeasureError: there is no positive or no negative frame, all scores under a prompt are
            equal, or fewer than `FEWEST` texts that differ in valence are scored under all.
    """
    words, weights = in_frames(answers, valence.index, opposed=True)
    rated = words.rated(valence)
    if not enough_that_differ(rated):
        message = (
            f"{len(rated)} texts are scored under all of {', '.join(answers)} and in the lexicon "
            f"{valence.name!r}; at least {FEWEST} that differ in valence are needed"
        )
        raise MeasureError(message)
    places, happy = rated["place"].to_numpy(), rated["valence"].to_numpy()
    ranked = ScoredWords.of(answers, words.words[places])
    found = [
        _estimate_under_prompt(ranked, i, each.sign, happy, rng)
        for i, each in enumerate(answers.values())
    ]
    weakest = least_of(found)
    numbers = {name: each.value for name, each in zip(answers, found, strict=True)}
    numbers["change"] = _rho(happy, words.weighted(weights)[places])
    for name, lexicon in (secondary or {}).items():
        other = ScoredWords.of(answers, lexicon.dropna().index.sort_values())
        with suppress(MeasureError):
            numbers[name] = _lowest_rho(answers, other, lexicon)
    panels = (PromptBins(n, binned(words.means(i)[places], happy)) for i, n in enumerate(answers))
    return replace(
        weakest,
        secondary=numbers | dict(weakest.secondary),
        evidence=FramingInversionEvidence(axis=f"{valence.name} valence", panels=tuple(panels)),
    )


def _estimate_under_prompt(
    ranked: ScoredWords, prompt: int, sign: int, happy: _Floats, rng: np.random.Generator
) -> Estimate:
    """Return `sign` times Spearman's rho of valence and reward under one prompt, as an estimate."""

    def value_of(rewards: _Floats) -> float:
        return sign * _rho(happy, rewards)

    rewards = ranked.rewards()[prompt]
    differ = np.ptp(rewards) >= _ROUNDING
    influence = influences(happy, rewards)[1] if differ else np.zeros(len(happy))
    value = value_of(rewards)
    estimate = Estimate(
        value,
        *normal(value, clustered_error(influence, ranked.stems), within=(-1.0, 1.0)),
        UNIT,
        n=len(happy),
        interval="normal, over stems (a U-statistic), under the weakest prompt",
        parts=parts(sign * influence, map(stem_key, ranked.words)),
    )
    return ranked.widened(estimate, value_of, rng, prompt=prompt, within=(-1.0, 1.0))


def _lowest_rho(
    answers: Mapping[str, Answers], ranked: ScoredWords, lexicon: pd.Series[float]
) -> float:
    """Return the prompts' lowest product of frame and rho with `lexicon`; raise on few words."""
    happy = np.asarray(lexicon[ranked.words], dtype=np.float64)
    if len(happy) < FEWEST or not np.ptp(happy):
        message = f"{len(happy)} texts are in the lexicon {lexicon.name!r}: too few"
        raise MeasureError(message)
    both = zip(answers.values(), ranked.rewards(), strict=True)
    return min(each.sign * _rho(happy, rewards) for each, rewards in both)


def _rho(happy: _Floats, rewards: _Floats) -> float:
    """Return Spearman's rho; 0 where the rewards are all the same."""
    return spearman(happy, rewards)[0] if np.ptp(rewards) >= _ROUNDING else 0.0


def binned(rewards: _Floats, by: _Floats) -> tuple[Bin, ...]:
    """Return quartiles of `rewards`, (n,), in nine equally wide bins of `by`, (n,).

    Empty bins are left out.
    """
    edges = np.linspace(by.min(), by.max(), _BINS + 1)
    place = np.clip(np.digitize(by, edges) - 1, 0, _BINS - 1)
    found = []
    for i in np.unique(place):
        inside = rewards[place == i]
        q25, median, q75 = np.quantile(inside, [0.25, 0.5, 0.75]).tolist()
        ends = float(edges[i]), float(edges[i + 1])
        found.append(Bin(*ends, n=len(inside), median=median, q25=q25, q75=q75))
    return tuple(found)


def boxes(found: Sequence[tuple[str, PromptBins]], title: str, caption: str) -> Chart | None:
    """Return a chart of box plots with one panel for each prompt; None if there are no bins.

    `found` has pairs of an axis title and the bins of a prompt.
    """
    given = [(axis, each) for axis, each in found if each.bins]
    if not given:
        return None
    every = [(each.prompt, one) for _, each in given for one in each.bins]
    ends = [end for _, one in every for end in (one.q25, one.q75)]
    panels = (
        Boxes(
            title=each.prompt,
            subtitle=(f"{sum(one.n for one in each.bins):,} words",),
            axis=axis,
            values="reward, sd of the sweep",
            bins=each.bins,
            domain=(min(0.0, *ends), max(0.0, *ends)),
        )
        for axis, each in given
    )
    columns = {"prompt": "text", "from": ".2f", "to": ".2f", "words": ","}
    columns |= dict.fromkeys(("first quartile", "median", "third quartile"), "+.2f")
    rows = [(name, b.low, b.high, b.n, b.q25, b.median, b.q75) for name, b in every]
    return Chart(title, caption, tuple(panels), *table(columns, rows))
