"""Add a user's pairs of a better and a worse answer to rmaudit's pairs that test conduct."""

from __future__ import annotations

import pandas as pd

from rmaudit.errors import SpecError
from rmaudit.references.conduct_answers import OWN, conduct
from rmaudit.scores.pair_files import COLUMNS, OURS, Pairs

PREFIX = "conduct: "  # of a subset: a file may well have a subset "code" of its own


def conduct_pairs(own: Pairs | None) -> Pairs:
    """Return the bundled pairs of answers for conduct, and the user's, of a subset "conduct: KIND".

    A kind is, for example, "facts".

    Raises:
        SpecError: such a subset names no kind, or one of `SAME`, which has two prompts for a pair.
    """
    bundled = conduct()
    frame = bundled.assign(line=bundled.index // 2 + 1, turns="")[COLUMNS]
    source = OURS
    if own is not None and len(joined := own.frame[own.frame["subset"].str.startswith(PREFIX)]):
        kinds = joined["subset"].str.removeprefix(PREFIX)
        if (wrong := ~kinds.isin(OWN)).any():
            line, subset = joined[wrong].iloc[0][["line", "subset"]]
            raise SpecError(
                f"line {line} of the {own.source}: subset is {subset!r}, allowed after "
                f"{PREFIX!r}: {', '.join(OWN)}"
            )
        joined = joined.assign(subset=kinds, line=joined["line"] + len(frame))
        frame = pd.concat([frame, joined[COLUMNS]], ignore_index=True)
        source = f"{OURS} and {joined['line'].nunique():,} of the {own.source}"
    return Pairs(frame.assign(reward=float("nan")), source)
