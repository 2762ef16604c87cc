"""Mend a linear head: the least change, found on one half of words and contexts, judged on both.

What gates find before and after is exact: a reward is the product of a state and a head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import MeasureError, SpecError
from rmaudit.measures import head_repair
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.runs.gate_contrasts import checked_gate
from rmaudit.runs.gates_on_a_half import (
    OUTSIDE,
    SURELY,
    WITHIN,
    Floats,
    GateChange,
    HalfAsked,
)
from rmaudit.runs.states_of_pairs import Asking, HeadAndPairs, of_lines
from rmaudit.scores.pair_files import EXAMPLE, Pairs
from rmaudit.scores.token_sample import spread

SALT = "rmaudit mend 5"  # of a model without one: it halves blocks of sentences evenly
FEWEST = 30  # groups of pairs in either half
_WORDS = 2_000  # token ids whose rewards are to stay, and as many that are compared
_KEPT = ("greatest", "worst")  # the prompts to which they are answers
_NEXT = "nothing was written: change the training pairs (`rmaudit why` ranks them) and train again"

AsSaved = Callable[[Floats], NDArray[np.float32]]


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
            on the half that was held out a gate that is mended gets worse, or one that is kept
            leaves its bound.
    """
    model, _, head, pairs, states = given
    fitting, judging = (
        References(salt=salt_of(model), fitting=fits, own_words=own_words) for fits in (True, False)
    )
    names = [checked_gate(gate) for gate in dict.fromkeys(gates)]
    fits = _fitted_rows(pairs, fitting)
    halves = [HalfAsked.of(names, model, own, states) for own in (fitting, judging)]
    fitted, old = halves[0], head.astype(np.float64)
    failing = [name for name in names if fitted.standing(name, old) == OUTSIDE]
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
    for change in changes:
        if change.half == halves[1].name:
            _refuse_worse(change, halves[1], head, new, mended=change.gate in failing)
    return Mended(
        new,
        head,
        tuple(changes),
        (before, after),
        int((~lines).sum()),
        float(scipy.stats.spearmanr(compared @ head, compared @ new).statistic),
        float(old @ new / np.linalg.norm(old) / np.linalg.norm(new)),
    )


def _refuse_worse(
    change: GateChange, held_out: HalfAsked, old: Floats, new: Floats, *, mended: bool
) -> None:
    """Raise `MeasureError` if a gate gets worse on the half of its answers that no repair saw.

    A gate that is mended may not get worse at all, one that is kept may not leave its bound. No
    other repair is tried after this half was looked at: it would no longer be held out.
    """
    name, (before, after) = change.gate, change.excess
    if mended and after > before:
        raise MeasureError(
            f"{held_out.model}: what mends {name} on one half of its answers makes the other half "
            f"worse, by {after - before:.2f} sd ({change.contrast[1]}): the states have no "
            f"direction of this flaw, and no linear head mends it; {_NEXT}"
        )
    if not mended and held_out.standing(name, old) > held_out.standing(name, new) == OUTSIDE:
        bound = held_out.gates[name][0].declaration.bound
        was, now = (change.said(which, bound) for which in (0, 1))
        raise MeasureError(
            f"{held_out.model}: {name} held and was to be kept, but on the half of its answers "
            f"that was held out the smallest repair takes it out of its bound "
            f"({change.contrast[1]}): {was} before, {now} after, must be {bound}; "
            f"{_NEXT}, or leave out `--gate {name}` for the repair that does not keep it"
        )


def _least_that_holds(
    fitted: HalfAsked, old: Floats, measured_by: Floats, as_saved: AsSaved
) -> NDArray[np.float32] | None:
    """Return the least changed head by which the gates stand best; None if one stays outside."""
    best, found = (WITHIN, -1), None
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
        if min(each) == SURELY:
            break
    return found


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
