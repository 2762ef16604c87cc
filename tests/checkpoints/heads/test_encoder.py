"""Encoders' heads are compared with transformers' in `tests/models/test_bert_token_types.py`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

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


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Numbers of unit scale."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_the_activation_is_transformers_default_where_none_is_named() -> None:
    """Older config.json have no `pooler_hidden_act`."""
    from transformers import DebertaConfig, DebertaV2Config

    config = {key: value for key, value in CONFIG.items() if key != "pooler_hidden_act"}
    tensors = {key: drawn(*shape, seed=len(key)) for key, shape in SHAPES.items()}
    states = drawn(9, HIDDEN, seed=1)
    rewards = [encoder.build(tensors, which)(states) for which in (config, CONFIG)]

    assert DebertaConfig().pooler_hidden_act == DebertaV2Config().pooler_hidden_act == "gelu"
    torch.testing.assert_close(*rewards)
