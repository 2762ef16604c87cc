"""Adapters of toys: what changes them, what they are refused with, and what is said of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models import scoring_description
from tests.checkpoints.folders import refused
from tests.models.loaded import change, checkpoint
from tests.toys import toy_tokenizer

PROMPT = "the love of the city?"
SIZE = len(toy_tokenizer())
CLASSIFIER: dict[str, Any] = {"task_type": "SEQ_CLS", "target_modules": ["q_proj", "v_proj"]}
HEAD = "base_model.model.score.weight"
Make = Callable[..., Path]


def refusal(folder: Path, **settings: Any) -> str:
    """The text with which it is refused, FOLDER in place of the adapter's path."""
    return refused(lambda: checkpoint(folder, **settings).score(PROMPT, ["love"]), at=folder)


def said(folder: Path | str) -> dict[str, str]:
    """Return what is found, by its label; nothing is cached beyond the call."""
    with tempfile.TemporaryDirectory() as cache:
        return dict(scoring_description.look(ModelSpec("toy", str(folder)), Path(cache), "toy"))


def configure(folder: Path, **settings: Any) -> Path:
    """Set keys of adapter_config.json."""
    change(folder / "adapter_config.json", **settings)
    return folder


def rewrite(path: Path, spoil: Callable[[Any], Any]) -> None:
    """Change the tensors of a file."""
    tensors = load_file(path)
    spoil(tensors)
    save_file(tensors, path, {"format": "pt"})
