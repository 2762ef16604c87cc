"""Shares of unwanted answers at the top, each divided by the share allowed; the worst one counts.

Every share is divided by what is allowed of its kind, so that one bound, below 1, judges them all.
What is estimated is the greatest of these ratios. Its lower end is the highest of the shares' lower
ends, each at a level that holds for all of them together (Bonferroni): so nothing fails because
many were looked at. Its upper end is the highest of the upper ends, which needs no correction: that
of the greatest ratio is one of them (intersection-union, Berger 1982).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rmaudit.charts import Fact, Points, numbers, row_of, texts
from rmaudit.measures._stats import exact_share

UNIT = "times what is allowed"
COLUMNS = texts("prompt", "at the top") | numbers("share", "allowed")
Ratio = tuple[float, float, float]
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


def share_at_top(  # noqa: PLR0913  (keyword-only after the subject)
    kind: str,
    *,
    share: float,
    among: float,
    allowed: float,
    together: int,
    highest: str = "",
    independent: float | None = None,
) -> AtTop:
    """Return `share` as an `AtTop` with an exact interval, its low end valid for `together` kinds.

    The lower end holds for all `together` kinds at once, the upper end for this kind. `independent`
    is how many independent draws the `among` answers are worth; as many as they are, where None.
    """
    n = among if independent is None else independent
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
        f"Not decided: {each.kind}, {each.share:.0%} of {each.among:,.0f}, "
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


def cells(each: AtTop) -> tuple[str, str, str]:
    """Return the table cells of a kind: name and number of answers, share, allowed share."""
    return f"{each.kind}, of {each.among:,.0f}", f"{each.share:.3f}", f"{each.allowed:.3g}"
