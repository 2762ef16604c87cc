"""The shards of a work: what a run that was killed had done, what another host does meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from rmaudit.scores import stored_scores
from rmaudit.scores.files import Files
from rmaudit.scores.stored_scores import Stored


class MadeMeanwhileError(Exception):
    """Raised where another host has stored all scores of a work, and removed its shards."""


class Journal:
    """The shards of a long work, each named by how many rows come before it.

    A work that was killed finds there what it had done.
    """

    def __init__(self, files: Files, key: str) -> None:
        """Take the files of the store, and the key of the work."""
        self._files, self._key = files, key

    def shard(self, start: int) -> Stored | None:
        """Return the shard that begins at row `start`, or None; a damaged one is set aside.

        Raises:
            StoreError: it cannot be read, or is damaged and cannot be set aside.
        """
        return stored_scores.read_or_set_aside(self._files, self._name(start), self._key, start)

    def write(
        self, start: int, frame: pd.DataFrame, provenance: Mapping[str, Any], *, anew: bool = True
    ) -> bool:
        """Write the shard that begins at row `start`, in place of any that is there.

        Without `anew` only if there is none; False if there is.

        Raises:
            StoreError: it cannot be written.
        """
        about = {"key": self._key, "start": start, "provenance": dict(provenance)}
        return stored_scores.write(self._files, self._name(start), frame, about, anew=anew)

    @property
    def whole(self) -> bool:
        """Return whether all scores of the work are stored by now."""
        return self._files.exists(name_of(self._key))

    def _name(self, start: int) -> str:
        return shard_name(self._key, start)


def name_of(key: str) -> str:
    """Return the name of the file of a work's scores."""
    return f"{key}.parquet"


def parts_of(key: str) -> str:
    """Return the name of the folder of a work's shards."""
    return f"{key}.parts"


def shard_name(key: str, start: int) -> str:
    """Return the name of the file of a shard; `start` is the number of rows before it."""
    return f"{parts_of(key)}/{start:08d}.parquet"
