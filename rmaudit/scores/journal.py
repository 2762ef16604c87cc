"""The shards of a work: what a run that was killed had done, what another host does meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from rmaudit.scores import score_file
from rmaudit.scores.files import Files
from rmaudit.scores.score_file import Stored


class MadeMeanwhileError(Exception):
    """Another host has made the whole of a work, and cleared its shards up."""


class Journal:
    """The shards of a long work, each named by how many rows come before it.

    A work that was killed finds there what it had done.
    """

    def __init__(self, files: Files, key: str) -> None:
        """Of the work under `key`; `files` are the store's."""
        self._files, self._key = files, key

    def shard(self, start: int) -> Stored | None:
        """The shard that begins at row `start`, None if there is none (damaged: set aside).

        Raises:
            StoreError: it cannot be read, or is damaged and cannot be set aside.
        """
        return score_file.read_or_set_aside(self._files, self._name(start), self._key, start)

    def write(
        self, start: int, frame: pd.DataFrame, provenance: Mapping[str, Any], *, anew: bool = True
    ) -> bool:
        """Write the shard that begins at row `start`, in place of any that is there.

        Without `anew` only if there is none; False if there is.

        Raises:
            StoreError: it cannot be written.
        """
        about = {"key": self._key, "start": start, "provenance": dict(provenance)}
        return score_file.write(self._files, self._name(start), frame, about, anew=anew)

    @property
    def whole(self) -> bool:
        """Whether the whole of the work is there by now."""
        return self._files.exists(name_of(self._key))

    def _name(self, start: int) -> str:
        return shard_name(self._key, start)


def name_of(key: str) -> str:
    """The file of a work's scores."""
    return f"{key}.parquet"


def parts_of(key: str) -> str:
    """Where the shards of a work are."""
    return f"{key}.parts"


def shard_name(key: str, start: int) -> str:
    """The file of a shard, by how many rows come before it."""
    return f"{parts_of(key)}/{start:08d}.parquet"
