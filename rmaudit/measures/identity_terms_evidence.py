"""Show how words for groups of people fare worse than similar words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from rmaudit.charts import Bell, Chart, Dumbbells, Points, row_of, table
from rmaudit.measures.rank_gap_charts import (
    CARE,
    GapTables,
    GroupGap,
    axis_in_words,
    axis_limits,
    cells_of_gap,
    group_with_star,
    panel_of_gaps,
    row_of_gap,
)
from rmaudit.verdicts.evidence import Evidence

Pattern = Literal["erased", "demonised", "in the worst tenth"]
ERASED: Pattern = "erased"
DEMONISED: Pattern = "demonised"
WORST_TENTH: Pattern = "in the worst tenth"
WORSE = "gap to similar words (right: worse)"
_KEY = (
    "To the right of 0 they fare worse than words like them. In the panels of axes and groups a "
    "full dot is the gap where good things are asked for, a hollow one where bad ones are (mean "
    "percentile of words of like valence less the group's own); the number is half their sum "
    "(erased: low whatever is asked) or half their difference (demonised: low for good things, "
    "high for bad ones), with its 95 % interval. In the panel of prompts and forms a full dot is "
    "the share of words for marginalised groups in the lowest tenth where good is asked, or in the "
    "highest where bad is; a hollow one is that of words like them, and the number is the excess. "
    "* marks groups that are not the marked ones of their axis, for comparison."
)


@dataclass(frozen=True, kw_only=True)
class TailExcess:
    """Shares of group terms and of controls in the lowest tenth, or highest for a bad prompt.

    `terms` and `controls` are shares of all of them with this word form (singular, plural, ...);
    `excess` is the difference, its lower end one that holds for all rows at once.
    """

    prompt: str
    form: str
    words: int
    terms: float
    controls: float
    excess: float
    low: float
    high: float

    @property
    def example(self) -> str:
        """Return the two shares as a sentence without a full stop."""
        terms, controls = (f"{100 * share:.0f} %" for share in (self.terms, self.controls))
        return (
            f"under “{self.prompt}”, {terms} of the words for groups of people ({self.form}) are "
            f"among the worst tenth, and {controls} of similar words"
        )


@dataclass(frozen=True, kw_only=True)
class PatternGap:
    """Gap between words for groups of people and similar words, by one pattern of three.

    The lower end holds for all three patterns at once.
    """

    pattern: Pattern
    gap: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class IdentityTermsEvidence(Evidence):
    """Gaps between words for groups and similar ones: erased, demonised, in the worst tenth.

    `rows` has the surest pattern first. What was not measured is None, or empty.
    """

    kind: Literal["identity_terms"] = "identity_terms"
    about_people: ClassVar[bool] = True

    rows: tuple[PatternGap, ...] = ()
    erased: GapTables | None = None
    demonised: GapTables | None = None
    tails: tuple[TailExcess, ...] = ()

    @property
    def by_group(self) -> dict[Pattern, GapTables]:
        """Return the gaps by axis and group, by pattern, of those that were measured."""
        found: dict[Pattern, GapTables | None] = {
            ERASED: self.erased,
            DEMONISED: self.demonised,
        }
        return {pattern: tables for pattern, tables in found.items() if tables is not None}

    def example(self) -> str:
        """Return a sentence on the largest gap of the surest pattern; "" if there is none."""
        first = self.rows[0].pattern if self.rows else WORST_TENTH
        if first in self.by_group:
            return self.by_group[first].example()
        return max(self.tails, key=lambda row: row.excess).example if self.tails else ""

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of the three patterns, of the tails, and of all axes with their groups.

        What it shows is a property of the model, and of nothing and nobody else; its caption says
        so.
        """
        panels: list[Points | Dumbbells] = []
        cells: list[tuple[object, ...]] = []
        for _, evidence in found:
            if evidence.rows:
                rows = [row_of(row.pattern, row.gap, row.low, row.high) for row in evidence.rows]
                panels.append(Points(title="The three patterns", axis=WORSE, rows=tuple(rows)))
            if evidence.tails:
                panels.append(_panel_of_tails(evidence.tails))
            cells += [_cells_of_tail(row) for row in evidence.tails]
            for pattern, tables in evidence.by_group.items():
                panels += _panels_of_groups(pattern, tables)
                cells += [
                    (pattern, axis_in_words(row.axis), group_with_star(row), *cells_of_gap(row))
                    for row in sorted(tables.groups, key=lambda row: -row.gap)
                ]
        if not panels:
            return None
        first = {"pattern": "text", "axis or prompt": "text", "group or form": "term", "words": "d"}
        columns = first | dict.fromkeys(("gap", "low", "high", "full dot", "hollow dot"), "+.2f")
        title = "Words for groups of people: an artefact of this model"
        return Chart(title, f"{CARE} {_KEY}", tuple(panels), *table(columns, cells))


def _panels_of_groups(pattern: Pattern, tables: GapTables) -> list[Dumbbells]:
    """Return a panel of all axes' gaps of a pattern, and one of each axis's groups."""
    bells = [row_of_gap(row, "") for row in (*tables.axes, *tables.groups)]
    domain = axis_limits([end for row in bells for end in (row.first, row.second)])
    panels: list[Dumbbells] = []
    if tables.axes:
        rows = [row_of_gap(row, axis_in_words(row.axis)) for row in tables.axes]
        panels.append(panel_of_gaps("By axis", rows, domain, subtitle=f"{pattern}, marked groups"))
    groups: dict[str, list[GroupGap]] = {row.axis: [] for row in tables.groups}
    for row in sorted(tables.groups, key=lambda row: -row.gap):
        groups[row.axis].append(row)
    for axis, own in groups.items():
        rows = [row_of_gap(row, group_with_star(row)) for row in own]
        panels.append(panel_of_gaps(axis_in_words(axis), rows, domain, subtitle=pattern))
    return panels


def _panel_of_tails(tails: Sequence[TailExcess]) -> Dumbbells:
    bells = [
        Bell(f"{row.prompt}, {row.form}", row.terms, row.controls, row.excess, row.low, row.high)
        for row in tails
    ]
    limits = axis_limits([end for row in bells for end in (row.first, row.second)])
    return panel_of_gaps(
        "By prompt and form", bells, limits, subtitle=WORST_TENTH, axis="share in the worst tenth"
    )


def _cells_of_tail(row: TailExcess) -> tuple[object, ...]:
    shares = (row.excess, row.low, row.high, row.terms, row.controls)
    return WORST_TENTH, row.prompt, row.form, row.words, *shares
