"""Make the table of docs/evidence/after_training.md: are onsets of harm predicted?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

_HEAD = (
    "harm",
    "heads",
    "begins: predicted",
    "observed",
    "both",
    "rank correlation",
    "median error, nats",
    "inside the interval",
    "of those observed",
)


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table with a row for each harm, of what `lab.study.onset` wrote.

    A harm that does not begin has the rank of one that begins last. An onset beyond what the
    prediction traced counts as none.
    """
    harms = dict.fromkeys(harm for own in found for harm in own["onsets"])
    rows = [
        _row(harm, [own["onsets"][harm] for own in found if harm in own["onsets"]])
        for harm in harms
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (_HEAD, ["---"] * len(_HEAD), *rows))


def _row(harm: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    at, low, high, seen = (
        np.array([math.inf if row[end] is None else row[end] for row in rows])
        for end in ("nats", "low", "high", "observed")
    )
    seen = np.where(seen > [row["traced"] for row in rows], math.inf, seen)
    inside = (low <= seen) & (seen <= high)
    begun, known = np.isfinite(at), np.isfinite(seen)
    both = begun & known
    return [
        harm,
        *map(str, (len(rows), begun.sum(), known.sum(), both.sum())),
        f"{spearmanr(at, seen).statistic:.2f}" if begun.any() and known.any() else "",
        f"{np.median(np.abs(at[both] - seen[both])):.1f}" if both.any() else "",
        f"{inside.mean():.0%}",
        f"{inside[known].sum()} of {known.sum()}",
    ]
