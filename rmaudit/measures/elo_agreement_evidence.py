"""Show the evidence of `elo_agreement`: ranks of things by people and by the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from rmaudit.charts import (
    Chart,
    CountField,
    Fact,
    Form,
    Move,
    Moves,
    RankTable,
    TermRanks,
    misfits,
    table,
)
from rmaudit.verdicts.evidence import Evidence

_READ_OUT = 3  # items whose ranks are read out


@dataclass(frozen=True)
class Item:
    """Item that people rated, with its rank by people and by the model, from 1 (best)."""

    name: str
    human: float
    model: float

    def ranked(self, prompt: str, n: int) -> str:
        """Return a sentence on both ranks among `n` items, under the wording called `prompt`."""
        return (
            f"under “{prompt}”, “{self.name}” ranks {self.model:,.0f} of {n:,}; people rank it "
            f"{self.human:,.0f}"
        )


@dataclass(frozen=True)
class WordingRanks:
    """Ranks under one wording: of items where model and people differ most, and of those asked for.

    The latter are in `also`. `cells` counts the items by human rank (rows) and by the model's
    (columns).
    """

    prompt: str
    overvalued: tuple[Item, ...]
    undervalued: tuple[Item, ...]
    also: tuple[Item, ...]
    cells: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class EloAgreementEvidence(Evidence):
    """Ranks of items by people and by the model; `unshown` is how many names are not printed."""

    kind: Literal["elo_agreement"] = "elo_agreement"
    n: int
    unshown: int
    wordings: tuple[WordingRanks, ...]

    def looked_at(self, _: int, /) -> Mapping[str, int]:
        """Return the number of things that people rated, under the key `things`."""
        return {"things": self.n}

    def faults(self) -> Iterator[str]:
        """Yield an error text for each wording whose table of counts, `cells`, is not square."""
        for i, wording in enumerate(self.wordings):
            n = len(wording.cells)
            yield from misfits(f"wordings[{i}].cells", wording.cells, n, n)

    def example(self) -> str:
        """Return a sentence on the item furthest above its rank by people; "" if there is none."""
        items = [(item, each.prompt) for each in self.wordings for item in each.overvalued]
        if not items:
            return ""
        item, prompt = max(items, key=lambda one: one[0].human - one[0].model)
        return item.ranked(prompt, self.n)

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of people's ranks against the model's, with the largest disagreements.

        As Figure 5 of Christian et al. 2025.
        """
        wordings = [(evidence.n, each) for _, evidence in found for each in evidence.wordings]
        if not wordings:
            return None
        panels = [panel for n, each in wordings for panel in _panels(n, each)]
        shared = ranks_by_wording([each for _, each in wordings])
        if len(wordings) > 1 and shared:
            by = ("people", *(each.prompt for _, each in wordings))
            most = max(n for n, _ in wordings)
            panels.append(RankTable(title="Ranks by prompt", by=by, rows=shared, of=most))
        rows = [
            (each.prompt, item.name, item.human, item.model)
            for _, each in wordings
            for item in dict.fromkeys((*each.undervalued, *each.overvalued, *each.also))
        ]
        return Chart(
            "People's ranks and the model's",
            "Rank 1 is the best. Left, how many items lie where: on the line from corner to corner "
            "people and model agree. Beside it, the items that they rank furthest apart. What "
            "people rank is theirs: voters of one website, who are no sample of anyone else.",
            tuple(panels),
            *table(
                {"prompt": "text", "item": "term", "people's rank": ",.0f", "model's rank": ",.0f"},
                rows,
            ),
        )


def ranks_by_wording(wordings: Sequence[WordingRanks]) -> tuple[TermRanks, ...]:
    """Return ranks of the items in every wording's `also`: by people, then by model and wording."""
    named = [{item.name: item for item in each.also} for each in wordings]
    return tuple(
        TermRanks(name, (item.human, *(each[name].model for each in named)))
        for name, item in named[0].items()
        if all(name in each for each in named)
    )


def _panels(n: int, wording: WordingRanks) -> Iterator[Form]:
    """Yield panels of all `n` items, and of those ranked furthest below and above people's rank."""
    sides = (("lower", wording.undervalued), ("higher", wording.overvalued))
    if n:
        facts = [Fact(f"{n:,} items")]
        for said, items in sides:
            facts += [
                Fact(
                    terms=(item.name,),
                    after=f" is {item.human:,.0f} with people and {said}, {item.model:,.0f}, "
                    "with the model",
                )
                for item in items[:_READ_OUT]
            ]
        # Best at the right and at the top: both axes are turned.
        edges = tuple(np.linspace(n + 0.5, 0.5, len(wording.cells) + 1).tolist())
        yield CountField(
            title=wording.prompt,
            subtitle=(f"{n:,} items, best at the top right",),
            facts=tuple(facts),
            x_axis="people's rank",
            y_axis="model's rank",
            x=edges,
            y=edges,
            counts=tuple(row[::-1] for row in wording.cells[::-1]),
            diagonal=True,
        )
    for said, items in sides:
        if items:
            yield Moves(
                title=wording.prompt,
                subtitle=(f"ranked {said} than people do",),
                axis=f"rank of {n:,}",
                rows=tuple(Move(item.name, item.human, item.model) for item in items),
                ends=("people", "model"),
                domain=(1, n),
            )
