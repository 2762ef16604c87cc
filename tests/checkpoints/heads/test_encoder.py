"""DeBERTa's head is Linear, the activation of config.json, Linear; all else is refused.

BERT's and ModernBERT's are compared with transformers' in `tests/models/test_token_types.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rmaudit.checkpoints import heads
from rmaudit.checkpoints.heads import encoder

HIDDEN = 5
CONFIG: dict[str, Any] = {
    "architectures": ["DebertaV2ForSequenceClassification"],
    "hidden_size": HIDDEN,
    "pooler_hidden_act": "gelu",
    "type_vocab_size": 0,
}
BACKBONE = {"deberta.embeddings.word_embeddings.weight": (11, HIDDEN)}
SHAPES = {
    "pooler.dense.weight": (HIDDEN, HIDDEN),
    "pooler.dense.bias": (HIDDEN,),
    "classifier.weight": (1, HIDDEN),
    "classifier.bias": (1,),
}
MODULES = {"gelu": nn.GELU(), "relu": nn.ReLU(), "silu": nn.SiLU(), "tanh": nn.Tanh()}


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Numbers of unit scale."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("architecture", encoder.ARCHITECTURES[:2])
@pytest.mark.parametrize("name", MODULES)
def test_the_head_is_two_layers_with_the_activation(architecture: str, name: str) -> None:
    """As torch's own modules give it, in float32 whatever was saved."""
    tensors = {k: drawn(*s, seed=len(k)).to(torch.bfloat16) for k, s in SHAPES.items()}
    dense, last = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)
    for layer, module in (("pooler.dense", dense), ("classifier", last)):
        module.load_state_dict({k: tensors[f"{layer}.{k}"].float() for k in ("weight", "bias")})
    config = CONFIG | {"architectures": [architecture], "pooler_hidden_act": name}
    states = drawn(9, HIDDEN, seed=1)

    found = heads.find(config, BACKBONE | SHAPES)
    assert found is not None
    head = found.family.build(tensors, config)
    rewards = head.after((1, 2), torch.empty(0))(states)

    assert (found.family.NAME, found.family.POOL, found.keys) == ("pair", "first", SHAPES.keys())
    torch.testing.assert_close(rewards, nn.Sequential(dense, MODULES[name], last)(states)[:, 0])
    assert rewards.std() > 0.1


def test_the_activation_is_transformers_default_where_none_is_named() -> None:
    """Older config.json have no `pooler_hidden_act`."""
    from transformers import DebertaConfig, DebertaV2Config

    config = {key: value for key, value in CONFIG.items() if key != "pooler_hidden_act"}
    tensors = {key: drawn(*shape, seed=len(key)) for key, shape in SHAPES.items()}
    states = drawn(9, HIDDEN, seed=1)
    rewards = [encoder.build(tensors, which)(states) for which in (config, CONFIG)]

    assert DebertaConfig().pooler_hidden_act == DebertaV2Config().pooler_hidden_act == "gelu"
    torch.testing.assert_close(*rewards)
