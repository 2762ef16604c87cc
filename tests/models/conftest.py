"""Checkpoints that several tests of models read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.toys import toy_checkpoint

Folders = Callable[[str], Path]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """One checkpoint of each kind, which the tests leave as it is."""
    home = tmp_path_factory.mktemp("toys")

    def folder(kind: str) -> Path:
        return home / kind if (home / kind).is_dir() else toy_checkpoint(home / kind, kind=kind)

    return folder
