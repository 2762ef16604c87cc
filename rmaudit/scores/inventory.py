"""How many whole sweeps are kept of each source: scored ones, and published ones."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from rmaudit.scores.store import Store


class Counts(NamedTuple):
    """Whole sweeps that were scored, and sweeps and tables of items that were imported."""

    scored: int = 0
    recorded: int = 0


def counts(cache: Path) -> defaultdict[str, Counts]:
    """By the source (hub id, folder or `embedded`) that the scores say they come from.

    A folder that was trained again is still the same source: these are counts for a list, and no
    promise that the next audit finds its sweep.
    """
    found: defaultdict[str, Counts] = defaultdict(Counts)
    for kept in Store(cache).listing():
        source = str(kept.fields.get("model") or kept.provenance.get("source"))
        scored, recorded = found[source]
        if "recorded" in kept.fields:
            found[source] = Counts(scored, recorded + 1)
        elif "token_id" in kept.columns and "part" not in kept.fields:
            found[source] = Counts(scored + 1, recorded)
    return found
