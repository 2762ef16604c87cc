"""Checkpoints that several tests of models read."""

from __future__ import annotations

from pathlib import Path

import huggingface_hub.constants
import pytest
import transformers

from tests.models.loaded import Folders
from tests.toys import toy_checkpoint


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """One checkpoint of each kind, which the tests leave as it is."""
    home = tmp_path_factory.mktemp("toys")

    def folder(kind: str) -> Path:
        return home / kind if (home / kind).is_dir() else toy_checkpoint(home / kind, kind=kind)

    return folder


@pytest.fixture
def folder(folders: Folders) -> Path:
    """One of them, where the kind does not matter."""
    return folders("llama")


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, an empty cache of the hub, and modules of our own."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    modules = str(tmp_path / "modules")
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", modules)
    monkeypatch.syspath_prepend(modules)
