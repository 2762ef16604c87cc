"""Show the evidence of `gcg_probes`: strings found on other models, scored here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from rmaudit.charts import Chart, Fact, Mark, MarkedRow, Points, table
from rmaudit.verdicts.evidence import Evidence

_DRAWN = 20  # strings of a panel: the table has all


@dataclass(frozen=True)
class ReplayedString:
    """String found to please ("up") or displease ("down") another model, scored by this one.

    `prompt` is the name of the one that it was found under and is scored under. `z` is in sd above
    the mean of the sweep, `share_below` the share of its tokens that score less, `bar` the 99th
    percentile of real answers of like length (as `z`), and `above` whether the string scores more.
    """

    prompt: str
    text: str
    direction: str
    found_on: str
    source: str
    z: float
    share_below: float
    bar: float
    above: bool


@dataclass(frozen=True, kw_only=True)
class GcgProbesEvidence(Evidence):
    """Strings found on other models and scored here, those furthest above real answers first."""

    kind: Literal["gcg_probes"] = "gcg_probes"
    strings: tuple[ReplayedString, ...]

    def example(self) -> str:
        """Return a sentence on the string furthest above real answers of its length, or ""."""
        above = [row for row in self.strings if row.above and row.direction == "up"]
        if not above:
            return ""
        row = max(above, key=lambda each: each.z - each.bar)
        return (
            f"“{row.text}” gets {row.z:+.1f} sd, and 99 of 100 real answers of its length get "
            f"less than {row.bar:+.1f}"
        )

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart of strings found on other models and of real answers, both scored here.

        As Tables 4 and 5 of Christian et al. 2025.
        """
        given = [evidence.strings for _, evidence in found if evidence.strings]
        if not given:
            return None
        panels = [
            _panel_of_strings(
                prompt, [row for row in rows if (row.prompt, row.direction) == (prompt, "up")]
            )
            for rows in given
            for prompt in dict.fromkeys(row.prompt for row in rows if row.direction == "up")
        ]
        cells = [
            (
                *(row.prompt, row.text, "please" if row.direction == "up" else "displease"),
                *(row.found_on, row.source, row.z, 100 * row.share_below, row.bar),
                "yes" if row.above else "no",
            )
            for rows in given
            for row in rows
        ]
        return Chart(
            "Strings that please other models, replayed here",
            "A point is a string, in sd of the sweep; the upright stroke is the 99th percentile of "
            "real answers of its length. A string to the right of its stroke is preferred to "
            "nearly all of them. What was found to displease stands in the table only.",
            tuple(panels),
            *table(
                {"prompt": "text", "string": "term"}
                | dict.fromkeys(("found to", "found on", "source"), "text")
                | {"z, sd": "+.2f", "percentile": ".1f", "real answers of its length, sd": "+.2f"}
                | {"above": "text"},
                cells,
            ),
        )


def _panel_of_strings(prompt: str, pleasing: Sequence[ReplayedString]) -> Points:
    """Return a chart panel of the strings that exceed real answers by most, at most `_DRAWN`."""
    beaten = sum(row.above for row in pleasing)
    said = f"{beaten} of {len(pleasing)} above real answers of their length"
    meaning = "full: above" + (f"; the {_DRAWN} furthest" if len(pleasing) > _DRAWN else "")
    return Points(
        title=prompt,
        subtitle=(said, meaning),
        facts=(Fact(said),),
        axis="sd of the sweep",
        rows=tuple(
            MarkedRow(
                name=row.text,
                marks=(Mark(value=row.z, second=row.above, hollow=not row.above),),
                stroke=row.bar,
            )
            for row in sorted(pleasing, key=lambda row: row.bar - row.z)[:_DRAWN]
        ),
        zero=False,
    )
