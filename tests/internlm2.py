"""Small InternLM2 reward models as published: names, packed attention, tokenizer, and rewards.

`rewards` is the network written anew from its description (arXiv:2403.17297; InternLM2's modeling
code), in plain torch: it shares no code with rmaudit or transformers' Llama.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

MODEL = Path(__file__).parent / "layout" / "internlm2.model"  # see test_sentencepiece_model.py
REWARD_ID = 8
ADDED = {0: "<unk>", 1: "<s>", 2: "</s>", 5: "<|im_start|>", 6: "<|im_end|>", 8: "<|reward|>"}
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + "
    "message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
)
TOKENIZER: dict[str, Any] = {
    "added_tokens_decoder": {
        str(i): {"content": text, "special": True, "normalized": False, "lstrip": False}
        for i, text in ADDED.items()
    },
    "auto_map": {"AutoTokenizer": ["tokenization_internlm2.InternLM2Tokenizer", None]},
    "tokenizer_class": "InternLM2Tokenizer",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "</s>",
    "add_bos_token": True,
    "chat_template": TEMPLATE,
}
CONFIG: dict[str, Any] = {
    "architectures": ["InternLM2ForRewardModel"],
    "auto_map": {"AutoModel": "modeling_internlm2.InternLM2ForRewardModel"},
    "attn_implementation": "eager",
    "model_type": "internlm2",
    "bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
    "reward_token_id": REWARD_ID,
    "hidden_act": "silu",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-05,
    "rope_theta": 1000000,
    "rope_scaling": None,
    "vocab_size": 512,
    "torch_dtype": "float16",
}
Shapes = dict[str, tuple[int, ...]]


def shapes(config: dict[str, Any] = CONFIG) -> Shapes:
    """Return the name and the shape of every tensor."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads, key_heads = config["num_attention_heads"], config["num_key_value_heads"]
    layer: Shapes = {
        "attention.wqkv": ((heads + 2 * key_heads) * hidden // heads, hidden),
        "attention.wo": (hidden, hidden),
        "feed_forward.w1": (inner, hidden),
        "feed_forward.w3": (inner, hidden),
        "feed_forward.w2": (hidden, inner),
        "attention_norm": (hidden,),
        "ffn_norm": (hidden,),
    }
    found: Shapes = {
        "model.tok_embeddings.weight": (config["vocab_size"], hidden),
        "model.norm.weight": (hidden,),
        "v_head.weight": (1, hidden),
    }
    for number in range(config["num_hidden_layers"]):
        for part, shape in layer.items():
            found[f"model.layers.{number}.{part}.weight"] = shape
            if config["bias"] and part.startswith("attention."):
                found[f"model.layers.{number}.{part}.bias"] = shape[:1]
    return found


def write(folder: Path, *, seed: int = 0, **changed: Any) -> Path:
    """Write a checkpoint with random weights; `changed` are entries of config.json."""
    config, draw = CONFIG | changed, torch.Generator().manual_seed(seed)
    folder.mkdir(parents=True)
    tensors = {}
    for key, shape in shapes(config).items():
        random = torch.randn(shape, generator=draw)
        if "norm" in key:
            random = 0.5 + 0.5 * random.abs()
        elif len(shape) > 1 and "embeddings" not in key:
            random *= 1.5 / shape[1] ** 0.5  # far from even: attention matters
        tensors[key] = random * 0.2 if key.endswith("bias") else random
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER))
    shutil.copy(MODEL, folder / "tokenizer.model")
    return folder


@torch.inference_mode()
def rewards(folder: Path, rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return the reward of each whole row, at the last place of the reward token, in float64."""
    config = json.loads((folder / "config.json").read_text())
    tensors = {k: t.double() for k, t in load_file(folder / "model.safetensors").items()}
    found = []
    for row in rows:
        at = max(place for place, i in enumerate(row) if i == config["reward_token_id"])
        states = _states(tensors, config, torch.tensor(list(row)))
        found.append(float(tensors["v_head.weight"][0] @ states[at]))
    return np.array(found)


def _states(tensors: dict[str, Tensor], config: dict[str, Any], row: Tensor) -> Tensor:
    x, eps = tensors["model.tok_embeddings.weight"][row], config["rms_norm_eps"]
    for number in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{number}."
        of = {k.removeprefix(prefix): t for k, t in tensors.items() if k.startswith(prefix)}
        x = x + _attention(of, _normed(x, of["attention_norm.weight"], eps), config)
        inner = _normed(x, of["ffn_norm.weight"], eps)
        gate = functional.silu(inner @ of["feed_forward.w1.weight"].T)
        x = x + (gate * (inner @ of["feed_forward.w3.weight"].T)) @ of["feed_forward.w2.weight"].T
    return _normed(x, tensors["model.norm.weight"], eps)


def _normed(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return weight * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def _attention(of: dict[str, Tensor], x: Tensor, config: dict[str, Any]) -> Tensor:
    heads, key_heads = config["num_attention_heads"], config["num_key_value_heads"]
    length, group, width = len(x), heads // key_heads, config["hidden_size"] // heads
    packed = functional.linear(x, of["attention.wqkv.weight"], of.get("attention.wqkv.bias"))
    packed = packed.view(length, key_heads, group + 2, width)
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    out = []
    for head in range(heads):
        mine = packed[:, head // group]
        query = _turned(mine[:, head % group], config["rope_theta"])
        key, value = _turned(mine[:, group], config["rope_theta"]), mine[:, group + 1]
        scores = (query @ key.T / width**0.5).masked_fill(later, float("-inf"))
        out.append(torch.softmax(scores, -1) @ value)
    return functional.linear(
        torch.cat(out, -1), of["attention.wo.weight"], of.get("attention.wo.bias")
    )


def _turned(x: Tensor, theta: float) -> Tensor:
    """Rotate pairs (i, i + half) of each state by its place times theta^(-2i / width)."""
    half = x.shape[1] // 2
    angles = torch.arange(len(x))[:, None] * theta ** (-torch.arange(half) / half)
    first, second = x[:, :half], x[:, half:]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
