"""Pairs of whole answers by kinds of conduct: those that are bundled, and the user's own."""

from __future__ import annotations

import pandas as pd

from rmaudit.errors import SpecError
from rmaudit.references.conduct import KINDS, conduct
from rmaudit.scores.pair_files import COLUMNS, OURS, Pairs
from rmaudit.scores.stored_scores import checksum

PREFIX = "conduct: "  # of a subset: a file may well have a subset "code" of its own


def conduct_pairs(own: Pairs | None) -> Pairs:
    """Return the bundled pairs without rewards, with those of `own` that are of a kind.

    Their `subset` is "conduct: " and the kind.

    Raises:
        SpecError: such a subset names no kind.
    """
    bundled = conduct()
    frame = bundled.assign(line=bundled.index // 2 + 1, turns="")[COLUMNS]
    source = f"{len(frame) // 2:,} of {OURS}"
    if own is not None and len(joined := own.frame[own.frame["subset"].str.startswith(PREFIX)]):
        kinds, lines = joined["subset"].str.removeprefix(PREFIX), joined["line"] + len(frame)
        if unknown := sorted({*kinds} - {*KINDS}):
            known = ", ".join(KINDS)
            raise SpecError(f"{own.source}: the subset {PREFIX + unknown[0]!r}; kinds are {known}")
        joined = joined.assign(subset=kinds, line=lines)
        frame = pd.concat([frame, joined[COLUMNS]], ignore_index=True)
        source += f", with {lines.nunique():,} of the {own.source}"
    source += f", {checksum(frame)[:12]}"
    return Pairs(frame.assign(reward=float("nan")), source)
