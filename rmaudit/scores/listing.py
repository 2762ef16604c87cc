"""What a store holds, by what each file says of itself: for lists, its scores unread."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from rmaudit.scores.files import Files
from rmaudit.scores.store import Store, store_at
from rmaudit.scores.stored_scores import META


def unfinished(cache: Path | str | Store) -> int:
    """How many scores are kept of works that were cut and that the next run goes on with."""
    files = store_at(cache).files
    return sum(_rows(files, name) for name in files.names() if ".parts/" in name)


def _rows(files: Files, name: str) -> int:
    try:
        with files.opened(name) as file:
            return int(pq.read_metadata(file).num_rows) if name.endswith(".parquet") else 0
    except (OSError, ValueError):  # damaged: the next run makes it anew
        return 0


class Counts(NamedTuple):
    """Whole sweeps that were scored, and sweeps and tables of items that were imported."""

    scored: int = 0
    recorded: int = 0


def counts(cache: Path | str | Store) -> defaultdict[str, Counts]:
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


class _StoredFile(NamedTuple):
    """A stored file's columns, the fields of its key, and where its scores come from."""

    columns: tuple[str, ...]
    fields: dict[str, str]
    provenance: dict[str, object]


def _listing(cache: Path | str | Store) -> Iterator[_StoredFile]:
    files = store_at(cache).files
    for name in files.names():
        if "/" in name or not name.endswith(".parquet"):
            continue
        try:
            with files.opened(name) as file:
                schema = pq.read_schema(file)
            about = json.loads((schema.metadata or {})[META])
            yield _StoredFile(tuple(schema.names), about["fields"], about["provenance"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
