"""Weights of a folder in memory, not yet tried by the preflight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rmaudit.checkpoints import checked_checkpoint
from rmaudit.config.registry import ModelSpec
from rmaudit.models.loaded_weights import Weights
from rmaudit.models.transformers_loader import Native
from rmaudit.scoring import ScoringPath
from tests.scoring.rows import PAD


def load(
    folder: Path,
    path: ScoringPath | None = None,
    dtype: Any = "float32",
    *,
    pad: int | None = PAD,
    device: str = "cpu",
) -> Weights:
    """The folder's weights, on the path of its configuration if no other is asked for."""
    spec = ModelSpec("toy", str(folder), dtype=dtype, pool="hf")
    weights = Native(checked_checkpoint.find(spec, folder.parent).downloaded()).load(device)
    weights.scorer.pad = pad
    if path is not None:
        weights.go(path)
    return weights
