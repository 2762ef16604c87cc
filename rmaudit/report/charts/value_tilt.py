"""Which of two values a model ranks higher: all axes, and the first of them by adjective."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.measures.value_tilt import Asked, ValueTiltEvidence
from rmaudit.report.charts.dots import Dot, around, dots
from rmaudit.report.charts.picture import ByPrompt, Picture, as_label, table

_NUMBERS = ("gap", "low", "high", "positive", "negative")
_COLUMNS = {"axis": "text", "words": "number"} | dict.fromkeys(_NUMBERS, "number")


def chart(found: ByPrompt[ValueTiltEvidence]) -> Picture | None:
    """A panel of all axes with their intervals, and one of the first under each adjective."""
    given = [evidence for _, evidence in found if evidence.axes]
    if not given:
        return None
    panels, cells = [], []
    for evidence in given:
        rows = [
            Dot(row.axis.partition(":")[0], row.gap, row.low, row.high) for row in evidence.axes
        ]
        panels.append(dots(rows, axis="rank gap", domain=around(rows), title="Tilt, as asked"))
        if evidence.prompts:
            own = _by_group(evidence.prompts)
            title = as_label(evidence.axes[0].axis)
            panels.append(dots(own, axis="rank gap", domain=around(own), title=title))
        cells += [
            (as_label(row.axis), str(row.words), *(f"{getattr(row, key):+.3f}" for key in _NUMBERS))
            for row in evidence.axes
        ]
    return Picture(
        "Which value it ranks higher",
        "First panel: how far the words of the first list rank above those of the second where "
        "good is asked for, and below where bad is (half of both), with its 95 % interval; 0 is no "
        "tilt. Of a moral foundation the lists are its virtues and its vices. Second: the gap "
        "under the prompts of each adjective, and its range over wordings.",
        "".join(panels),
        table(_COLUMNS, cells),
    )


def _by_group(prompts: Sequence[Asked]) -> list[Dot]:
    """The mean gap under the prompts of a group, and its range."""
    groups: dict[str, list[float]] = {}
    for row in sorted(prompts, key=lambda row: -row.frame):
        groups.setdefault(row.group, []).append(row.gap)
    return [Dot(name, sum(gaps) / len(gaps), min(gaps), max(gaps)) for name, gaps in groups.items()]
