"""Measure if rewards rank things as people's Elo ratings do (Christian et al. 2025, §4).

People like what is common, short and of pleasant words, so whoever sees nothing else agrees with
them a little: a regression on such features reaches a tau of 0.40, above all ten published models.
So agreement is measured once more beyond how a name looks (its surface): what counts is what a
model knows of the things themselves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import (
    NOISE,
    UNMEASURED,
    clustered_error,
    least_of,
    normal,
    untied,
    widened,
)
from rmaudit.measures.differences_of_estimates import parts
from rmaudit.measures.elo_agreement_evidence import EloAgreementEvidence, Item, WordingRanks
from rmaudit.measures.rank_correlation import kendall_influence
from rmaudit.measures.residual_ranks import basis, residual_ranks
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.word_stems import stem_key

UNIT = "Kendall's tau, beyond the names' surface"
FEWEST = 30  # items
SHOWN = 10  # items at either end of the evidence
ENDS = 100  # items at either end of people's ranking, for the asymmetry
_CELLS = 20
_ASIDE = re.compile(r"\(.*?\)|\[.*?\]")  # "Cleavage (breasts)"
_WORD = re.compile(r"[^\W_]+")

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ItemScores:
    """Rewards of n items under one wording of the prompt, and the sd of their numeric noise."""

    scores: ArrayLike
    noise: float = UNMEASURED


@dataclass(frozen=True, slots=True)
class _Heads:
    """Stems of items' head words: each item's, and its number among those in order, (n,)."""

    stems: list[str]
    codes: NDArray[np.intp]


def agreement_with_people(
    items: pd.DataFrame,
    answers: Mapping[str, ItemScores],
    surface: pd.DataFrame,
    *,
    rng: np.random.Generator,
    always_listed: Collection[str] = (),
) -> Estimate:
    """Return the lowest of all rank agreements with people: each wording, raw and adjusted.

    Adjusted is for a name's `surface`: what can be seen of it, such as its length and frequency.

    `items` has one row an item: `name`, `elo` (rating) and `shown` (False for a name that is not to
    be printed). `answers` has the rewards of these names by wording (NaN: the item is left out),
    `surface` a column for each feature of the names, shape (n, features).

    Two numbers a wording. Beyond the surface: Kendall's tau of what the features leave of the ranks
    of reward and of Elo (`residual_ranks`). Raw: Somers' d, i.e. pairs in order minus pairs
    against it, over the pairs whose ratings differ: a tie in the reward earns nothing. The value is
    the least of all, so that each alone must hold. Intervals are normal ones of a U-statistic
    (Cliff and Charlin 1991) with items of one head word (`head_words`) as one draw, each widened by
    numeric noise; together they are an intersection-union test (Berger 1982): the least low end,
    the least high end.

    Secondary, by wording: both numbers, tau-b, and the share of the reward's ranks that the surface
    leaves. Under the first wording: tau within the upper and lower half, and the 100 best and least
    liked, of people's ranking. Evidence: by wording, the items furthest above and below their human
    rank, those named in `always_listed`, with ranks from 1 (best), and how many items are in each
    cell of human by model rank.

    Raises:
        MeasureError: there are fewer than `FEWEST` items or too few for the surface; all scores or
            ratings are equal; or scores are a function of the surface.
    """
    scored = {name: np.asarray(each.scores, float) for name, each in answers.items()}
    whole = ~np.isnan(np.column_stack(list(scored.values()))).any(axis=1)
    kept = items[whole].reset_index(drop=True)
    elo = kept["elo"].to_numpy(float)
    rewards = {name: values[whole] for name, values in scored.items()}
    for name, values in rewards.items():
        _refuse_unusable_scores(name, values, elo)
    heads = _stems_of_head_words(kept["name"])
    held = basis(surface.loc[np.flatnonzero(whole)])
    human = residual_ranks(elo, held)[0]
    parts, secondary = [], {}
    for name, values in rewards.items():
        raw = somers(values, elo, heads, noise=answers[name].noise, rng=rng)
        beyond, left = _tau_beyond_surface(values, human, held, heads, answers[name].noise, rng)
        parts += [raw, beyond]
        secondary[f"tau beyond the surface, {name}"] = beyond.value
        secondary[f"Somers' d, {name}"] = raw.value
        secondary[f"tau-b, {name}"] = raw.value * math.sqrt(untied(elo) / untied(values))
        secondary[f"share left by the surface, {name}"] = left
    return replace(
        least_of(parts),
        n=len(kept),
        interval=max((part.interval for part in parts), key=len),  # one of them may have noise
        secondary={
            **secondary,
            **_tau_at_the_ends(next(iter(rewards.values())), elo),
            **_largest_noise(parts),
        },
        evidence=EloAgreementEvidence(
            n=len(kept),
            unshown=int((~kept["shown"]).sum()),
            wordings=tuple(
                _ranks_under_wording(kept, name, rewards[name], elo, always_listed)
                for name in rewards
            ),
        ),
    )


def head_words(names: Iterable[str]) -> list[str]:
    """Return each name's last word, ignoring text in brackets: "ball" for "Golf ball (sport)".

    Items of one head word are of one kind, and rated alike. A name without any word is its own head
    word.
    """
    return [([name, *_WORD.findall(_ASIDE.sub(" ", name))])[-1] for name in names]


def somers(
    scores: ArrayLike,
    human: ArrayLike,
    clusters: _Heads | None = None,
    *,
    noise: float = UNMEASURED,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Return Somers' d of scores given human ratings, shapes (n,): 1 same order, -1 reversed.

    Pairs in order minus pairs against it, over the pairs whose ratings differ (Somers 1962). The
    interval is the normal one of a U-statistic; what is uncertain is which items people happened to
    rate, those of one of the `clusters` (n,) together.

    Raises:
        MeasureError: fewer than `FEWEST` items, or all scores or all ratings equal.
        ValueError: there is noise and no `rng`.
    """
    x, y = np.asarray(scores, float), np.asarray(human, float)
    _refuse_unusable_scores("these scores", x, y)

    def value_of(drawn: _Floats) -> float:
        tau_b = float(scipy.stats.kendalltau(drawn, y).statistic)
        return tau_b * math.sqrt(untied(drawn) / untied(y))

    influence = kendall_influence(x, y) * math.sqrt(untied(x) / untied(y))
    return _tau_estimate(value_of(x), value_of, influence, clusters, x, noise, rng)


def _tau_beyond_surface(  # noqa: PLR0913, PLR0917  (both sides, what is held fixed, and the noise)
    scores: _Floats,
    human_residuals: _Floats,
    held: _Floats,
    clusters: _Heads,
    noise: float,
    rng: np.random.Generator,
) -> tuple[Estimate, float]:
    """Return Kendall's tau of `human_residuals` and the residuals of ranked scores on `held`.

    With it, the share of the ranks' variance that `held` leaves. `human_residuals` are those of
    people's ranks on the same basis (`residual_ranks`).
    """

    def tau(residuals: _Floats) -> float:
        return float(scipy.stats.kendalltau(residuals, human_residuals).statistic)

    def value_of(drawn: _Floats) -> float:
        return tau(residual_ranks(drawn, held)[0])

    residuals, left = residual_ranks(scores, held)
    # What was fitted to the items leaves too little of them: as HC3 has it, on average.
    fitted = len(scores) / (len(scores) - held.shape[1])
    influence = fitted * kendall_influence(residuals, human_residuals)
    found = _tau_estimate(tau(residuals), value_of, influence, clusters, scores, noise, rng)
    return found, left


def _tau_estimate(  # noqa: PLR0913, PLR0917  (a value, how it was made, and the noise)
    value: float,
    value_of: Callable[[_Floats], float],
    influence: _Floats,
    clusters: _Heads | None,
    scores: _Floats,
    noise: float,
    rng: np.random.Generator | None,
) -> Estimate:
    codes = None if clusters is None else clusters.codes
    estimate = Estimate(
        value,
        *normal(value, clustered_error(influence, codes), within=(-1.0, 1.0)),
        UNIT,
        n=len(scores),
        interval="intersection-union over wordings, each normal, by head word",
        parts=() if clusters is None else parts(influence, clusters.stems),
    )
    return widened(estimate, value_of, scores, noise, rng, within=(-1.0, 1.0))


def _largest_noise(parts: list[Estimate]) -> dict[str, float]:
    """Return {NOISE: the largest numeric noise, as sd, in any estimate}; empty if none has any."""
    found = [part.secondary[NOISE] for part in parts if NOISE in part.secondary]
    return {NOISE: max(found)} if found else {}


def _refuse_unusable_scores(name: str, scores: _Floats, elo: _Floats) -> None:
    """Raise MeasureError about `name` if scores or `elo` are not finite, too few or all equal."""
    if not (np.isfinite(scores).all() and np.isfinite(elo).all()):
        message = f"agreement needs finite scores and ratings ({name}); an infinity is no reward"
        raise MeasureError(message)
    if len(scores) < FEWEST or np.ptp(scores) == 0 or np.ptp(elo) == 0:
        message = f"agreement needs {FEWEST} items that differ in score ({name}) and in rating"
        raise MeasureError(f"{message}, got {len(scores)} items")


def _stems_of_head_words(names: pd.Series[str]) -> _Heads:
    """Return the stem of each name's head word; raise if fewer than `FEWEST` differ."""
    stems = [stem_key(head) for head in head_words(names.tolist())]
    found, codes = np.unique(stems, return_inverse=True)
    if len(found) < FEWEST:
        message = f"agreement needs items of {FEWEST} head words, got {len(found)}: too few draws"
        raise MeasureError(message)
    return _Heads(stems, codes)


def _tau_at_the_ends(scores: _Floats, elo: _Floats) -> dict[str, float]:
    """Return tau-b in either half and in the 100 best and least liked items, by name."""
    order = np.argsort(-elo, kind="stable")
    scores, elo = scores[order], elo[order]
    out = {}
    half = len(elo) // 2
    for size, best, least in (
        (half, "tau, upper half", "tau, lower half"),
        (ENDS, f"tau, {ENDS} best liked", f"tau, {ENDS} least liked"),
    ):
        if not FEWEST <= size <= half:
            continue
        for name, part in ((best, slice(0, size)), (least, slice(-size, None))):
            tau = float(scipy.stats.kendalltau(scores[part], elo[part]).statistic)
            if math.isfinite(tau):
                out[name] = tau
    return out


def _ranks_under_wording(
    kept: pd.DataFrame, prompt: str, scores: _Floats, elo: _Floats, always_listed: Collection[str]
) -> WordingRanks:
    human, model = scipy.stats.rankdata(-elo), scipy.stats.rankdata(-scores)
    ranks = pd.DataFrame({"name": kept["name"].to_numpy(), "human": human, "model": model})
    order = np.argsort(human, kind="stable")  # of equal gaps the better liked comes first
    shown = ranks.iloc[order][kept["shown"].to_numpy(bool)[order]]
    by_gap = shown.assign(gap=shown["model"] - shown["human"]).sort_values("gap", kind="stable")
    cells = np.histogram2d(human, model, bins=_CELLS, range=[[0.5, len(kept) + 0.5]] * 2)[0]
    return WordingRanks(
        prompt,
        overvalued=_items_of_table(by_gap.head(SHOWN)),
        undervalued=_items_of_table(by_gap.tail(SHOWN)[::-1]),
        also=_items_of_table(ranks[ranks["name"].isin(always_listed)]),
        cells=tuple(map(tuple, cells.astype(int).tolist())),
    )


def _items_of_table(ranks: pd.DataFrame) -> tuple[Item, ...]:
    columns = (ranks[name].tolist() for name in ("name", "human", "model"))
    return tuple(Item(str(name), *both) for name, *both in zip(*columns, strict=True))
