"""What is here of a model, told without the network and without reading any weights."""

from __future__ import annotations

from pathlib import Path

from rmaudit.checkpoints import embedded, hub
from rmaudit.config.registry import ModelSpec

BUILT, UNBUILT = "built", "not built yet"
DOWNLOADED, ELSEWHERE = "downloaded", "not downloaded"
FOLDER, MISSING = "folder", "folder missing"


def here(spec: ModelSpec, cache: Path) -> str:
    """One of the words above."""
    if spec.source == "embedded":
        return BUILT if embedded.folder_in(cache).is_dir() else UNBUILT
    folder = Path(spec.source).expanduser()
    if folder.is_absolute():
        return FOLDER if folder.is_dir() else MISSING
    found = hub.downloaded(spec.source, spec.revision)
    return DOWNLOADED if found is not None and hub.has_weights(found) else ELSEWHERE
