"""How steeply the reward follows valence, by frame (Figure 3B and C of the paper)."""

from __future__ import annotations

from rmaudit.measures.framing_steepness import FramingSteepnessEvidence
from rmaudit.report.charts.dots import Dot, around, dots
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, table

_COLUMNS = {"prompt": "text", "words": "text", "n": "number"} | dict.fromkeys(
    ("slope", "low", "high"), "number"
)


def chart(found: ByPrompt[FramingSteepnessEvidence]) -> Picture | None:
    """The slopes of positive and of negative words under each prompt."""
    panels, cells = [], []
    for _, evidence in found:
        own = [
            Dot(f"{row.prompt}, {row.words}", row.slope, row.low, row.high)
            for row in evidence.slopes
        ]
        if not own:
            continue
        axis = "sd per point of valence"
        title = f"Slopes on {as_label(evidence.axis)}"
        panels.append(dots(own, axis=axis, domain=around(own), title=title))
        cells += [
            (
                *(as_label(row.prompt), row.words, f"{row.n:,}"),
                *(f"{number:+.3f}" for number in (row.slope, row.low, row.high)),
            )
            for row in evidence.slopes
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
