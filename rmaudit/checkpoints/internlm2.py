"""Turn InternLM2's backbone into transformers' Llama: configuration, tensors renamed and split.

transformers has no class for InternLM2, and its own code is never run. The network is Llama's, by
modeling_internlm2.py beside the published checkpoints: RMSNorm, rotary embeddings of the two halves
of a head, attention by groups, w2(silu(w1 x) · w3 x). Queries, keys and values are one tensor,
`wqkv`: for each key head in turn, the queries of its group, then its key, then its value.

`rope_scaling` of type dynamic is Llama's too: up to max_position_embeddings nothing is scaled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import weights_headers
from rmaudit.checkpoints.heads.linear import Shapes, match
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig


# A part of the key of scores: raise it if the network or its tokenizer is read in another way.
CONVERSION = "internlm2 as llama, 1"
_SIZES = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
_SAME = (
    *_SIZES,
    *("num_key_value_heads", "vocab_size", "max_position_embeddings", "rms_norm_eps", "rope_theta"),
    *("rope_scaling", "hidden_act", "bos_token_id", "eos_token_id", "pad_token_id"),
)
_PACKED = "self_attn.qkv"  # what Llama has as q_proj, k_proj and v_proj
_NAMES = {  # of a layer's parts, InternLM2's and Llama's
    "attention.wqkv": _PACKED,
    "attention.wo": "self_attn.o_proj",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w3": "mlp.up_proj",
    "feed_forward.w2": "mlp.down_proj",
    "attention_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_OUTSIDE = {
    "model.tok_embeddings.weight": "embed_tokens.weight",
    "model.norm.weight": "norm.weight",
}
_UNUSED = "output.weight"  # the output layer of a language model


def is_one(config: Mapping[str, Any]) -> bool:
    """Return whether a config.json is that of InternLM2."""
    return config.get("model_type") == "internlm2"


def refuse_others(config: Mapping[str, Any], shapes: Shapes, head: Iterable[str]) -> None:
    """Raise if the tensors are not exactly those of InternLM2 with this config.json, and the head.

    Raises:
        ModelError: one is missing, unexpected or of a wrong shape, or config.json lacks a size.
    """
    wanted, others = dict(sorted(_shapes(config))), {*head, _UNUSED}
    match(shapes, shapes.keys() - others, wanted, what="InternLM2 with this config.json")


def configuration(config: Mapping[str, Any]) -> PretrainedConfig:
    """Return the configuration of the Llama that is the same network."""
    from transformers import LlamaConfig

    same = {key: config[key] for key in _SAME if key in config}
    return LlamaConfig(**same, attention_bias=_biases(config), tie_word_embeddings=False)


def tensors(files: Iterable[Path], config: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the backbone's tensors from safetensors files, by the names that LlamaModel has."""
    wanted = frozenset(dict(_shapes(config)))
    found: dict[str, Tensor] = {}
    for key, tensor in weights_headers.tensors_in(files, wanted).items():
        name = _OUTSIDE.get(key) or _name_in_llama(key)
        if _PACKED not in name:
            found[name] = tensor
            continue
        for part, each in zip("qkv", split(tensor, *_heads(config)), strict=True):
            found[name.replace(_PACKED, f"self_attn.{part}_proj")] = each
    return found


def split(packed: Tensor, heads: int, key_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Split `wqkv` ((heads + 2·key_heads)·width, ...) into Llama's queries, keys and values."""
    group = heads // key_heads
    grouped = packed.reshape(key_heads, group + 2, -1, *packed.shape[1:])
    queries = grouped[:, :group].flatten(0, 2)
    return queries, grouped[:, group].flatten(0, 1), grouped[:, group + 1].flatten(0, 1)


def _name_in_llama(key: str) -> str:
    """Return Llama's name of a tensor in a layer, such as `model.layers.0.attention.wo.weight`."""
    _, layers, number, *part, kind = key.split(".")
    return f"{layers}.{number}.{_NAMES['.'.join(part)]}.{kind}"


def _shapes(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of each of the backbone's tensors; raise without a size."""
    hidden, inner, layers, heads = (_count(config, key) for key in _SIZES)
    _, key_heads = _heads(config)
    packed = (heads + 2 * key_heads) * (hidden // heads)
    yield from zip(_OUTSIDE, [(_count(config, "vocab_size"), hidden), (hidden,)], strict=True)
    parts = dict(
        zip(_NAMES, [packed, hidden, inner, inner, hidden, None, None], strict=True)
    )  # their outputs; norms have none
    for layer in range(layers):
        for part, outputs in parts.items():
            name = f"model.layers.{layer}.{part}"
            inputs = inner if part == "feed_forward.w2" else hidden
            yield f"{name}.weight", (hidden,) if outputs is None else (outputs, inputs)
            if outputs is not None and part.startswith("attention.") and _biases(config):
                yield f"{name}.bias", (outputs,)


def _biases(config: Mapping[str, Any]) -> bool:
    """Return whether attention has biases, as it has by default in InternLM2's own class."""
    return bool(config.get("bias", True))


def _heads(config: Mapping[str, Any]) -> tuple[int, int]:
    """Return the numbers of query heads and of key heads; raise if they do not go together."""
    hidden, heads = _count(config, "hidden_size"), _count(config, "num_attention_heads")
    key_heads = heads
    if config.get("num_key_value_heads") is not None:
        key_heads = _count(config, "num_key_value_heads")
    if heads % key_heads or hidden % heads:
        raise ModelError(
            f"config.json has hidden_size {hidden}, num_attention_heads {heads} and "
            f"num_key_value_heads {key_heads}; each should be a multiple of the next: copy it from "
            f"the checkpoint's own"
        )
    return heads, key_heads


def _count(config: Mapping[str, Any], key: str) -> int:
    if type(found := config.get(key)) is not int or found < 1:
        raise ModelError(
            f"{key} in config.json is {found!r}, and InternLM2 needs a whole number above 0; copy "
            f"config.json from the checkpoint's own"
        )
    return found
