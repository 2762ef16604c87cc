"""Rank the pairs of a training file by what they taught a linear head of what a gate judges.

It covers the head only: the backbone, which was trained on the same file as a rule, is taken as
given. A pair that taught a flaw need not be a wrong one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from rmaudit.charts import Chart, Mark, MarkedRow, Points, numbers, signed, texts
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import SpecError
from rmaudit.measures import pair_influence
from rmaudit.measures.pair_influence import Influences, RefitChange
from rmaudit.references import References
from rmaudit.runs.gate_contrasts import gate_on
from rmaudit.runs.states_of_pairs import HeadAndPairs, of_lines
from rmaudit.scores.pair_files import Pairs
from rmaudit.verdicts import rounded_numbers

LIMITS = (
    "This covers the head only: what the backbone learned from the same pairs is taken as given. "
    "It names the pairs that taught the head this, which need not be wrong ones."
)
_WHOSE = ("the first ones", "as many at random")


class LeftOut(NamedTuple):
    """The change of a contrast, in sd, where so many pairs are left out: the first, or random."""

    pairs: int
    first: RefitChange
    random: RefitChange


@dataclass(frozen=True, slots=True)
class Taught:
    """The pairs of a file, ranked by what they add to a gate's worst contrast.

    Attributes:
        gate: the gate's name.
        contrast: the name of the contrast: what exceeds most what the gate tolerates.
        value: of the contrast, in sd of rewards, larger = worse.
        tolerated: by the gate, in the same unit.
        pairs: a row for each line of the file, the one that adds most first: `rank` (from 1),
            `line`, `adds` (to the contrast, in sd), `prompt`, `chosen`, `rejected` (texts; several
            answers of one line are joined), `loss`.
        left_out: what leaving out pairs does, for each of `pair_influence.SHARES`.
    """

    gate: str
    contrast: str
    value: float
    tolerated: float
    pairs: pd.DataFrame
    left_out: tuple[LeftOut, ...]

    @property
    def in_words(self) -> str:
        """Return the contrast and what is tolerated, as in `+0.310 sd; 0.250 are tolerated`."""
        decimals = max(3, rounded_numbers.decimals_to_show((abs(self.value),), (self.tolerated,)))
        value = rounded_numbers.signed(self.value, decimals)
        return f"{value} sd; {rounded_numbers.fixed(self.tolerated, decimals)} are tolerated"

    def chart(self) -> Chart:
        """Return a chart of the changes where pairs are left out, predicted and refitted."""
        rows, cells = [], []
        for each in self.left_out:
            share = f"{each.pairs:,} pairs, {each.pairs / len(self.pairs):.0%}"
            marks: list[Mark] = []
            for second, (whose, of) in enumerate(zip(_WHOSE, each[1:], strict=True)):
                marks += [
                    Mark(value=of.predicted, second=bool(second), hollow=True),
                    Mark(value=of.refitted, second=bool(second)),
                ]
                cells.append((share, whose, *signed(*of, digits=3)))
            rows.append(MarkedRow(name=share, marks=tuple(marks)))
        panel = Points(
            title=self.contrast,
            subtitle=(
                "blue: the first pairs; red: as many at random",
                "full: refitted; hollow: predicted",
            ),
            axis="change where pairs are left out, sd",
            rows=tuple(rows),
        )
        return Chart(
            f"Pairs that taught the head what {self.gate} judges",
            f"The contrast is {self.in_words}. {LIMITS}",
            (panel,),
            texts("left out", "which") | numbers("predicted, sd", "refitted, sd"),
            tuple(cells),
        )


def refuse_few(pairs: Pairs) -> None:
    """Raise `SpecError` if there are too few pairs to say anything."""
    if (many := pairs.frame["line"].nunique()) < pair_influence.FEWEST:
        raise SpecError(f"{pairs.source}: {pair_influence.too_few(many)}")


def taught(
    given: HeadAndPairs, gate: str, *, own_words: OwnWords, rng: np.random.Generator
) -> Taught:
    """Return the file's pairs, ranked by what they add to the gate's worst contrast.

    `own_words` are the user's lists, and `rng` draws the pairs that are left out at random.

    Raises:
        SpecError: the gate is unknown or has no contrasts, or there are too few pairs.
        MeasureError: all states are equal.
    """
    model, _, head, pairs, states = given
    refuse_few(pairs)
    judging = References(salt=model.spec.trained_on, own_words=own_words)
    contrasts = gate_on(gate, model, judging).contrasts
    answers = contrasts.answers
    judged = states(list(answers["prompt"]), list(answers["answer"]))
    rewards = judged @ head
    name = contrasts.excess(rewards).index[0]
    unit = contrasts.spread(rewards)
    place = contrasts.coefficients.columns.get_loc(name)
    gradient = contrasts.values(judged)[place] / unit
    differences = of_lines(pairs, states)
    found = pair_influence.influences(
        differences.to_numpy(np.float64), head.astype(np.float64), gradient
    )
    ranked = _texts(pairs).loc[differences.index].assign(adds=found.added, loss=found.losses)
    ranked = ranked.iloc[found.order].reset_index()
    ranked.insert(0, "rank", range(1, len(ranked) + 1))
    return Taught(
        gate,
        str(name),
        float(gradient @ head),
        contrasts.tolerated,
        ranked[["rank", "line", "adds", "prompt", "chosen", "rejected", "loss"]],
        tuple(_left_out(found, rng)),
    )


def _texts(pairs: Pairs) -> pd.DataFrame:
    """Return prompt, chosen and rejected of each line, by its number; turns are in JSON."""
    frame = pairs.frame
    asked = frame["prompt"].where(frame["turns"] == "", frame["turns"])
    sides = {
        name: of["response"].groupby(of["line"]).agg(" | ".join)
        for name, of in (
            ("chosen", frame[frame["chosen"]]),
            ("rejected", frame[~frame["chosen"]]),
        )
    }
    return pd.DataFrame({"prompt": asked.groupby(frame["line"]).first(), **sides})


def _left_out(found: Influences, rng: np.random.Generator) -> list[LeftOut]:
    order, drawn = found.order, rng.permutation(len(found.added))
    many = [math.ceil(share * len(order)) for share in pair_influence.SHARES]
    return [LeftOut(k, found.without(order[:k]), found.without(drawn[:k])) for k in many]
