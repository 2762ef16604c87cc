"""Measure which kinds of whole answers get a higher or lower reward, whatever their length.

A policy's answers are samples, several to a prompt. Each kind's effect is a regression within
prompts, in sd of a prompt's rewards. Nobody says beforehand which kind it may be: the interval that
decides holds for all kinds at once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, widened
from rmaudit.measures.answer_kinds_evidence import AnswerKindsEvidence, KindEffect
from rmaudit.measures.best_of_samples import PromptSamples, shortened, winning
from rmaudit.measures.kinds_within_prompts import (
    FEWEST_ANSWERS,
    FEWEST_PROMPTS,
    KindsWithinPrompts,
)
from rmaudit.measures.wanted_kinds import NOTHING, wanted_answers
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "sd of answers"
WORDS = "words"
_SHOWN = 12  # kinds
_SUREST = 3  # of them, where none is shown to have an effect
_NONE = 1e-9  # of a variance: rounding

_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp]
_Bools = NDArray[np.bool_]


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
    counts. The length is held fixed (the logarithm of `WORDS` and its square), and so are the kinds
    in `held`, except for their own effects. `sound` names kinds for which a sound model pays (+1)
    or against which it does (-1): only the contrary counts. Kinds that are `wanted` (reasons, see
    `wanted_answers`) cannot be the surest; they are shown and held fixed, so that others are not
    found because they go with these.

    Each kind's effect is what answers of it get more than others to the same prompt, the length
    held fixed, in sd of a prompt's rewards; where the kind is a number, what the upper half gets
    more than the lower one. Ranks stand for numbers, so that no outlier decides. Kinds are left out
    that are met in fewer than `FEWEST_ANSWERS` answers or `FEWEST_PROMPTS` prompts, by what their
    variance within prompts is worth.

    An error is of the jackknife over prompts, pooled with those of the other kinds, and its
    interval Student's t (`kinds_within_prompts`). The value is the size of the effect whose lower
    end is the greatest. The lower end holds for all kinds at once (Bonferroni), the upper one is
    the greatest of all. Both are widened by the numeric `noise` of a reward.

    Secondary: what a doubling of the words gains, how many kinds there are, and how many have an
    effect for sure.

    Raises:
        MeasureError: as `PromptSamples.of`; or no kind is met often enough.
    """
    samples = PromptSamples.of(answers)
    rewards, prompts = samples.rewards, samples.prompts
    length = np.log(np.maximum(kinds[WORDS].to_numpy(float), 1.0))
    lengths = np.stack([length, (length - length.mean()) ** 2], axis=1)
    tried = kinds.drop(columns=WORDS)
    ranks = 2 * scipy.stats.rankdata(tried.to_numpy(float), axis=0) / len(tried)
    every, fixed = tried.columns.astype(str), tried.columns.isin([*held])
    within = KindsWithinPrompts.of(ranks, lengths, fixed, prompts)
    often = within.met()
    spared, in_force, caveats = wanted_answers(every[often], wanted)
    own = every.isin([*spared])
    shown = _effects_of(within, every, often, rewards)
    if spared:
        within = KindsWithinPrompts.of(ranks, lengths, fixed | own, prompts)
        often = within.met()
    among = often & ~own
    if not among.any():
        raise MeasureError(
            f"no kind of answers is met in {FEWEST_ANSWERS} answers and {FEWEST_PROMPTS} prompts"
        )
    found = _effects_of(within, every, among, rewards)
    many, effects = len(found), found["effect"].to_numpy()
    counts = np.array([-sound.get(name, 0) for name in found.index])
    side = np.where(counts == 0, np.sign(effects), counts)
    found["reach"] = reach = _reach(found, many)
    shown["reach"] = _reach(shown, len(shown))
    shown = shown[shown.index.isin([*spared])]
    sizes = side * effects
    order = np.argsort(reach - sizes, kind="stable")
    top, sure = int(order[0]), int((sizes > reach).sum())
    first = order[: max(_SUREST, min(_SHOWN, sure))]
    rows = [
        KindEffect(
            answers=name,
            effect=effect,
            low=effect - half,
            high=effect + half,
            **_described(answers, samples, ranks[:, every == name][:, 0], effect, length),
            wanted=spared.get(name, ""),
        )
        for name, effect, _, _, half in pd.concat([found.iloc[first], shown]).itertuples()
    ]
    estimate = Estimate(
        value=max(float(sizes[top]), 0.0),
        low=max(float((sizes - reach)[top]), 0.0),
        high=max(float((sizes + _reach(found, 1)).max()), 0.0),
        unit=UNIT,
        n=len(answers),
        together=many,
        interval=f"Student's t, pooled jackknife over prompts, the surest of {many:,} kinds",
        secondary={
            "a doubling of the words": _gain(length / math.log(2), rewards, prompts),
            "kinds": many,
            "kinds with an effect": sure,
        },
        evidence=AnswerKindsEvidence(rows=tuple(rows), wanted=in_force),
        caveats=caveats,
    )
    surest = within.only(every == found.index[top])

    def value_of(drawn: _Floats) -> float:
        return max(float(side[top] * surest.effects(drawn)[0]), 0.0)

    return widened(estimate, value_of, rewards, noise, rng, within=(0.0, math.inf))


def _effects_of(
    within: KindsWithinPrompts, names: pd.Index, among: _Bools, rewards: _Floats
) -> pd.DataFrame:
    """Return a row for each kind that is `among` all (k,): `effect`, `error` (sd) and `freedom`."""
    own = within.only(among)
    errors, freedom = own.errors(rewards)
    columns = {"effect": own.effects(rewards), "error": errors, "freedom": freedom}
    return pd.DataFrame(columns, index=names[among])


def _reach(found: pd.DataFrame, together: int) -> _Floats:
    """Return half of each interval's width (k,), where so many intervals hold at once."""
    freedom = found["freedom"].to_numpy()
    half: _Floats = found["error"].to_numpy() * scipy.stats.t.isf(0.025 / together, freedom)
    return half


def _gain(x: _Floats, rewards: _Floats, prompts: _Codes) -> float:
    """Return what a unit of `x` (n,) gains within prompts, in sd; 0 where it does not differ."""
    within = KindsWithinPrompts.of(x[:, None], np.empty((len(x), 0)), np.zeros(1, bool), prompts)
    return float(within.effects(rewards)[0]) if within.squares.sum() > _NONE else 0.0


def _described(
    answers: pd.DataFrame, samples: PromptSamples, ranks: _Floats, effect: float, length: _Floats
) -> dict[str, Any]:
    """Return what is said of a kind: its share, how often it is picked, and two answers.

    The two are to one prompt: of those of which the one with the higher rank got more, as the
    effect has it, they differ much in rank and little in length.
    """
    rewards, texts = samples.rewards, answers["response"].to_numpy(dtype=object)
    of_kind = ranks > 1  # 1 is the middle
    picked = np.mean([winning(rewards[o], samples.draws) @ of_kind[o] for o in samples.rows])
    best, pair = -math.inf, (0, 0)
    for own in samples.rows:
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
