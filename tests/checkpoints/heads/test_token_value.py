"""Heads that are read at a token of their own: which token, and of which classes."""

from __future__ import annotations

from typing import Any

import pytest

from rmaudit.checkpoints.heads import find, token_value

WIDTH = 5
SHAPES: dict[str, tuple[int, ...]] = {"v_head.weight": (1, WIDTH)}
CONFIGS: dict[str, dict[str, Any]] = {
    "InternLM2": {
        "architectures": ["InternLM2ForRewardModel"],
        "model_type": "internlm2",
        "hidden_size": WIDTH,
        "vocab_size": 11,
        "reward_token_id": 7,
    },
    "Athene": {
        "architectures": ["CustomAutoModelForSequenceClassification"],
        "model_type": "llama",
        "hidden_size": WIDTH,
        "vocab_size": 128256,
    },
}


def test_the_token_is_the_configurations_or_the_makers() -> None:
    """Athene's stands in code only."""
    assert [token_value.reward_id(config) for config in CONFIGS.values()] == [7, 128003]


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": ["LlamaForCausalLM"], "model_type": "llama"},
        {"architectures": ["CustomAutoModelForSequenceClassification"], "model_type": "mistral"},
        {},
    ],
)
def test_another_class_reads_its_value_elsewhere(config: dict[str, Any]) -> None:
    """The same tensor says nothing of where; some are read before the first pad."""
    config = {"hidden_size": WIDTH, "vocab_size": 128256, **config}

    assert find(config, SHAPES) is None
    assert token_value.reward_id(config) is None
