"""Checkpoint folders: two tensors and a config.json, all that the checks read; and PEFT's."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from rmaudit.checkpoints import head_detection, weights_headers
from rmaudit.checkpoints.checked_checkpoint import Checked
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from tests.toys import toy_tokenizer

HIDDEN = 8
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForSequenceClassification"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "pad_token_id": 0,
}
TENSORS = {"model.norm.weight": (HIDDEN,), "score.weight": (1, HIDDEN)}


def write(
    folder: Path,
    *,
    tensors: dict[str, tuple[int, ...]] | None = None,
    name: str = "model.safetensors",
    **config: Any,
) -> Path:
    """A folder with the given tensors of ones and CONFIG, changed as told; `...` takes out."""
    folder.mkdir(exist_ok=True)
    shapes = TENSORS if tensors is None else tensors
    save_file({key: np.ones(shape, np.float32) for key, shape in shapes.items()}, folder / name)
    said = {key: value for key, value in {**CONFIG, **config}.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(said))
    return folder


@contextmanager
def quiet() -> Iterator[None]:
    """PEFT warns about transformers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def save_adapter(model: Any, folder: Path, **settings: Any) -> Path:
    """A LoRA adapter of a model, its tensors drawn at random so that they matter; a tokenizer."""
    import peft

    torch.manual_seed(3)
    with quiet():
        wrapped = peft.get_peft_model(model, peft.LoraConfig(**{"r": 4, **settings}))
        for name, parameter in wrapped.named_parameters():
            if "lora_" in name or "modules_to_save" in name:
                parameter.data.normal_(std=0.3)
        wrapped.save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder)
    return folder


def merged(model: Any, folder: Path) -> Any:
    """A base with an adapter merged into it, as PEFT's documentation does it."""
    import peft

    with quiet():
        return peft.PeftModel.from_pretrained(model, folder).merge_and_unload().eval()


def index(folder: Path, *numbers: int) -> None:
    """The index that names these shards, one tensor each."""
    names = {f"{n}": f"model-{n}-of-{len(numbers)}.safetensors" for n in numbers}
    (folder / weights_headers.INDEX).write_text(json.dumps({"weight_map": names}))


def check(folder: Path, **settings: Any) -> Checked:
    """What is found in the folder, as of an entry of models.yaml."""
    return head_detection.find(
        ModelSpec("toy", str(folder), **settings), folder / "cache"
    ).downloaded()


def refused(ask: Callable[..., object], *given: Any, at: Path | None = None, **more: Any) -> str:
    """The one line with which a call is refused, FOLDER in place of the path `at`."""
    with pytest.raises(ModelError) as caught:
        ask(*given, **more)
    text = str(caught.value)
    assert "\n" not in text
    return text if at is None else text.replace(str(at), "FOLDER")


def refusal(folder: Path, **settings: Any) -> str:
    """The one line with which the folder is refused, FOLDER in place of its path."""
    text = refused(check, folder, at=folder, **settings)
    assert text.startswith("toy: ")
    return text
