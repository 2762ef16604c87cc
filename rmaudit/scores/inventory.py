"""What is kept, by what each stored file says of itself: for lists, its scores unread."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from rmaudit.scores.sealed import META
from rmaudit.scores.store import Store


class Counts(NamedTuple):
    """Whole sweeps that were scored, and sweeps and tables of items that were imported."""

    scored: int = 0
    recorded: int = 0


def counts(cache: Path) -> defaultdict[str, Counts]:
    """By the source (hub id, folder or `embedded`) that the scores say they come from.

    A folder that was trained again is still the same source: these are counts for a list, and no
    promise that the next audit finds its sweep. Files that say nothing of themselves are left out.
    """
    found: defaultdict[str, Counts] = defaultdict(Counts)
    for kept in _listing(cache):
        source = str(kept.fields.get("model") or kept.provenance.get("source"))
        scored, recorded = found[source]
        if "recorded" in kept.fields:
            found[source] = Counts(scored, recorded + 1)
        elif "token_id" in kept.columns and "part" not in kept.fields:
            found[source] = Counts(scored + 1, recorded)
    return found


class _Listed(NamedTuple):
    """A stored file's columns, the fields of its key, and where its scores come from."""

    columns: tuple[str, ...]
    fields: dict[str, str]
    provenance: dict[str, object]


def _listing(cache: Path) -> Iterator[_Listed]:
    for path in sorted(Store(cache).folder.glob("*.parquet")):
        try:
            if path.is_file():  # to open a pipe would wait for ever
                schema = pq.read_schema(path)
                about = json.loads((schema.metadata or {})[META])
                yield _Listed(tuple(schema.names), about["fields"], about["provenance"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
