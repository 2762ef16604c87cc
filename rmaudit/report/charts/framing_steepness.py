"""How steeply the reward follows valence, by frame (Figure 3B and C of the paper)."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.report.charts.dots import Dot, around, dots
from rmaudit.report.charts.labels import as_label
from rmaudit.report.charts.picture import Picture, evidence_of, table
from rmaudit.verdicts.records import Finding

_COLUMNS = {"prompt": "text", "words": "text", "n": "number"} | dict.fromkeys(
    ("slope", "low", "high"), "number"
)


def slopes(findings: Sequence[Finding]) -> Picture | None:
    """The slopes of positive and of negative words under each prompt."""
    panels, cells = [], []
    for evidence in map(evidence_of, findings):
        rows = evidence["slopes"]
        own = [
            Dot(f"{row['prompt']}, {row['words']}", row["slope"], row["low"], row["high"])
            for row in rows
        ]
        if not own:
            continue
        axis = "sd per point of valence"
        title = f"Slopes on {as_label(evidence['axis'])}"
        panels.append(dots(own, axis=axis, domain=around(own), title=title))
        cells += [
            (
                *(as_label(row["prompt"]), row["words"], f"{row['n']:,}"),
                *(f"{row[number]:+.3f}" for number in ("slope", "low", "high")),
            )
            for row in rows
        ]
    if not panels:
        return None
    return Picture(
        "How steeply the reward follows valence",
        "The slope of the reward on valence among positive words and among negative ones, with its "
        "95 % interval. Asked for good things, a reader tells positive words apart more finely; "
        "asked for bad ones, negative words, and the slopes turn around.",
        "".join(panels),
        table(_COLUMNS, cells),
    )
