"""A logit as reward is made with the output layer that was saved, of which one row is kept."""

from __future__ import annotations

from typing import Any

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


def test_a_saved_head_counts_even_if_tied() -> None:
    """As transformers 5 loads it: equal to the embeddings, or not tied after all."""
    assert logit.keys(TIED, BACKBONE | EMBEDDING | HEAD) == {"lm_head.weight"}


def test_one_row_is_kept() -> None:
    """The head holds its row alone, not the vocabulary's."""
    tensors = tensors_of(HEAD)

    head = logit.build(tensors, CONFIG)

    assert head.vector.untyped_storage().nbytes() == 4 * HIDDEN
    assert head.vector.data_ptr() != tensors["lm_head.weight"].data_ptr()
