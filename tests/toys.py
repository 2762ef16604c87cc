"""Small real checkpoints for the tests: every architecture, a real tokenizer, random weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    BertTokenizer,
    DebertaV2Tokenizer,
    PreTrainedTokenizerFast,
    Qwen2Tokenizer,
)

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
# Windows are shorter than the tests' prefixes, and values have another width than queries.
_WINDOW = {"sliding_window": 8}
_FIRST_LAYER_WINDOW = {**_WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
_SWITCHED_WINDOW = {**_WINDOW, "use_sliding_window": True}
_SECOND_LAYER_WINDOW = {**_SWITCHED_WINDOW, "max_window_layers": 1}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
_SHARED_EXPERT = {**_EXPERTS, "shared_expert_intermediate_size": 16}
_ROUTED_EXPERTS = {
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
}
_LATENT = {
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 6,
    "num_key_value_heads": 4,
    "head_dim": 4,
}
_LINEAR = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}
_MAMBA = {"mamba_d_state": 4, "mamba_dt_rank": 4, "use_mamba_kernels": False}
_HYBRID = {"num_hidden_layers": 4, "layers_block_type": ["mamba", "hybrid"] * 2}
EXTRA: dict[str, dict[str, Any]] = {
    "axk1": {**_LATENT, **_ROUTED_EXPERTS, "n_group": 2, "topk_group": 1},
    "axk2": {
        **_LATENT,
        **_ROUTED_EXPERTS,
        "index_topk": 4,
        "index_head_dim": 8,
        "index_n_heads": 2,
        "gated_norm_rank": 4,
    },
    "deepseek_v2": {**_LATENT, **_ROUTED_EXPERTS, "first_k_dense_replace": 1},
    "deepseek_v3": {
        **_LATENT,
        **_ROUTED_EXPERTS,
        "first_k_dense_replace": 1,
        "n_group": 2,
        "topk_group": 1,
    },
    "exaone4": {**_WINDOW, "sliding_window_pattern": 2},
    "gemma2": {**_WINDOW, "attn_logit_softcapping": 5.0, "query_pre_attn_scalar": 8},
    "gemma3_text": _FIRST_LAYER_WINDOW,
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 8},
    "gpt_oss": {**_FIRST_LAYER_WINDOW, "num_local_experts": 4, "num_experts_per_tok": 2},
    "gptj": {"rotary_dim": 4},
    "hunyuan_v1_moe": {"num_experts": 4, "moe_topk": 2},
    "jamba": {**_MAMBA, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 4},
    "jetmoe": {"kv_channels": 8, "num_local_experts": 4, "num_experts_per_tok": 2},
    "minicpm3": {**_LATENT, "scale_emb": 1},
    "minimax": {
        "layer_types": ["full_attention", "linear_attention"],
        "num_local_experts": 4,
        "block_size": 4,
    },
    "ministral": _FIRST_LAYER_WINDOW,
    "ministral3": _WINDOW,
    "mistral": _WINDOW,
    "mistral4": {**_LATENT, **_ROUTED_EXPERTS, "head_dim": 12, "first_k_dense_replace": 1},
    "mixtral": {**_WINDOW, "num_local_experts": 4},
    "mpt": {"max_seq_len": 128},
    "olmo3": _FIRST_LAYER_WINDOW,
    "phi3": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}},
    "phimoe": {"num_local_experts": 4},
    "qwen2": _SECOND_LAYER_WINDOW,
    "qwen2_moe": _SHARED_EXPERT,
    "qwen3": _SECOND_LAYER_WINDOW,
    "qwen3_5_text": _LINEAR,
    "qwen3_moe": {**_EXPERTS, **_SWITCHED_WINDOW},
    "qwen3_next": {**_LINEAR, **_SHARED_EXPERT},
    "smollm3": {**_SWITCHED_WINDOW, "no_rope_layer_interval": 2},
    "starcoder2": _WINDOW,
    "zamba": {
        **_HYBRID,
        **_MAMBA,
        "num_key_value_heads": 4,
        "attention_head_dim": 16,
        "n_mamba_heads": 2,
    },
    "zamba2": {
        **_HYBRID,
        "num_key_value_heads": 4,
        "n_mamba_heads": 8,
        "mamba_d_state": 8,
        "chunk_size": 8,
        "use_mamba_kernels": False,
    },
}
_DISENTANGLED = {  # as DeBERTa-v3 has it
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "pooler_hidden_act": "gelu",
}
EXTRA["deberta"] = _DISENTANGLED
EXTRA["deberta-v2"] = {
    **_DISENTANGLED,
    "position_buckets": 16,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
}
EXTRA["modernbert"] = {
    "local_attention": 8,
    "layer_types": ["full_attention", "sliding_attention"],
    **dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1),
}
REFUSED = {"falcon": {"head_dim"}}  # settings that a kind's configuration does not take


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


def _tokenizer_of(kind: str) -> PreTrainedTokenizerFast:
    """The byte-level tokenizer, split into words as transformers' class for Qwen2 has it."""
    tokenizer = toy_tokenizer()
    if kind == "qwen2":
        own = Qwen2Tokenizer().backend_tokenizer
        tokenizer.backend_tokenizer.normalizer = own.normalizer
        tokenizer.backend_tokenizer.pre_tokenizer = own.pre_tokenizer
    return tokenizer


def pair_tokenizer(kind: str = "deberta-v2") -> PreTrainedTokenizerFast:
    """An encoder's tokenizer: a Unigram (DeBERTa-v2, v3), WordPiece (BERT), or a BPE (others)."""
    if kind == "bert":
        first = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
        letters = "abcdefghijklmnopqrstuvwxyz?."
        pieces = [*first, *WORDS, *letters, *(f"##{letter}" for letter in letters)]
        return BertTokenizer(vocab={p: i for i, p in enumerate(dict.fromkeys(pieces))})
    special = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
    if kind == "deberta-v2":
        first = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
        pieces = [f"▁{word}" for word in WORDS] + list("▁abcdefghijklmnopqrstuvwxyzL?.")
        scored = [*((piece, 0.0) for piece in first), *((piece, -1.0) for piece in pieces)]
        return DebertaV2Tokenizer(vocab=scored, unk_id=3)
    tokenizer = toy_tokenizer(template=None)
    tokenizer.add_special_tokens(special)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[
            (token, tokenizer.convert_tokens_to_ids(token)) for token in special.values()
        ],
    )
    return tokenizer


def toy_checkpoint(
    folder: Path,
    *,
    kind: str = "llama",
    seed: int = 0,
    tokenizer: PreTrainedTokenizerFast | None = None,
    **settings: Any,
) -> Path:
    """A checkpoint folder as `save_pretrained` writes it, with random weights of unit scale."""
    tokenizer = tokenizer or _tokenizer_of(kind)
    torch.manual_seed(seed)
    given: dict[str, Any] = {
        "pad_token_id": tokenizer.pad_token_id,
        **SIZES,
        **EXTRA.get(kind, {}),
        **settings,
    }
    taken = {name: value for name, value in given.items() if name not in REFUSED.get(kind, ())}
    config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), num_labels=1, **taken)
    model = AutoModelForSequenceClassification.from_config(config)
    for parameter in model.parameters():  # far from the tiny default, so that attention matters
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.5 / parameter.shape[-1] ** 0.5 * 2)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def toy_language_model(
    folder: Path,
    *,
    kind: str = "llama",
    seed: int = 1,
    tokenizer: PreTrainedTokenizerFast | None = None,
    **settings: Any,
) -> Path:
    """A causal language model in a folder, with random weights of unit scale."""
    tokenizer = tokenizer or _tokenizer_of(kind)
    torch.manual_seed(seed)
    given: dict[str, Any] = {
        "pad_token_id": tokenizer.pad_token_id,
        "vocab_size": len(tokenizer),
        **SIZES,
        **EXTRA.get(kind, {}),
        **settings,
    }
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **given))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=1 / parameter.shape[-1] ** 0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
