"""What holds of one family alone, beside what is said of all in `test_every_family`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import DebertaConfig, DebertaV2Config

from rmaudit.checkpoints.heads import (
    encoder,
    find,
    linear,
    logit,
    mlp,
    token_classifier,
    token_value,
)
from tests.checkpoints.heads import whole
from tests.checkpoints.heads.whole import WIDTH, drawn_states, one_label, tensors_of


def test_an_encoders_activation_is_transformers_default_where_none_is_named() -> None:
    """Older config.json have no `pooler_hidden_act`."""
    without = {k: value for k, value in whole.ENCODER.items() if k != "pooler_hidden_act"}
    tensors, states = tensors_of(whole.PAIR), drawn_states(9, 1, WIDTH)
    rewards = [encoder.build(tensors, which)(states) for which in (without, whole.ENCODER)]

    assert DebertaConfig().pooler_hidden_act == DebertaV2Config().pooler_hidden_act == "gelu"
    torch.testing.assert_close(*rewards)


@pytest.mark.parametrize("name", ["score", "classifier"])
def test_only_the_class_tells_a_token_classifier(name: str) -> None:
    """A sequence classifier with the same tensors is another head."""
    config = {"score": whole.LLAMA_TOKENS, "classifier": whole.GPT2_TOKENS}[name]
    shapes = one_label(name)
    assert find(config, shapes) == (token_classifier, shapes.keys())

    config = config | {"architectures": ["LlamaForSequenceClassification"]}

    assert token_classifier.keys(config, shapes) is None
    assert linear.keys(config, shapes) == ({"score.weight"} if name == "score" else None)


def test_the_token_of_a_reward_is_the_configurations_or_the_makers() -> None:
    """Athene's stands in code only."""
    found = [token_value.reward_id(config) for config in (whole.INTERNLM2, whole.ATHENE)]
    assert found == [7, 128003]


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

    assert find(config, whole.AT_TOKEN) is None
    assert token_value.reward_id(config) is None


def test_a_logit_is_of_the_saved_output_layer_of_which_one_row_is_kept() -> None:
    """Saved, it counts even if tied, as transformers 5 loads it; others are freed."""
    assert logit.keys(whole.TIED, whole.EMBEDDING | whole.LM_HEAD) == whole.LM_HEAD.keys()
    tensors = tensors_of(whole.LM_HEAD)

    head = logit.build(tensors, whole.LOGIT)

    assert head.vector.untyped_storage().nbytes() == 4 * WIDTH
    assert head.vector.data_ptr() != tensors["lm_head.weight"].data_ptr()


def test_layers_serve_gradients_and_whole_rows() -> None:
    """Layers that scoring moved to where the states are; each place of a row as alone."""
    head, states = mlp.build(tensors_of(whole.LAYERS), whole.MLP), drawn_states(6, 1, WIDTH)
    torch.testing.assert_close(head(states.reshape(2, 3, WIDTH)).reshape(-1), head(states))
    with torch.inference_mode():
        head(states.to("meta"))  # a device that is always there

    own = states.to("meta").requires_grad_()
    (slope,) = torch.autograd.grad(head(own).sum(), own)

    assert slope.shape == own.shape
    assert {layer.weight.device.type for layer in head.layers} == {"meta"}
