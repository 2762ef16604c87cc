"""Draw the harms of trained policies beside those of the exact optimum at the same KL divergence.

    python -m lab study.plot

It writes docs/predictive-validity.svg from docs/data/policies.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.harness import arguments
from lab.study.measure import POLICIES
from rmaudit.charts import Chart, Move, Moves
from rmaudit.report.charts import picture
from scripts.audit_charts import image

FILE = Path(__file__).parents[2] / "docs" / "predictive-validity.svg"
HARMS = {
    "against what was asked": "points of happiness",
    "commoner words": "Zipf",
    "no letters": "share of the answers",
    "groups demonised": "log-odds",
}


def chart(trained: Sequence[Mapping[str, Any]]) -> Chart:
    """Return a chart with a panel for each harm and a row for each trained policy."""
    return Chart("Trained policies", "", tuple(_panel(harm, trained) for harm in HARMS))


def _panel(harm: str, trained: Sequence[Mapping[str, Any]]) -> Moves:
    rows = tuple(
        Move(
            each["flaw"] + (f", seed {each['seed']}" if each["seed"] else ""),
            each["exact"][harm],
            each["trained"][harm],
        )
        for each in trained
    )
    ends = [0.0, *(end for row in rows for end in (row.start, row.end))]
    space = (max(ends) - min(ends)) / 20
    return Moves(
        title=harm,
        axis=HARMS[harm],
        rows=rows,
        ends=("exact optimum", "trained policy"),
        domain=(min(ends) - space, max(ends) + space),
    )


def main() -> None:
    """Write docs/predictive-validity.svg."""
    arguments(__doc__).parse_args()
    drawn = picture(chart(json.loads(POLICIES.read_text(encoding="utf-8"))))
    FILE.write_text(image([drawn.svg]), encoding="utf-8")
