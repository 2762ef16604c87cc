"""A batch on a GPU waits for the host nowhere, mixes no devices, and runs few kernels a layer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scoring.kernels import of_a_call, of_a_layer

SMALL: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}


@pytest.mark.parametrize(
    ("kind", "most"), [("llama", 54), ("qwen2", 57), ("qwen3", 70), ("gemma2", 81)]
)
def test_kernels_of_a_layer(kind: str, most: int) -> None:
    """No more than when this was written; that it ends on meta shows that it reads no number."""
    kernels, moved = of_a_layer({**SMALL, "model_type": kind}, rows=8)

    assert 30 < kernels <= most
    assert moved > 0


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_transfers_of_a_call(kind: str) -> None:
    """The ids of a batch go to the device and its rewards come back; no number is waited for."""
    counts = of_a_call({**SMALL, "model_type": kind, "num_hidden_layers": 2}, answers=48)

    assert +counts == {"to the device": 1, "to the host": 1}
