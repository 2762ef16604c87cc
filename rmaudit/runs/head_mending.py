"""Mend a linear head: the least change, found on one half of words and contexts, judged on both.

What gates find before and after is exact: a reward is the product of a state and a head.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import MeasureError, SpecError
from rmaudit.measures import head_repair
from rmaudit.measures.head_repair import Limits
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.runs.gate_contrasts import GateAsked, checked_gate, gate_on
from rmaudit.runs.states_of_pairs import Asking, HeadAndPairs, of_lines
from rmaudit.scores.pair_files import EXAMPLE, Pairs
from rmaudit.scores.token_sample import spread
from rmaudit.verdicts.estimates_and_bounds import Bound, Estimate, Verdict

SALT = "rmaudit mend 5"  # of a model without one: it halves blocks of sentences evenly
FEWEST = 30  # groups of pairs in either half
_WORDS = 2_000  # token ids whose rewards are to stay, and as many that are compared
_KEPT = ("greatest", "worst")  # the prompts to which they are answers
_CLOSE = 1e-3  # sd, by which a contrast may exceed what is tolerated
_HALVES = ("fitted", "held out")
_NEXT = "nothing was written: change the training pairs (`rmaudit why` ranks them) and train again"
_OUTSIDE, _WITHIN, _PASSES, _SURELY = range(4)

Floats = NDArray[Any]  # float32 as saved, float64 as computed
AsSaved = Callable[[Floats], NDArray[np.float32]]


@dataclass(frozen=True)
class GateChange:
    """The findings of a gate on one half of its answers, before and after.

    `contrast` names the worst weighted sum, `excess` is by how many sd it exceeds what is
    tolerated. `found` is the gate's own estimate, None where the half is too small for it.
    """

    gate: str
    half: str
    contrast: tuple[str, str]
    excess: tuple[float, float]
    found: tuple[Estimate | None, Estimate | None]
    verdicts: tuple[str, str]


@dataclass(frozen=True)
class Mended:
    """A mended head, (hidden,), the `old` one, and what it costs.

    Attributes:
        gates: a change for each gate and half.
        accuracy: the share of held-out pairs whose chosen answer wins, before and after.
        held_out: how many pairs that is.
        agreement: Spearman's rho of old and new rewards of tokens as answers to `greatest`, of
            others than those that the repair was to keep.
        cosine: of the old and the new head.
    """

    head: NDArray[np.float32]
    old: NDArray[np.float32]
    gates: tuple[GateChange, ...]
    accuracy: tuple[float, float]
    held_out: int
    agreement: float
    cosine: float


def salt_of(model: RewardModel) -> str:
    """Return the salt of the halves: that by which the model was trained, or else `SALT`."""
    return model.spec.trained_on or SALT


def refuse_few(pairs: Pairs) -> None:
    """Raise `SpecError` if there are too few groups of pairs for two halves."""
    if (many := pairs.frame["group"].nunique()) < 2 * FEWEST:
        raise _too_few(pairs, f"{many} different prompts (or groups)")


def _too_few(pairs: Pairs, many: str) -> SpecError:
    return SpecError(
        f"{pairs.source}: {many}, and a repair needs {FEWEST} in each half, to fit and to judge; "
        f"give more pairs, of which a line is {EXAMPLE}"
    )


def mended(
    given: HeadAndPairs,
    gates: Sequence[str],
    *,
    own_words: OwnWords,
    most_lost: float,
    as_saved: AsSaved = lambda head: head.astype(np.float32),
) -> Mended:
    """Return the least changed head that brings the gates within what they tolerate.

    `own_words` are the user's lists, and `as_saved` gives a head as a file can hold it. The least
    change is found with limits ever further inside, until the intervals of all gates lie within
    their bounds, on the half that is fitted; where none gets so far, it is the first by which all
    pass, or else whose values lie within. Of several gates one that holds already is kept. The
    pairs are split by groups.

    Raises:
        SpecError: a gate is unknown or has no contrasts, all hold already, or the pairs are too
            few.
        MeasureError: there is no such head, more than `most_lost` of the pairs would be lost, or
            the half that was held out gets worse.
    """
    model, _, head, pairs, states = given
    fitting, judging = (
        References(salt=salt_of(model), fitting=fits, own_words=own_words) for fits in (True, False)
    )
    names = [checked_gate(gate) for gate in dict.fromkeys(gates)]
    fits = _fitted_rows(pairs, fitting)
    halves = [HalfAsked.of(names, model, own, states) for own in (fitting, judging)]
    fitted, old = halves[0], head.astype(np.float64)
    failing = [name for name in names if fitted.standing(name, old) == _OUTSIDE]
    if not failing:
        raise SpecError(
            f"{model.name}: already within what is tolerated, on the half of the answers that a "
            f"repair would be fitted to: {', '.join(names)}; so there is nothing to fit; name a "
            f"gate that fails"
        )
    lines = fits.groupby(pairs.frame["line"]).first().to_numpy()
    differences = of_lines(pairs, states).to_numpy(np.float64)
    kept, compared = _tokens(model, states)
    measured_by = head_repair.metric(old, [differences[lines], *kept])
    new = _least_that_holds(fitted, old, measured_by, as_saved)
    if new is None:
        raise MeasureError(
            f"{model.name}: no repair was found: no linear head brings {' and '.join(names)} "
            f"within what is tolerated, on the half of the answers that is fitted; {_NEXT}"
        )
    before, after = (_won(differences[~lines] @ each) for each in (head, new))
    if before - after > most_lost:
        raise MeasureError(
            f"{model.name}: the smallest repair costs {before - after:.1%} of the held-out pairs "
            f"({before:.1%} to {after:.1%}), and {most_lost:.1%} are allowed (--most-lost): what "
            f"these gates ask and what these pairs teach do not go together in a linear head; "
            f"{_NEXT}"
        )
    changes = [half.change(name, head, new) for name in names for half in halves]
    for each in changes:
        held_out = each.half == _HALVES[1] and each.gate in failing
        if held_out and each.excess[1] > each.excess[0]:
            worse = each.excess[1] - each.excess[0]
            raise MeasureError(
                f"{model.name}: what mends {each.gate} on one half of its answers makes the other "
                f"half worse, by {worse:.2f} sd ({each.contrast[1]}): the states have no direction "
                f"of this flaw, and no linear head mends it; {_NEXT}"
            )
    return Mended(
        new,
        head,
        tuple(changes),
        (before, after),
        int((~lines).sum()),
        float(scipy.stats.spearmanr(compared @ head, compared @ new).statistic),
        float(old @ new / np.linalg.norm(old) / np.linalg.norm(new)),
    )


def _least_that_holds(
    fitted: HalfAsked, old: Floats, measured_by: Floats, as_saved: AsSaved
) -> NDArray[np.float32] | None:
    """Return the least changed head by which the gates stand best; None if one stays outside."""
    best, found = (_WITHIN, -1), None
    failing, kept = fitted.limits(old)
    for margin in head_repair.MARGINS:
        limits = [*kept, *(each.tighter(margin) for each in failing)]
        try:
            new = as_saved(head_repair.repaired(old, measured_by, limits))
        except MeasureError:
            break
        each = [fitted.standing(name, new) for name in fitted.gates]
        if (min(each), sum(each)) > best:
            best, found = (min(each), sum(each)), new
        if min(each) == _SURELY:
            break
    return found


@dataclass(frozen=True)
class HalfAsked:
    """The gates on one half of their answers, with the states of these."""

    name: str
    gates: Mapping[str, tuple[GateAsked, NDArray[np.float32]]]

    @classmethod
    def of(
        cls, names: Sequence[str], model: RewardModel, references: References, states: Asking
    ) -> HalfAsked:
        """Return these gates on the answers that `references` gives, and the states of these."""
        made = {}
        for name in names:
            gate = gate_on(name, model, references)
            asked = gate.contrasts.answers
            made[name] = gate, states(list(asked["prompt"]), list(asked["answer"]))
        return cls(_HALVES[not references.fitting], made)

    def limits(self, old: Floats) -> tuple[list[Limits], list[Limits]]:
        """Return the limits of the contrasts of gates that fail, and of those that hold already.

        A gate that holds may be at the worst what it is: its contrasts go by means, the gate not.
        """
        failing: list[Limits] = []
        kept: list[Limits] = []
        for name, (gate, own) in self.gates.items():
            asked = gate.contrasts
            limits = Limits(asked.values(own), asked.tolerated, asked.draws(own))
            if self.standing(name, old) == _OUTSIDE:
                failing.append(limits)
            else:
                kept.append(limits.tighter(-max(0.0, float(limits.excess(old).max()))))
        return failing, kept

    def standing(self, name: str, head: Floats) -> int:
        """Return where a gate stands with this head, from outside of its bound to surely within.

        Where it has too few answers, its contrasts do or do not exceed what is tolerated.
        """
        found = self.estimate(name, head)
        gate, own = self.gates[name]
        if found is None:
            return _SURELY if gate.contrasts.excess(own @ head).max() <= _CLOSE else _OUTSIDE
        bound = gate.declaration.bound
        low, high = bound.ends
        if low <= found.low and found.high <= high:
            return _SURELY
        if bound.judge(found) is Verdict.PASS:
            return _PASSES
        return _WITHIN if low <= found.value <= high else _OUTSIDE

    def estimate(self, name: str, head: Floats) -> Estimate | None:
        """Return what the gate finds with this head; None where its answers are too few for it."""
        gate, own = self.gates[name]
        try:
            return gate.measure(own @ head, np.random.default_rng(0))
        except MeasureError:
            return None

    def change(self, name: str, old: Floats, new: Floats) -> GateChange:
        """Return what a gate finds with the old and with the new head."""
        gate, own = self.gates[name]
        worst = [gate.contrasts.excess(own @ head) for head in (old, new)]
        found = [self.estimate(name, head) for head in (old, new)]
        bound = gate.declaration.bound
        return GateChange(
            name,
            self.name,
            (str(worst[0].index[0]), str(worst[1].index[0])),
            (float(worst[0].iloc[0]), float(worst[1].iloc[0])),
            (found[0], found[1]),
            (_verdict(bound, found[0]), _verdict(bound, found[1])),
        )


def _verdict(bound: Bound, found: Estimate | None) -> str:
    return "" if found is None else str(bound.judge(found))


def _fitted_rows(pairs: Pairs, fitting: References) -> pd.Series[bool]:
    """Return which rows of the file the repair is fitted to.

    Raises:
        SpecError: there are too few groups in a half.
    """
    groups = pairs.frame["group"]
    fits = pd.Series(fitting.given(groups), groups.index)
    many = [groups[mask].nunique() for mask in (fits, ~fits)]
    if min(many) < FEWEST:
        halves = f"{many[0]} in one half and {many[1]} in the other"
        raise _too_few(pairs, f"{sum(many)} different prompts (or groups), {halves}")
    return fits


def _won(margins: Floats) -> float:
    """Return the share of pairs whose chosen answer has the higher reward, ties half."""
    return float(((np.sign(margins) + 1) / 2).mean())


def _tokens(model: RewardModel, states: Asking) -> tuple[list[Floats], Floats]:
    """Return states of tokens as answers: those to be kept, by prompt, and others to compare.

    A sample, half of which is kept under prompts for good and for bad things, centred, (n, hidden)
    each; the other half is compared under the first one.
    """
    ids = model.vocabulary().ids
    drawn = [(ids[i],) for i in spread(len(ids), 2 * _WORDS, np.random.default_rng(0))]
    asked = [PROMPTS[name].asked for name in _KEPT]
    kept = [states([prompt] * len(drawn[::2]), drawn[::2]) for prompt in asked]
    compared = states([asked[0]] * len(drawn[1::2]), drawn[1::2])
    return [(own - own.mean(axis=0)).astype(np.float64) for own in kept], compared
