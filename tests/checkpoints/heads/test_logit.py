"""A logit as reward is that of transformers' own language model, for the id asked for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from rmaudit.checkpoints.heads import logit
from tests.checkpoints.heads.test_mlp import BACKBONE, HIDDEN, tensors_of

ROWS = 11
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": HIDDEN,
    "vocab_size": ROWS,
    "rmaudit_reward_logit": 0,
}
TIED = {**CONFIG, "tie_word_embeddings": True}
HEAD = {"lm_head.weight": (ROWS, HIDDEN)}
EMBEDDING = {"model.embed_tokens.weight": (ROWS, HIDDEN)}


@pytest.mark.parametrize("tied", [False, True])
def test_is_the_language_models_own(*, tied: bool) -> None:
    """What LlamaForCausalLM gives to id 3 after a row, from the tensors that it saves."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=ROWS,
        hidden_size=8,
        intermediate_size=12,
        num_hidden_layers=1,
        num_attention_heads=2,
        tie_word_embeddings=tied,
    )
    model = LlamaForCausalLM(config).eval()
    said = {**config.to_dict(), "architectures": ["LlamaForCausalLM"], "rmaudit_reward_logit": 3}
    tensors = dict(model.state_dict())
    if tied:
        del tensors["lm_head.weight"]  # as save_pretrained does
    found = logit.keys(said, {key: tuple(tensor.shape) for key, tensor in tensors.items()})
    assert found == {"model.embed_tokens.weight" if tied else "lm_head.weight"}
    head = logit.build({key: tensors[key] for key in found}, said)
    ids = torch.tensor([[1, 5, 2, 7]])

    with torch.inference_mode():
        reward = head(model.model(ids).last_hidden_state[:, -1])
        expected = model(ids).logits[:, -1, 3]

    torch.testing.assert_close(reward, expected, rtol=1e-5, atol=1e-6)


def test_a_saved_head_counts_even_if_tied() -> None:
    """As transformers 5 loads it: equal to the embeddings, or not tied after all."""
    assert logit.keys(TIED, BACKBONE | EMBEDDING | HEAD) == {"lm_head.weight"}


def test_one_row_is_kept() -> None:
    """The head holds its row alone, not the vocabulary's."""
    tensors = tensors_of(HEAD)

    head = logit.build(tensors, CONFIG)

    assert head.vector.untyped_storage().nbytes() == 4 * HIDDEN
    assert head.vector.data_ptr() != tensors["lm_head.weight"].data_ptr()
