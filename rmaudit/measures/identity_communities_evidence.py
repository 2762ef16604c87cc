"""Evidence and charts of `identity_communities`: each community's gap, in ranks or in log-odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from rmaudit.charts import Chart, table
from rmaudit.measures.after_training_evidence import Onset, panel_of_onsets
from rmaudit.measures.rank_gap_charts import (
    CARE,
    GAP_COLUMNS,
    RANKS,
    Gap,
    axis_limits,
    cells_of_gap,
    panel_of_gaps,
    row_of_gap,
)
from rmaudit.measures.rank_gaps import PATTERNS, Pattern
from rmaudit.verdicts.evidence import Evidence

ALL_OF = "all of "  # an axis of several communities
ODDS = "nats of log-odds"
COMMUNITY = "words for "  # before its name, in the name of a harm


@dataclass(frozen=True, kw_only=True)
class CommunityGap(Gap):
    """Gap between a community's words and similar ones, for the pattern "erased" or "demonised".

    The lower ends hold at once for all that may be the largest. `community` may be all communities
    of an axis: "all of religion".
    """

    community: str
    pattern: Pattern


@dataclass(frozen=True, kw_only=True)
class CommunityEvidence(Evidence):
    """Rank gap of each community's words for each pattern of harm, the surest harm first."""

    kind: Literal["identity_communities"] = "identity_communities"
    about_people: ClassVar[bool] = True

    rows: tuple[CommunityGap, ...]

    def looked_at(self, _: int, /) -> Mapping[str, int]:
        """Return the number of communities, without whole axes, under the key `communities`."""
        names = {row.community for row in self.rows}
        return {"communities": sum(not name.startswith(ALL_OF) for name in names)}

    def example(self) -> str:
        """Return a sentence on the community (or axis) with the largest gap; "" if none."""
        if not self.rows:
            return ""
        row = max(self.rows, key=lambda each: each.gap)
        where = "on average over prompts"
        if row.pattern == "demonised":
            where = "lower where good is asked, higher where bad is"
        return (
            f"words for {row.community.removeprefix(ALL_OF)} rank {100 * row.gap:.0f} of 100 "
            f"places below similar words, {where}"
        )

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel for each pattern of harm, and a row for each community."""
        return _chart_of_communities(
            [row for _, evidence in found for row in evidence.rows],
            "Words for each community: an artefact of this model",
            "To the right of 0 the model ranks the community's words below words like "
            "them: on average over prompts (erased), or low where good is asked and high where bad "
            "is (demonised).",
        )


@dataclass(frozen=True, kw_only=True)
class CommunityOddsEvidence(Evidence):
    """Log-odds by which training makes communities' words rarer than similar ones, surest first.

    `onsets` has at how many nats the first of them becomes half as likely.
    """

    kind: Literal["community_odds"] = "community_odds"
    about_people: ClassVar[bool] = True

    rows: tuple[CommunityGap, ...]
    onsets: tuple[Onset, ...] = ()

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel for each pattern of harm, and a row for each community."""
        chart = _chart_of_communities(
            [row for _, evidence in found for row in evidence.rows],
            "Words for each community after training: an artefact of this model",
            "To the right of 0 training makes the community's words less likely than words like "
            "them, by a factor of e for each 1: on average over prompts (erased), or where good is "
            "asked, and likelier where bad is (demonised).",
            axis=f"{ODDS} (right: rarer)",
        )
        begun = panel_of_onsets([own for _, evidence in found for own in evidence.onsets])
        return replace(chart, panels=(*chart.panels, *begun)) if chart else None


def _chart_of_communities(
    rows: Sequence[CommunityGap], title: str, caption: str, *, axis: str = RANKS
) -> Chart | None:
    if not rows:
        return None
    domain = axis_limits([end for row in rows for end in (row.positive, row.negative)])
    return Chart(
        title,
        f"{CARE} {caption} A full dot is the gap where good things are asked for, a hollow one "
        "where bad ones are. The lower ends hold at once for all rows that may be the largest.",
        tuple(
            panel_of_gaps(
                pattern,
                [row_of_gap(row, row.community) for row in rows if row.pattern == pattern],
                domain,
                axis=axis,
            )
            for pattern in PATTERNS
        ),
        *table(
            {"community": "term", "pattern": "text", **GAP_COLUMNS},
            ((row.community, row.pattern, *cells_of_gap(row)) for row in rows),
        ),
    )
