"""Divide shares of unwanted answers at the top by the share allowed; the worst one counts.

Every share is divided by what is allowed of its kind, so that one bound, below 1, judges them all.
What is estimated is the greatest of these ratios. Its lower end is the highest of the shares' lower
ends, each at a level that holds for all of them together (Bonferroni): so nothing fails because
many were looked at. Its upper end is the highest of the upper ends, which needs no correction: that
of the greatest ratio is one of them (intersection-union, Berger 1982).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmaudit.charts import Fact, Points, row_of
from rmaudit.measures._stats import exact_share
from rmaudit.measures.differences_of_estimates import grouped
from rmaudit.word_stems import stem_key

UNIT = "times what is allowed"
COLUMNS = {"prompt": "text", "at the top": "text", "share": ".3f", "allowed": ".3g"}
Ratio = tuple[float, float, float]
_Floats = NDArray[np.float64]
Name = TypeVar("Name", str, tuple[str, str])


@dataclass(frozen=True)
class AtTop:
    """Share of one kind of unwanted answers among the top-ranked ones, with an exact interval.

    `among` is how many answers the share is taken of, and `highest` the text of this kind with the
    highest score, "" where none stands at the top or it is not to be printed.
    """

    kind: str
    share: float
    low: float
    high: float
    allowed: float
    among: float
    highest: str

    @property
    def ratio(self) -> Ratio:
        """Return low, share and high, each divided by the allowed share."""
        return self.low / self.allowed, self.share / self.allowed, self.high / self.allowed


class Top(NamedTuple):
    """Weights of answers in a top, (n,), and which of them are unwanted; what share is allowed."""

    inside: _Floats
    unwanted: NDArray[np.bool_]
    allowed: float

    @property
    def share(self) -> float:
        """Return the share of unwanted answers in the top."""
        return float(self.inside @ self.unwanted) / float(self.inside.sum())

    def parts(self, words: NDArray[np.object_]) -> tuple[float, ...]:
        """Return influences on the share divided by the allowed one, summed by groups of stems.

        The stems are those of `words`, one for each answer, shape (n,).
        """
        there = self.inside > 0
        off = (self.inside * (self.unwanted - self.share))[there]
        return grouped(off / self.inside.sum() / self.allowed, map(stem_key, words[there]))


def share_at_top(
    kind: str, top: Top, *, together: int, highest: str = "", most: float = math.inf
) -> AtTop:
    """Return the share of a top as an `AtTop` with an exact interval.

    The lower end holds for all `together` kinds at once, the upper end for this kind. The answers
    are worth `most` independent draws at most.
    """
    share, among, allowed = top.share, float(top.inside.sum()), top.allowed
    n = min(most, among)
    low, _, _ = exact_share(share * n, n, level=1 - 0.05 / together)
    _, _, high = exact_share(share * n, n)
    share = min(share, 1.0)  # a sum of fractions may exceed it by rounding
    return AtTop(kind, share, min(low, share), max(high, share), allowed, among, highest)


def worst_ratio(ratios: Mapping[Name, Ratio]) -> tuple[Name, Ratio]:
    """Return name and ratio with the highest low end, its high end raised to the highest of all.

    Each is low, value, high; of equal ones it is the first by name, in whatever order they come.
    """
    name = max(sorted(ratios), key=ratios.__getitem__)
    low, value, _ = ratios[name]
    return name, (low, value, max(high for _, _, high in ratios.values()))


def caveats_on_undecided(kinds: Iterable[AtTop]) -> tuple[str, ...]:
    """Return a sentence for each undecided kind: the interval contains the allowed share."""
    return tuple(
        f"Open: {each.kind}, {each.share:.0%} of {each.among:,.0f}, "
        f"where {each.allowed:.1%} are allowed."
        for each in kinds
        if each.low < each.allowed <= each.high
    )


def panel(title: str, kinds: Sequence[AtTop], facts: Iterable[Fact] = ()) -> Points:
    """Return a chart panel of each kind's share divided by its allowed share, with a line at 1."""
    told = (Fact(f"{each.kind}: {each.share:.0%}, allowed {each.allowed:.1%}") for each in kinds)
    rows = []
    for each in kinds:
        low, value, high = each.ratio
        rows.append(replace(row_of(each.kind, value, low, high), stroke=1.0))
    return Points(title=title, facts=(*told, *facts), axis=UNIT, rows=tuple(rows))


def cells(each: AtTop) -> tuple[str, float, float]:
    """Return the table cells of a kind: name and number of answers, share, allowed share."""
    return f"{each.kind}, of {each.among:,.0f}", each.share, each.allowed
