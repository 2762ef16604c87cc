"""Folders as models, their weights in memory, changes to their files, and transformers' rewards."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints import head_detection
from rmaudit.config.model_registry import ModelSpec
from rmaudit.layout.answer_slot import Response
from rmaudit.models import transformers_loader
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.checkpoint_rows import CheckpointRows
from rmaudit.models.own_forward import Weights
from rmaudit.scoring import ScoringPath
from tests.scoring.rows import PAD, Ids

Folders = Callable[[str], Path]


def checkpoint(folder: Path, *, cache: Path | None = None, **settings: Any) -> Checkpoint:
    """The folder as a registry entry means it; its cache is next to it if none is given."""
    spec = ModelSpec("toy", str(folder), **settings)
    return Checkpoint(spec, cache=cache or folder.parent / "cache")


def load(
    folder: Path,
    path: ScoringPath | None = None,
    dtype: Any = "float32",
    *,
    pad: int | None = PAD,
    device: str = "cpu",
) -> Weights:
    """The folder's weights, not yet tried, on the path of its configuration or another."""
    spec = ModelSpec("toy", str(folder), dtype=dtype, pool="hf")
    cache = folder.parent / "cache"
    rows = CheckpointRows(head_detection.find(spec, cache).downloaded(), cache)
    weights = transformers_loader.load(rows, device)
    weights.scorer.pad = pad
    if path is not None:
        weights.use_path(path)
    return weights


def change(path: Path, **said: Any) -> None:
    """Set keys of a JSON file, or take them out where they are `...`."""
    now = json.loads(path.read_text()) | said
    path.write_text(json.dumps({key: value for key, value in now.items() if value is not ...}))


def retensor(folder: Path, spoil: Callable[[dict[str, Tensor]], object]) -> None:
    """Change the tensors of the one safetensors file in place, as `cp` does."""
    path, tensors = folder / "model.safetensors", load_file(folder / "model.safetensors")
    spoil(tensors)
    path.write_bytes(save(tensors, {"format": "pt"}))


def rows_of(model: Any, prompt: Any, answers: Sequence[Response]) -> list[Ids]:
    """The whole row of each answer."""
    slot = model.slot(prompt)
    return [(*slot.prefix, *model.ids(answer), *slot.suffix) for answer in answers]


@torch.inference_mode()
def by_transformers(model: Any, rows: Sequence[Ids], **config: Any) -> list[float]:
    """What transformers gives rows, one at a time: a classifier, or that of a folder."""
    if isinstance(model, Path):
        model = AutoModelForSequenceClassification.from_pretrained(
            model, dtype=torch.float32, **config
        ).eval()
    return [model(torch.tensor([row])).logits[0, 0].item() for row in rows]
