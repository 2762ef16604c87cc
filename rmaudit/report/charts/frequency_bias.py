"""Reward by how often words are used (Figure 3D of Christian et al. 2025)."""

from __future__ import annotations

from rmaudit.measures.frequency_bias import FrequencyBiasEvidence
from rmaudit.report.charts.boxes import boxes
from rmaudit.report.charts.picture import ByPrompt, Picture


def chart(found: ByPrompt[FrequencyBiasEvidence]) -> Picture | None:
    """A panel a prompt: what frequency adds to the reward, all else taken out."""
    return boxes(
        [
            (panel.prompt, evidence.axis, panel.bins)
            for _, evidence in found
            for panel in evidence.panels
        ],
        title="Reward and frequency",
        caption="Words by how often people write them (Zipf scale: one more is ten times as "
        "often), their valence and length taken out: median reward of a bin's words, and its "
        "quartiles. Rewards are normal scores of ranks.",
    )
