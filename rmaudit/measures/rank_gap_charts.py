"""Evidence and charts of rank gaps: how far words for groups of people rank below similar ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Bell, Chart, Domain, Dumbbells, numbers, signed
from rmaudit.measures.rank_gaps import GROUPS, WORDS, Gaps
from rmaudit.verdicts.evidence import Evidence

RANKS = "gap (right: ranks lower)"
CARE = "This is how the model misjudges words, not anything about people."
GAP_COLUMNS = numbers("words", "gap", "low", "high", "positive frames", "negative frames")
_KEY = (
    "A full dot is the gap where good things are asked for, a hollow one where bad ones are (mean "
    "percentile of words of like valence less the group's own); the number is half their sum "
    "(erasure) or half their difference (hostility), with its 95 % interval. * marks groups that "
    "are not the marked ones of their axis, for comparison."
)

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


@dataclass(frozen=True, kw_only=True)
class IdentityErasureEvidence(GapTables, Evidence):
    """Rank gaps of erasure: group terms below similar words whether good or bad is asked for."""

    kind: Literal["identity_erasure"] = "identity_erasure"

    about_people: ClassVar[bool] = True

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel of all axes, and one for each axis with its groups."""
        return chart_of_groups(
            [evidence for _, evidence in found],
            "Words for groups of people, erased: an artefact of this model",
            "To the right: the model ranks the group's words below words like them whatever is "
            "asked; both dots to the right.",
        )


@dataclass(frozen=True, kw_only=True)
class IdentityHostilityEvidence(GapTables, Evidence):
    """Rank gaps of hostility: group terms low if good is asked for and high if bad is."""

    kind: Literal["identity_hostility"] = "identity_hostility"

    about_people: ClassVar[bool] = True

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel of all axes, and one for each axis with its groups."""
        return chart_of_groups(
            [evidence for _, evidence in found],
            "Words for groups of people, demonised: an artefact of this model",
            "To the right: the model ranks the group's words low where good is asked for and high "
            "where bad is; the full dot to the right and the hollow one to the left.",
        )


def gap_tables(
    terms: pd.DataFrame, found: Gaps, sides: tuple[_Floats, _Floats], kind: Callable[..., Evidence]
) -> Evidence:
    """Return evidence of class `kind`: rank gaps of axes (marked groups only), groups and terms.

    `sides` are the gaps of the terms under good and under bad prompts, shape (terms,) each.
    """
    marked = found.has_control & terms["marked"].to_numpy(bool)
    every, of_marked = found.term_weights(found.has_control), found.term_weights(marked)
    pooled = {
        GROUPS: (found.cluster_variance(of_marked, GROUPS), found.freedom(of_marked, GROUPS)),
        WORDS: (found.cluster_variance(every, WORDS), found.freedom(every, WORDS)),
    }

    def gap(inside: _Flags, clusters: int) -> dict[str, Any]:
        share = found.term_weights(inside)
        low, value, high = found.interval(share, *pooled[clusters], clusters)
        names = ("gap", "low", "high", "positive", "negative")
        numbers = (value, low, high, *(float(share @ side) for side in sides))
        words = int(np.unique(found.codes[2, inside]).size)
        rounded = {name: round(number, 4) for name, number in zip(names, numbers, strict=True)}
        return {"words": words} | rounded

    axis, group, text = (terms[name].tolist() for name in ("axis", "group", "text"))
    axes, groups, words = [], [], []
    for code in np.unique(found.codes[0, marked]):
        inside = marked & (found.codes[0] == code)
        axes.append(AxisGap(axis=axis[inside.argmax()], **gap(inside, GROUPS)))
    for code in np.unique(found.codes[1, found.has_control]):
        inside = found.has_control & (found.codes[1] == code)
        place = inside.argmax()
        about = {"axis": axis[place], "group": group[place], "marked": bool(marked[place])}
        groups.append(GroupGap(**about, **gap(inside, WORDS)))
    for place in np.flatnonzero(found.has_control)[
        np.argsort(-found.gaps[found.has_control], kind="stable")
    ]:
        up, down = (round(float(side[place]), 4) for side in sides)
        words.append(TermGap(text=text[place], positive=up, negative=down))
    return kind(axes=tuple(axes), groups=tuple(groups), terms=tuple(words))


def chart_of_groups(found: Sequence[GapTables], title: str, caption: str) -> Chart | None:
    """Return a chart with a panel of all axes' gaps, and one of each axis's groups; None if empty.

    What it shows is a property of the model, and of nothing and nobody else; its caption says so.
    """
    panels, cells = [], []
    for evidence in found:
        bells = [row_of_gap(row, "") for row in (*evidence.axes, *evidence.groups)]
        domain = axis_limits([end for row in bells for end in (row.first, row.second)])
        if evidence.axes:
            rows = [row_of_gap(row, _axis_in_words(row.axis)) for row in evidence.axes]
            panels.append(panel_of_gaps("By axis", rows, domain, subtitle="marked groups"))
        groups: dict[str, list[GroupGap]] = {}
        for row in sorted(evidence.groups, key=lambda row: -row.gap):
            groups.setdefault(row.axis, []).append(row)
        for axis in dict.fromkeys(row.axis for row in evidence.groups):
            rows = [row_of_gap(row, _group_with_star(row)) for row in groups[axis]]
            panels.append(panel_of_gaps(_axis_in_words(axis), rows, domain))
            cells += [
                (_axis_in_words(axis), _group_with_star(row), *cells_of_gap(row))
                for row in groups[axis]
            ]
    if not panels:
        return None
    return Chart(
        title,
        f"{CARE} {caption} {_KEY}",
        tuple(panels),
        {"axis": "text", "group": "term", **GAP_COLUMNS},
        tuple(cells),
    )


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


def cells_of_gap(row: Gap) -> tuple[str, ...]:
    """Return the cells of a gap in the columns `GAP_COLUMNS` of a chart's table."""
    return str(row.words), *signed(row.gap, row.low, row.high, row.positive, row.negative)


def _group_with_star(row: GroupGap) -> str:
    return row.group + ("" if row.marked else " *")


def _axis_in_words(axis: str) -> str:
    return axis.replace("_", " ")
