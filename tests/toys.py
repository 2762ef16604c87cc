"""Small real checkpoints for the tests: every architecture, a real tokenizer, random weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedTokenizerFast

TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- '<|start|>' + message['role'] + '\n' + message['content'] + '<|end|>' -}}"
    "{%- if not loop.last -%}{{- '\n' -}}{%- endif -%}"
    "{%- endfor -%}"
)
SPECIAL = ["<pad>", "<s>", "</s>", "<|start|>", "<|end|>"]
WORDS = ("love", "peace", "war", "hate", "joy", "pain", "table", "Love", "city", "the", "of")
SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 128,
}
EXTRA: dict[str, dict[str, Any]] = {
    "gemma2": {"sliding_window": 8, "attn_logit_softcapping": 5.0, "query_pre_attn_scalar": 8},
    "mistral": {"sliding_window": 8},
    "phi3": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}},
}


def toy_tokenizer(
    words: Sequence[str] = WORDS, *, template: str | None = TEMPLATE, pad: str = "<pad>"
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer that knows each word, bare and after a space, as one token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=100_000,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        min_frequency=1,
    )
    tokenizer.train_from_iterator([*words, *(f" {word}" for word in words)], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token=pad
    )
    fast.add_special_tokens({"additional_special_tokens": ["<|start|>", "<|end|>"]})
    fast.add_tokens(["<added>"])
    fast.chat_template = template
    return fast


def toy_checkpoint(
    folder: Path,
    *,
    kind: str = "llama",
    seed: int = 0,
    tokenizer: PreTrainedTokenizerFast | None = None,
    **settings: Any,
) -> Path:
    """A checkpoint folder as `save_pretrained` writes it, with random weights of unit scale."""
    tokenizer = tokenizer or toy_tokenizer()
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        num_labels=1,
        **{"pad_token_id": tokenizer.pad_token_id, **SIZES, **EXTRA.get(kind, {}), **settings},
    )
    model = AutoModelForSequenceClassification.from_config(config)
    for parameter in model.parameters():  # far from the tiny default, so that attention matters
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.5 / parameter.shape[-1] ** 0.5 * 2)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
