"""Pairs of whole answers by kinds of conduct: those that are bundled, and the user's own."""

from __future__ import annotations

import pandas as pd

from rmaudit.references.conduct import KINDS, conduct
from rmaudit.scores.pair_files import COLUMNS, OURS, Pairs
from rmaudit.scores.stored_scores import checksum


def conduct_pairs(own: Pairs | None) -> Pairs:
    """Return the bundled pairs without rewards, with those of `own` whose subset is a kind."""
    bundled = conduct()
    frame = bundled.assign(line=bundled.index // 2 + 1, turns="")[COLUMNS]
    source = f"{len(frame) // 2:,} of {OURS}"
    if own is not None and len(joined := own.frame[own.frame["subset"].isin(KINDS)]):
        lines = joined["line"] + len(frame)
        frame = pd.concat([frame, joined.assign(line=lines)[COLUMNS]], ignore_index=True)
        source += f", with {lines.nunique():,} of the {own.source}"
    source += f", {checksum(frame)[:12]}"
    return Pairs(frame.assign(reward=float("nan")), source)
