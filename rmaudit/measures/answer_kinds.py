"""Measure which kinds of whole answers get a higher or lower reward, whatever their length.

A policy's answers are samples, several to a prompt. Each kind's effect is a regression within
prompts, in sd of a prompt's rewards. Nobody says beforehand which kind it may be: the interval that
decides holds for all kinds at once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, widened
from rmaudit.measures.answer_kinds_evidence import AnswerKindsEvidence, KindEffect
from rmaudit.measures.best_of_answers import WORDS, PromptSamples, shortened, winning
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
_Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class _Within:
    """Kinds within prompts, the length held fixed, and for all but `held` kinds these as well.

    `x` (n, k) is what is left of the kinds, `squares` its sums of squares (prompts, k). The two
    bases are what is taken out of rewards: for kinds that are held (k,), and for all others.
    """

    prompts: _Codes
    held: _Bools
    bases: tuple[_Floats, _Floats]
    x: _Floats
    squares: _Floats

    @classmethod
    def of(cls, x: _Floats, lengths: _Floats, held: _Bools, prompts: _Codes) -> _Within:
        """Return the residuals of `x` (n, k) on the lengths (n, h), or on held kinds as well."""
        bases = _basis(lengths, prompts), _basis(np.hstack([lengths, x[:, held]]), prompts)
        left = np.where(held, *(_residual(x, basis, prompts) for basis in bases))
        return cls(prompts, held, bases, left, _by_prompt(left**2, prompts))

    def effects(self, rewards: _Floats) -> tuple[_Floats, _Floats]:
        """Return each kind's effect on the rewards, in sd of a prompt's, and its error, (k,) each.

        The error is of the jackknife over prompts; the spread of the rewards is estimated, too.
        """
        off = _centred(rewards[:, None], self.prompts)
        counts = np.bincount(self.prompts)
        squares, freedom = _by_prompt(off**2, self.prompts)[:, 0], counts - 1
        left_of = np.where(self.held, *(_residual(off, b, self.prompts) for b in self.bases))
        products = _by_prompt(self.x * left_of, self.prompts)
        effects = products.sum(axis=0) / self.squares.sum(axis=0)
        spread = math.sqrt(squares.sum() / freedom.sum())
        left = (products.sum(axis=0) - products) / (self.squares.sum(axis=0) - self.squares)
        spreads = np.sqrt((squares.sum() - squares) / (freedom.sum() - freedom))
        left /= spreads[:, None]
        many = len(counts)
        errors = np.sqrt((many - 1) / many * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
        return effects / spread, errors

    def met(self) -> tuple[_Bools, _Floats]:
        """Return which kinds are met often enough (k,), and in how many prompts, as equal ones."""
        total = self.squares.sum(axis=0)
        spread_over = total**2 / np.maximum((self.squares**2).sum(axis=0), _NONE)
        return (total >= FEWEST_ANSWERS) & (spread_over >= FEWEST_PROMPTS), spread_over

    def only(self, kinds: _Bools) -> _Within:
        """Return these kinds alone, with all that is held fixed for them."""
        return replace(
            self, held=self.held[kinds], x=self.x[:, kinds], squares=self.squares[:, kinds]
        )


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

    An error is of the jackknife over prompts, and its interval Student's t with the degrees of
    freedom of as many equal prompts (Kish 1965). The value is the size of the effect whose lower
    end is the greatest. The lower end holds for all kinds at once (Bonferroni), the upper one is
    the greatest of all. Both are widened by the numeric `noise` of a reward.

    Secondary: what a doubling of the words gains, how many kinds there are, and how many have an
    effect for sure.

    Raises:
        MeasureError: as `best_of_answers`; or no kind is met often enough.
    """
    samples = PromptSamples.of(answers)
    rewards, prompts = samples.rewards, samples.prompts
    length = np.log(np.maximum(kinds[WORDS].to_numpy(float), 1.0))
    lengths = np.stack([length, (length - length.mean()) ** 2], axis=1)
    tried = kinds.drop(columns=WORDS)
    ranks = 2 * scipy.stats.rankdata(tried.to_numpy(float), axis=0) / len(tried)
    every, fixed = tried.columns.astype(str), tried.columns.isin([*held])
    within = _Within.of(ranks, lengths, fixed, prompts)
    often, met_in = within.met()
    spared, in_force, caveats = wanted_answers(every[often], wanted)
    own = every.isin([*spared])
    shown = _effects_of(within, every, often & own, met_in, rewards)
    shown_among = int(often.sum())
    if spared:
        within = _Within.of(ranks, lengths, fixed | own, prompts)
        often, met_in = within.met()
    among = often & ~own
    if not among.any():
        raise MeasureError(
            f"no kind of answers is met in {FEWEST_ANSWERS} answers and {FEWEST_PROMPTS} prompts"
        )
    found = _effects_of(within, every, among, met_in, rewards)
    many, effects = len(found), found["effect"].to_numpy()
    side = np.array([-sound.get(name, 0) for name in found.index])

    def towards(effects: _Floats) -> _Floats:
        """Return how large each effect is; where only one side counts, on that side."""
        return np.where(side == 0, np.abs(effects), side * effects)

    def value_of(effects: _Floats) -> float:
        return max(float(towards(effects)[top]), 0.0)

    found["reach"] = reach = _reach(found, many)
    shown["reach"] = _reach(shown, shown_among)
    sizes = towards(effects)
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
        value=value_of(effects),
        low=max(float((sizes - reach)[top]), 0.0),
        high=max(float((sizes + _reach(found, 1)).max()), 0.0),
        unit=UNIT,
        n=len(answers),
        together=many,
        interval=f"Student's t, jackknife over prompts, the surest of {many} kinds",
        secondary={
            "a doubling of the words": _gain(length / math.log(2), rewards, prompts),
            "kinds": many,
            "kinds with an effect": sure,
        },
        evidence=AnswerKindsEvidence(rows=tuple(rows), wanted=in_force),
        caveats=caveats,
    )
    of_kinds = within.only(among)
    return widened(
        estimate,
        lambda drawn: value_of(of_kinds.effects(drawn)[0]),
        rewards,
        noise,
        rng,
        within=(0.0, math.inf),
    )


def _effects_of(
    within: _Within, names: pd.Index, among: _Bools, met_in: _Floats, rewards: _Floats
) -> pd.DataFrame:
    """Return a row for each kind that is `among` all (k,): `effect` and `error`, in sd; `freedom`.

    A kind is met in so many prompts (`met_in`), which are its degrees of freedom and one more.
    """
    effects, errors = within.only(among).effects(rewards)
    columns = {"effect": effects, "error": errors, "freedom": met_in[among] - 1}
    return pd.DataFrame(columns, index=names[among])


def _reach(found: pd.DataFrame, together: int) -> _Floats:
    """Return half of each interval's width (k,), where so many intervals hold at once."""
    freedom = found["freedom"].to_numpy()
    half: _Floats = found["error"].to_numpy() * scipy.stats.t.ppf(1 - 0.025 / together, freedom)
    return half


def _gain(x: _Floats, rewards: _Floats, prompts: _Codes) -> float:
    """Return what a unit of `x` (n,) gains within prompts, in sd; 0 where it does not differ."""
    within = _Within.of(x[:, None], np.empty((len(x), 0)), np.zeros(1, bool), prompts)
    return float(within.effects(rewards)[0][0]) if within.squares.sum() > _NONE else 0.0


def _basis(held: _Floats, prompts: _Codes) -> _Floats:
    """Return an orthonormal basis (n, h) of what is held fixed within prompts."""
    basis, sizes, _ = np.linalg.svd(_centred(held, prompts), full_matrices=False)
    kept: _Floats = basis[:, sizes > _NONE]
    return kept


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
