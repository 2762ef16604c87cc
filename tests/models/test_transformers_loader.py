"""Multimodal wrappers score as transformers' own classes do; what fits is known before a load."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from rmaudit.checkpoints import head_detection
from rmaudit.config.model_registry import ModelSpec
from rmaudit.distributed.cost import size_of
from rmaudit.errors import ModelError
from rmaudit.models.checkpoint_doctor import EXACT, examine
from rmaudit.models.checkpoint_rows import CheckpointRows
from rmaudit.models.transformers_loader import refuse_misfits
from tests.models.loaded import Folders, by_transformers, checkpoint, retensor, rows_of
from tests.toys import EXTRA, SIZES, toy_tokenizer

PROMPT = "the love of the city"
VISION: dict[str, dict[str, Any]] = {
    "gemma3": {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 28,
        "patch_size": 14,
    },
    "qwen3_5": {
        "depth": 1,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_heads": 2,
        "out_hidden_size": 32,
        "deepstack_visual_indexes": [],
    },
}


def wrapped(folder: Path, kind: str) -> Any:
    """A multimodal classifier with one label, random, saved in a folder with its tokenizer."""
    tokenizer = toy_tokenizer()
    text = {**SIZES, **EXTRA[f"{kind}_text"], "vocab_size": len(tokenizer)}
    text["pad_token_id"] = tokenizer.pad_token_id
    config = AutoConfig.for_model(
        kind, text_config=text, vision_config=VISION[kind], num_labels=1, mm_tokens_per_image=4
    )
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(config)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=1 / parameter.shape[-1] ** 0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model.eval()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "path"), [("gemma3", "shared prefix"), ("qwen3_5", "expanded cache")]
)
@pytest.mark.filterwarnings("ignore")
def test_a_multimodal_wrapper_scores_texts(tmp_path: Path, kind: str, path: str) -> None:
    """To 1e-4 sd of its class's forward, on the text backbone's own path, at its cost."""
    own = wrapped(tmp_path / "toy", kind)
    model = checkpoint(tmp_path / "toy", dtype="float32")
    answers = [*((i,) for i in range(5, 40)), (7, 8), (9, 10, 11)]
    expected = np.array(by_transformers(own, rows_of(model, PROMPT, answers)))

    scores = model.score(PROMPT, answers)

    assert expected.std() > 0.05
    assert np.abs(scores - expected).max() / expected.std() < EXACT
    assert model.provenance["path"] == path
    assert examine(model, PROMPT, answers=32).ok
    layers = sum(p.numel() for p in own.model.language_model.layers.parameters())
    size = size_of(model)
    assert size is not None
    assert layers < size.passed < layers + 200 < size.parameters


def test_what_fits_is_remembered_by_its_headers(folders: Folders, tmp_path: Path) -> None:
    """A tensor of another shape is refused, though all other files are as they were."""
    folder, cache = shutil.copytree(folders("llama"), tmp_path / "toy"), tmp_path / "cache"
    name = "model.layers.1.mlp.up_proj.weight"

    def looked_at() -> list[Path]:
        found = head_detection.find(ModelSpec("toy", str(folder)), cache)
        refuse_misfits(CheckpointRows(found, cache))
        return [*cache.glob("kept/fits-*.json")]

    (kept,) = looked_at()
    written = kept.stat().st_mtime_ns
    assert [path.stat().st_mtime_ns for path in looked_at()] == [written]
    retensor(folder, lambda tensors: tensors.update({name: tensors[name][:-1]}))

    with pytest.raises(ModelError, match=f"^toy: 1 mismatched keys in .*, first '{name}': "):
        looked_at()
