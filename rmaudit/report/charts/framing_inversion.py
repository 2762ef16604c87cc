"""Reward by valence under each prompt (Figure 3A of Christian et al. 2025)."""

from __future__ import annotations

from rmaudit.measures.framing_inversion import FramingInversionEvidence
from rmaudit.report.charts.boxes import boxes
from rmaudit.report.charts.picture import ByPrompt, Picture


def chart(found: ByPrompt[FramingInversionEvidence]) -> Picture | None:
    """A panel a prompt: median reward and quartiles of the words in each bin of valence."""
    return boxes(
        [
            (panel.prompt, evidence.axis, panel.bins)
            for _, evidence in found
            for panel in evidence.panels
        ],
        title="Reward and sentiment",
        caption="Words by their valence: the bar is the median reward of a bin's words, the box "
        "goes from the first to the third quartile. A frame that is read turns the slope around.",
    )
