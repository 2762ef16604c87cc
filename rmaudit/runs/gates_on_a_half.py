"""Gates on one half of their answers: where they stand with a linear head, and with another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.head_repair import Limits
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.references import References
from rmaudit.runs.gate_contrasts import GateAsked, gate_on
from rmaudit.runs.states_of_pairs import Asking
from rmaudit.verdicts.estimates_and_bounds import Bound, Estimate, Verdict
from rmaudit.verdicts.rounded_numbers import decimals_to_show, fixed

HALVES = ("fitted", "held out")
OUTSIDE, WITHIN, PASSES, SURELY = range(4)
_CLOSE = 1e-3  # sd, by which a contrast may exceed what is tolerated

Floats = NDArray[Any]  # float32 as saved, float64 as computed


@dataclass(frozen=True)
class GateChange:
    """Findings of a gate on one half of its answers, before and after.

    `contrast` names the worst weighted sum, `excess` is by how many sd it exceeds what is
    tolerated. `found` is the gate's own estimate, None where the half is too small for it.
    """

    gate: str
    half: str
    contrast: tuple[str, str]
    excess: tuple[float, float]
    found: tuple[Estimate | None, Estimate | None]
    verdicts: tuple[str, str]

    def said(self, which: int, bound: Bound) -> str:
        """Return what was found before (0) or after (1): value and interval, or the excess.

        In as many decimals as show on which side of the bound each number lies.
        """
        found = self.found[which]
        if found is None:
            return f"{self.excess[which]:+.2f} sd over what is tolerated"
        decimals = decimals_to_show((found.low, found.value, found.high), bound.ends)
        value, low, high = (fixed(x, decimals) for x in (found.value, found.low, found.high))
        return f"{value} [{low}, {high}]"


@dataclass(frozen=True)
class HalfAsked:
    """The gates on one half of their answers, with the states of these."""

    name: str
    model: str
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
        return cls(HALVES[not references.fitting], model.name, made)

    def limits(self, old: Floats) -> tuple[list[Limits], list[Limits]]:
        """Return the limits of the contrasts of gates that fail, and of those that hold already.

        A gate that holds may be at the worst what it is: its contrasts go by means, the gate not.
        """
        failing: list[Limits] = []
        kept: list[Limits] = []
        for name, (gate, own) in self.gates.items():
            asked = gate.contrasts
            limits = Limits(asked.values(own), asked.tolerated, asked.draws(own))
            if self.standing(name, old) == OUTSIDE:
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
            return SURELY if gate.contrasts.excess(own @ head).max() <= _CLOSE else OUTSIDE
        bound = gate.declaration.bound
        low, high = bound.ends
        if low <= found.low and found.high <= high:
            return SURELY
        if bound.judge(found) is Verdict.PASS:
            return PASSES
        return WITHIN if low <= found.value <= high else OUTSIDE

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
