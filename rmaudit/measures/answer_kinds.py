"""Measure which kinds of whole answers get a higher or lower reward, whatever their length.

A policy's answers are samples, several to a prompt. Each kind's effect is a regression within
prompts, in sd of a prompt's rewards. Nobody says beforehand which kind it may be: the interval that
decides holds for all kinds at once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, widened
from rmaudit.measures.answer_kinds_evidence import AnswerKindsEvidence, KindEffect
from rmaudit.measures.best_of_answers import (
    MOST,
    WORDS,
    refuse_unusable_samples,
    shortened,
    winning,
)
from rmaudit.measures.wanted_kinds import NOTHING, wanted_answers
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "sd of answers"
FEWEST_ANSWERS = 16  # so many answers' worth of differences within prompts tell of a kind
FEWEST_PROMPTS = 8  # over which they are spread, as so many equal ones (Kish)
_SHOWN = 12  # kinds
_SUREST = 3  # of them, where none is shown to have an effect
_NONE = 1e-9  # of a variance: rounding

_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp]


@dataclass(frozen=True)
class _Within:
    """Kinds within prompts, length and such held fixed: `x` (n, k), and its squares by prompt."""

    prompts: _Codes
    held: _Floats
    x: _Floats
    squares: _Floats

    @classmethod
    def of(cls, x: _Floats, held: _Floats, prompts: _Codes) -> _Within:
        """Return the residuals of `x` (n, k) on `held` (n, h) within prompts."""
        basis, sizes, _ = np.linalg.svd(_centred(held, prompts), full_matrices=False)
        basis = basis[:, sizes > _NONE]
        left = _residual(x, basis, prompts)
        return cls(prompts, basis, left, _by_prompt(left**2, prompts))

    def effects(self, rewards: _Floats) -> tuple[_Floats, _Floats]:
        """Return each kind's effect on the rewards, in sd of a prompt's, and its error, (k,) each.

        The error is of the jackknife over prompts; the spread of the rewards is estimated, too.
        """
        off = _centred(rewards[:, None], self.prompts)
        counts = np.bincount(self.prompts)
        squares, freedom = _by_prompt(off**2, self.prompts)[:, 0], counts - 1
        products = _by_prompt(self.x * _residual(off, self.held, self.prompts), self.prompts)
        effects = products.sum(axis=0) / self.squares.sum(axis=0)
        spread = math.sqrt(squares.sum() / freedom.sum())
        left = (products.sum(axis=0) - products) / (self.squares.sum(axis=0) - self.squares)
        spreads = np.sqrt((squares.sum() - squares) / (freedom.sum() - freedom))
        left /= spreads[:, None]
        many = len(counts)
        errors = np.sqrt((many - 1) / many * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
        return effects / spread, errors


def answer_kinds(  # noqa: PLR0913  (keyword-only after the answers and their kinds)
    answers: pd.DataFrame,
    kinds: pd.DataFrame,
    *,
    held: Collection[str],
    sound: Mapping[str, int],
    rng: np.random.Generator,
    noise: float = UNMEASURED,
    wanted: Mapping[str, str] = NOTHING,
) -> Estimate:
    """Return the effect on the reward of the kind of answers whose effect is the surest, in sd.

    `answers` has a row for each sample: `prompt`, `turns`, `response` and `reward`. `kinds`, of as
    many rows, has `WORDS` and a column for each kind: bools, or numbers of which only the order
    counts. Those that are in `held` are held fixed, as the length is (the logarithm of `WORDS` and
    its square). `sound` names kinds for which a sound model pays (+1) or against which it does
    (-1): only the contrary counts. Kinds that are `wanted` (reasons, see `wanted_answers`) are
    shown and held fixed, too, so that others are not found because they go with these.

    Each kind's effect is what answers of it get more than others to the same prompt, the length
    held fixed, in sd of a prompt's rewards; where the kind is a number, what the upper half gets
    more than the lower one. Ranks stand for numbers, so that no outlier decides. Kinds are left out
    that are met in fewer than `FEWEST_ANSWERS` answers or `FEWEST_PROMPTS` prompts, by what their
    variance within prompts is worth.

    An error is of the jackknife over prompts, and its interval Student's t with the degrees of
    freedom of as many equal prompts (Kish 1965). The value is the size of the effect whose lower
    end is the greatest. The lower end holds for all kinds at once (Bonferroni), the upper one is
    the greatest of all. Both are widened by the numeric `noise` of a reward.

    Secondary: what a doubling of the words gains, and what each kind that is held fixed gains at
    equal length; how many kinds there are, and how many have an effect for sure.

    Raises:
        MeasureError: as `best_of_answers`; or no kind is met often enough.
    """
    rewards = answers["reward"].to_numpy(float)
    asked = answers.groupby(["prompt", "turns"], sort=False).ngroup()
    prompts = np.asarray(asked, dtype=np.intp)
    places = [np.flatnonzero(prompts == one) for one in range(prompts.max(initial=-1) + 1)]
    refuse_unusable_samples(rewards, places)
    length = np.log(np.maximum(kinds[WORDS].to_numpy(float), 1.0))
    lengths = np.stack([length, (length - length.mean()) ** 2], axis=1)
    fixed = kinds[list(held)].to_numpy(float)
    tried = kinds.drop(columns=[WORDS, *held])
    ranks = 2 * scipy.stats.rankdata(tried.to_numpy(float), axis=0) / len(tried)
    every, beside = tried.columns.astype(str), np.hstack([lengths, fixed])
    within, often, freedom = _met(ranks, beside, prompts)
    spared, in_force, caveats = wanted_answers(every[often], wanted)
    shown: list[tuple[str, float, float]] = []
    if spared:
        each = within.effects(rewards)
        halves = each[1] * scipy.stats.t.ppf(1 - 0.025 / often.sum(), freedom)
        shown = [row for row in zip(every[often], each[0], halves, strict=True) if row[0] in spared]
        own = every.isin([*spared])
        beside = np.hstack([beside, ranks[:, own]])
        within, often, freedom = _met(np.where(own, 0.0, ranks), beside, prompts)
    names = every[often].tolist()
    side = np.array([-sound.get(name, 0) for name in names])
    effects, errors = within.effects(rewards)

    def size(of: _Floats) -> _Floats:
        """Return how large each effect is: of some kinds only one side counts."""
        return np.where(side == 0, np.abs(of), np.maximum(side * of, 0.0))

    reach, reach_of_all = (
        errors * scipy.stats.t.ppf(1 - 0.025 / many, freedom) for many in (1, len(names))
    )
    towards = np.where(side == 0, np.abs(effects), side * effects)
    order = np.argsort(reach_of_all - towards, kind="stable")
    top, sure = int(order[0]), int((towards > reach_of_all).sum())
    shown[:0] = [
        (names[at], effects[at], reach_of_all[at])
        for at in order[: max(_SUREST, min(_SHOWN, sure))]
    ]
    rows = [
        KindEffect(
            answers=name,
            effect=effect,
            low=effect - half,
            high=effect + half,
            **_described(answers, ranks[:, every == name][:, 0], float(effect), length, places),
            wanted=spared.get(name, ""),
        )
        for name, effect, half in shown
    ]
    estimate = Estimate(
        value=float(size(effects)[top]),
        low=max(float((towards - reach_of_all)[top]), 0.0),
        high=max(float((towards + reach).max()), 0.0),
        unit=UNIT,
        n=len(answers),
        together=len(names),
        interval=f"Student's t, jackknife over prompts, the surest of {len(names)} kinds",
        secondary={
            "a doubling of the words": _gain(
                length / math.log(2), lengths[:, :0], rewards, prompts
            ),
            **{
                f"answers {name}": _gain(column, lengths, rewards, prompts)
                for name, column in zip(held, fixed.T, strict=True)
            },
            "kinds": len(names),
            "kinds with an effect": sure,
        },
        evidence=AnswerKindsEvidence(rows=tuple(rows), wanted=in_force),
        caveats=caveats,
    )

    def value_of(drawn: _Floats) -> float:
        return float(size(within.effects(drawn)[0])[top])

    return widened(estimate, value_of, rewards, noise, rng, within=(0.0, math.inf))


def _met(
    ranks: _Floats, held: _Floats, prompts: _Codes
) -> tuple[_Within, NDArray[np.bool_], _Floats]:
    """Return the kinds that are met often enough, which of all they are, and degrees of freedom.

    Raises:
        MeasureError: none is.
    """
    within = _Within.of(ranks, held, prompts)
    total = within.squares.sum(axis=0)
    spread_over = total**2 / np.maximum((within.squares**2).sum(axis=0), _NONE)
    often = (total >= FEWEST_ANSWERS) & (spread_over >= FEWEST_PROMPTS)
    if not often.any():
        raise MeasureError(
            f"no kind of answers is met in {FEWEST_ANSWERS} answers and {FEWEST_PROMPTS} prompts"
        )
    kept = _Within(prompts, within.held, within.x[:, often], within.squares[:, often])
    return kept, often, spread_over[often] - 1


def _gain(x: _Floats, held: _Floats, rewards: _Floats, prompts: _Codes) -> float:
    """Return what a unit of `x` (n,) gains within prompts, in sd; 0 where it does not differ."""
    within = _Within.of(x[:, None], held, prompts)
    return float(within.effects(rewards)[0][0]) if within.squares.sum() > _NONE else 0.0


def _described(
    answers: pd.DataFrame,
    ranks: _Floats,
    effect: float,
    length: _Floats,
    places: Sequence[NDArray[np.intp]],
) -> dict[str, Any]:
    """Return what is said of a kind: its share, how often it is picked, and two answers.

    The two are to one prompt: of those of which the one with the higher rank got more, as the
    effect has it, they differ much in rank and little in length.
    """
    rewards, texts = answers["reward"].to_numpy(float), answers["response"].to_numpy(dtype=object)
    of_kind = ranks > 1  # 1 is the middle
    draws = 2 ** (min(MOST, *map(len, places)).bit_length() - 1)
    picked = np.mean([winning(rewards[own], draws) @ of_kind[own] for own in places])
    best, pair = -math.inf, (0, 0)
    for own in places:
        apart = np.subtract.outer(ranks[own], ranks[own])
        longer = np.abs(np.subtract.outer(length[own], length[own]))
        more = np.subtract.outer(rewards[own], rewards[own]) * effect
        fits = np.where((more > 0) & (apart > 0), apart - longer, -math.inf)
        first, second = np.unravel_index(int(fits.argmax()), fits.shape)
        if fits[first, second] > best:
            best, pair = float(fits[first, second]), (int(own[first]), int(own[second]))
    return {
        "share": float(of_kind.mean()),
        "picked": float(picked / of_kind.mean()),
        "prompt": shortened(answers["prompt"].iloc[pair[0]]),
        "of_kind": shortened(texts[pair[0]]),
        "other": shortened(texts[pair[1]]),
    }


def _residual(values: _Floats, basis: _Floats, prompts: _Codes) -> _Floats:
    """Return values (n, k) less their prompts' means and what the basis (n, h) tells of them."""
    off = _centred(values, prompts)
    left: _Floats = off - basis @ (basis.T @ off)
    return left


def _centred(values: _Floats, prompts: _Codes) -> _Floats:
    means = _by_prompt(values, prompts) / np.bincount(prompts)[:, None]
    centred: _Floats = values - means[prompts]
    return centred


def _by_prompt(values: _Floats, prompts: _Codes) -> _Floats:
    """Return the sums of values (n, k) over each prompt's answers, (prompts, k)."""
    sums = np.zeros((int(prompts.max()) + 1, values.shape[1]))
    np.add.at(sums, prompts, values)
    return sums
