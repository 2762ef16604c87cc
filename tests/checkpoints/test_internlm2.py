"""InternLM2 is loaded as the Llama that it is, or refused if anything is not as published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from rmaudit.checkpoints import head_detection, internlm2
from rmaudit.cli import app
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from tests.checkpoints.folders import refused
from tests.internlm2 import CONFIG, shapes, write
from tests.models.loaded import retensor

GONE: Any = None
PACKED = "model.layers.1.attention.wqkv.weight"
HEAD = ["v_head.weight"]


def test_what_is_published_passes() -> None:
    """With a language model's output layer too, which is not used."""
    internlm2.refuse_others(CONFIG, shapes(), HEAD)
    internlm2.refuse_others(CONFIG, {**shapes(), "output.weight": (512, 32)}, HEAD)
    internlm2.refuse_others(CONFIG | {"bias": True}, shapes(CONFIG | {"bias": True}), HEAD)


@pytest.mark.parametrize(
    ("tensors", "config", "named"),
    [
        ({PACKED: (56, 32)}, {}, "wqkv.weight' has shape (56, 32), expected (64, 32)"),
        ({}, {"num_key_value_heads": 4}, "has shape (64, 32), expected (96, 32)"),
        ({PACKED: GONE}, {}, "no 'model.layers.1.attention.wqkv.weight'"),
        ({}, {"bias": True}, "no 'model.layers.0.attention.wo.bias'"),
        ({}, {"num_hidden_layers": 3}, "no 'model.layers.2.attention.wo.weight'"),
        ({"model.layers.0.attention.q_norm.weight": (8,)}, {}, "unexpected 'model.layers.0.att"),
        ({}, {"num_key_value_heads": 3}, "num_key_value_heads 3"),
        ({}, {"num_attention_heads": 0}, "num_attention_heads in config.json is 0"),
        ({}, {"intermediate_size": "48"}, "intermediate_size in config.json is '48'"),
        ({}, {"vocab_size": 500}, "'model.tok_embeddings.weight' has shape (512, 32), expected (5"),
    ],
)
def test_a_near_miss_is_refused(tensors: Any, config: Any, named: str) -> None:
    """Another shape, a tensor more or less, or a size that does not go with the others."""
    changed = {key: shape for key, shape in {**shapes(), **tensors}.items() if shape is not GONE}

    assert named in refused(internlm2.refuse_others, CONFIG | config, changed, HEAD)


@pytest.mark.parametrize(("heads", "key_heads"), [(4, 2), (4, 1), (4, 4), (6, 2)])
def test_each_head_gets_its_own_rows(heads: int, key_heads: int) -> None:
    """Row by row: the queries of a group stand before its key and its value."""
    width, group = 3, heads // key_heads
    names = [
        name
        for k in range(key_heads)
        for name in [*(f"q{k * group + i}" for i in range(group)), f"k{k}", f"v{k}"]
    ]
    packed = torch.arange(len(names) * width)[:, None] * torch.ones(1, 5)

    parts = dict(zip("qkv", internlm2.split(packed, heads, key_heads), strict=True))

    for at, name in enumerate(names):
        part, number = name[0], int(name[1:])
        own = parts[part][number * width : (number + 1) * width]
        assert own[:, 0].tolist() == [at * width, at * width + 1, at * width + 2]


def test_an_adapter_or_quantized_weights_are_refused(tmp_path: Path) -> None:
    """They would be split as they are not."""
    folder = write(tmp_path / "toy", quantization_config={"quant_method": "awq"})
    spec = ModelSpec("toy", str(folder), quantized=True)

    with pytest.raises(ModelError, match="not quantized"):
        head_detection.find(spec, tmp_path)


def test_models_check_says_that_it_can_be_scored(tmp_path: Path) -> None:
    """From headers, configuration and tokenizer.model; and why, where it cannot."""
    folder = write(tmp_path / "toy")
    said = CliRunner().invoke(app, ["models", "check", str(folder)]).output
    assert "can be scored" in said
    assert "linear at a token: v_head.weight (1, 32)" in said
    assert "rightmost id 8" in said
    assert "<|im_end|>\\n<|reward|>" in said

    retensor(folder, lambda tensors: tensors.update({PACKED: torch.ones(56, 32)}))

    said = CliRunner().invoke(app, ["models", "check", str(folder)]).output
    assert "has shape (56, 32), expected (64, 32)" in " ".join(said.split())
    assert "can be scored" not in said
