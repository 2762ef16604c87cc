"""Show rank gaps between words for groups of people and similar words, as tables and panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmaudit.charts import Bell, Domain, Dumbbells
from rmaudit.measures.rank_gaps import GROUPS, WORDS, Gaps

RANKS = "gap (right: ranks lower)"
CARE = "This is how the model misjudges words, not anything about people."
GAP_COLUMNS = {
    "words": "d",
    **dict.fromkeys(("gap", "low", "high", "positive frames", "negative frames"), "+.2f"),
}
_Floats = NDArray[np.float64]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Rank gap of some words to similar ones, its interval, and the gaps under either frame."""

    words: int
    gap: float
    low: float
    high: float
    positive: float
    negative: float


@dataclass(frozen=True, kw_only=True)
class AxisGap(Gap):
    """Rank gap between words for the marked groups of an axis (religion, ...) and similar words."""

    axis: str


@dataclass(frozen=True, kw_only=True)
class GroupGap(Gap):
    """Rank gap between the words for one group of people and similar words."""

    axis: str
    group: str
    marked: bool


@dataclass(frozen=True, kw_only=True)
class TermGap:
    """Rank gap of one term to similar words, under prompts for good and for bad things."""

    text: str
    positive: float
    negative: float


@dataclass(frozen=True, kw_only=True)
class GapTables:
    """Rank gaps by axis, by group, and by term, the term with the largest gap first."""

    axes: tuple[AxisGap, ...]
    groups: tuple[GroupGap, ...]
    terms: tuple[TermGap, ...]

    def example(self) -> str:
        """Return a sentence on the marked group with the largest gap; "" if there is none."""
        marked = [group for group in self.groups if group.marked]
        if not marked:
            return ""
        group = max(marked, key=lambda each: each.gap)
        good, bad = (
            f"{abs(100 * side):.0f} {'below' if side > 0 else 'above'}"
            for side in (group.positive, group.negative)
        )
        return (
            f"of 100 places, words for “{group.group}” are {good} similar words where good is "
            f"asked, {bad} where bad is"
        )


def gap_tables(found: Gaps, sides: tuple[_Floats, _Floats]) -> GapTables:
    """Return the rank gaps of axes (marked groups only), groups and terms.

    `sides` are the gaps of the terms under good and under bad prompts, shape (terms,) each.
    """
    asked, marked = found.asked, found.asked.counted
    every, of_marked = found.term_weights(asked.has_control), found.term_weights(marked)
    pooled = {
        GROUPS: (found.cluster_variance(of_marked, GROUPS), found.freedom(of_marked, GROUPS)),
        WORDS: (found.cluster_variance(every, WORDS), found.freedom(every, WORDS)),
    }

    def gap(inside: _Flags, clusters: int) -> dict[str, Any]:
        share = found.term_weights(inside)
        low, value, high = found.interval(share, *pooled[clusters], clusters)
        names = ("gap", "low", "high", "positive", "negative")
        numbers = (value, low, high, *(float(share @ side) for side in sides))
        words = int(np.unique(asked.codes[2, inside]).size)
        rounded = {name: round(number, 4) for name, number in zip(names, numbers, strict=True)}
        return {"words": words} | rounded

    axis, group, text = (asked.terms[name].tolist() for name in ("axis", "group", "text"))
    axes, groups, words = [], [], []
    for code in np.unique(asked.codes[0, marked]):
        inside = marked & (asked.codes[0] == code)
        axes.append(AxisGap(axis=axis[inside.argmax()], **gap(inside, GROUPS)))
    for code in np.unique(asked.codes[1, asked.has_control]):
        inside = asked.has_control & (asked.codes[1] == code)
        place = inside.argmax()
        about = {"axis": axis[place], "group": group[place], "marked": bool(marked[place])}
        groups.append(GroupGap(**about, **gap(inside, WORDS)))
    for place in np.flatnonzero(asked.has_control)[
        np.argsort(-found.gaps[asked.has_control], kind="stable")
    ]:
        up, down = (round(float(side[place]), 4) for side in sides)
        words.append(TermGap(text=text[place], positive=up, negative=down))
    return GapTables(axes=tuple(axes), groups=tuple(groups), terms=tuple(words))


def panel_of_gaps(
    title: str, rows: Sequence[Bell], domain: Domain, *, subtitle: str = "", axis: str = RANKS
) -> Dumbbells:
    """Return a chart panel of gaps: a row has two dots (for good and bad things) and a number.

    In rows that `row_of_gap` makes, the full dot is the gap under prompts for good things, and the
    hollow one the gap under prompts for bad things.
    """
    return Dumbbells(
        title=title,
        subtitle=(subtitle,) if subtitle else (),
        axis=axis,
        numbers="gap, with interval",
        rows=tuple(rows),
        domain=domain,
    )


def axis_limits(ends: Sequence[float]) -> Domain:
    """Return limits of a chart axis that include all of `ends` and 0, with a margin."""
    low, high = min([0.0, *ends]), max([0.0, *ends])
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def row_of_gap(row: Gap, name: str) -> Bell:
    """Return the chart row of a gap, called `name`, with dots for positive and negative prompts."""
    return Bell(name, row.positive, row.negative, row.gap, row.low, row.high)


def cells_of_gap(row: Gap) -> tuple[float, ...]:
    """Return the cells of a gap in the columns `GAP_COLUMNS` of a chart's table."""
    return row.words, row.gap, row.low, row.high, row.positive, row.negative


def group_with_star(row: GroupGap) -> str:
    """Return a group's name, with a star if it is not a marked one."""
    return row.group + ("" if row.marked else " *")


def axis_in_words(axis: str) -> str:
    """Return an axis's name without underscores."""
    return axis.replace("_", " ")
