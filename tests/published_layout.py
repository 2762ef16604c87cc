"""Small folders laid out as the ten published models: names, shards, configurations, tokenizers.

Ids of special tokens, of the gates' patterns and of the last row are the published ones; a
vocabulary knows few of its ids, so that a sweep of it is short. Weights are random.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

Shapes = dict[str, tuple[int, ...]]
HIDDEN, WIDTH = 32, 24
_WORDS = "love peace war hate joy pain table city the of what in one word is greatest thing ever"
_LLAMA_IDS = {
    "<|begin_of_text|>": 128000,
    "<|end_of_text|>": 128001,
    "<|start_header_id|>": 128006,
    "<|end_header_id|>": 128007,
    "<|eot_id|>": 128009,
    "[PAD]": 128256,
    "ĊĊ": 271,
    "user": 882,
    "assistant": 78191,
}
_GEMMA_IDS = {
    "<pad>": 0,
    "<eos>": 1,
    "<bos>": 2,
    "<start_of_turn>": 106,
    "<end_of_turn>": 107,
    "Ċ": 108,
    "user": 1645,
    "model": 2516,
}
_TURN = {  # the answer's role, what is before and after it, and what opens a turn
    "llama": "<|start_header_id|>{{ role }}<|end_header_id|>\n\n{{ m.content | trim }}<|eot_id|>",
    "gemma2": "<start_of_turn>{{ role }}\n{{ m.content | trim }}<end_of_turn>\n",
}
_SIZES = {
    "hidden_size": HIDDEN,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 8192,
    "use_cache": False,
}
LLAMA: dict[str, Any] = {
    **_SIZES,
    "model_type": "llama",
    "vocab_size": 128257,
    "bos_token_id": 128000,
    "eos_token_id": 128001,
    "pad_token_id": 128256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
}
LLAMA_31 = {
    **LLAMA,
    "rope_scaling": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
}
GEMMA: dict[str, Any] = {
    **_SIZES,
    "model_type": "gemma2",
    "vocab_size": 256000,
    "bos_token_id": 2,
    "eos_token_id": 1,
    "pad_token_id": 0,
    "head_dim": 8,
    "query_pre_attn_scalar": 8,
    "attn_logit_softcapping": 50.0,
    "final_logit_softcapping": 30.0,
    "sliding_window": 4096,
    "hidden_activation": "gelu_pytorch_tanh",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
}


@dataclass(frozen=True)
class Layout:
    """What a published checkpoint has: configuration, tensors beside the backbone's, and types.

    `pad` is the tokenizer's, `head_dtype` the type of the head's tensors where it is another, and
    `two_bos` whether the template prints a BOS, to which the tokenizer adds one.
    """

    config: dict[str, Any]
    head: Shapes
    dtype: torch.dtype = torch.bfloat16
    head_dtype: torch.dtype | None = None
    pad: str = "[PAD]"
    two_bos: bool = True
    files: dict[str, Any] = field(default_factory=dict)


def bare_gate(objectives: int) -> Shapes:
    """Return the shapes of ArmoRM's gate: linear layers with biases."""
    pairs = enumerate(itertools.pairwise([HIDDEN, WIDTH, WIDTH, WIDTH, objectives]))
    layers = {f"gating.layers.{i}": sizes for i, sizes in pairs}
    weights = {f"{name}.weight": (after, before) for name, (before, after) in layers.items()}
    biases = {f"{name}.bias": (after,) for name, (_, after) in layers.items()}
    return {**weights, **biases, "gating.logit_scale": (1,)}


def normed_gate(objectives: int, step: int) -> Shapes:
    """Return the shapes of a QRM's gate: a linear layer without bias and a norm, three times."""
    shapes: Shapes = {"gating.logit_scale": (1,)}
    for i, before in enumerate([HIDDEN, WIDTH, WIDTH]):
        shapes[f"gating.layers.{i * step}.weight"] = (WIDTH, before)
        for key in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"gating.layers.{i * step + 2}.{key}"] = (WIDTH,)
        shapes[f"gating.layers.{i * step + 2}.num_batches_tracked"] = ()
    last = f"gating.layers.{2 * step + 3}"
    return {**shapes, f"{last}.weight": (objectives, WIDTH), f"{last}.bias": (objectives,)}


def write(folder: Path, layout: Layout, seed: int) -> Path:
    """Write the layout with random weights, in two shards and an index."""
    folder.mkdir(parents=True)
    draw = torch.Generator().manual_seed(seed)
    gemma = layout.config["model_type"] == "gemma2"
    trunk = {
        key: _random(key, shape, draw, one_more=gemma).to(layout.dtype)
        for key, shape in _trunk(layout.config).items()
    }
    head = {key: _random(key, shape, draw, one_more=gemma) for key, shape in layout.head.items()}
    of_head = layout.head_dtype or layout.dtype
    typed = {key: one.to(of_head) if one.is_floating_point() else one for key, one in head.items()}
    files = {
        "model-00001-of-00002.safetensors": dict(list(trunk.items())[:7]),
        "model-00002-of-00002.safetensors": {**dict(list(trunk.items())[7:]), **typed},
    }
    for name, tensors in files.items():
        save_file(tensors, folder / name, {"format": "pt"})
    index = {key: name for name, tensors in files.items() for key in tensors}
    _json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": index})
    _json(folder / "config.json", {"torch_dtype": str(layout.dtype)[6:], **layout.config})
    _tokenizer(layout).save_pretrained(folder)
    for name, content in layout.files.items():
        _json(folder / name, content)
    return folder


def _trunk(config: dict[str, Any]) -> Shapes:
    inner, heads = config["intermediate_size"], config["num_attention_heads"]
    narrow = HIDDEN * config["num_key_value_heads"] // heads
    layer: Shapes = {
        "self_attn.q_proj": (HIDDEN, HIDDEN),
        "self_attn.k_proj": (narrow, HIDDEN),
        "self_attn.v_proj": (narrow, HIDDEN),
        "self_attn.o_proj": (HIDDEN, HIDDEN),
        "mlp.gate_proj": (inner, HIDDEN),
        "mlp.up_proj": (inner, HIDDEN),
        "mlp.down_proj": (HIDDEN, inner),
        "input_layernorm": (HIDDEN,),
        "post_attention_layernorm": (HIDDEN,),
    }
    if config["model_type"] == "gemma2":
        layer |= {f"{at}_feedforward_layernorm": (HIDDEN,) for at in ("pre", "post")}
    return {
        "model.embed_tokens.weight": (config["vocab_size"], HIDDEN),
        **{f"model.layers.{i}.{key}.weight": layer[key] for i in range(2) for key in layer},
        "model.norm.weight": (HIDDEN,),
    }


def _random(
    key: str, shape: tuple[int, ...], draw: torch.Generator, *, one_more: bool
) -> torch.Tensor:
    """Return a tensor; `one_more` is whether the class adds 1 to its norms' weights (Gemma)."""
    if key.endswith("num_batches_tracked"):
        return torch.tensor(1000)
    random = torch.randn(shape, generator=draw)
    if key.endswith("logit_scale"):
        return torch.tensor([2.59375])
    if key.endswith(("running_var", "norm.weight")):
        return 0.5 + 0.5 * random.abs() - int(one_more and key.endswith("norm.weight"))
    if "embed_tokens" in key and one_more:  # Gemma multiplies them by the root of its width
        return 0.1 * random
    last = ("regression_layer.weight", "score.weight", "transform_matrix")
    if len(shape) < 2 or "embed_tokens" in key or key.endswith(last):
        return random
    return random * 1.5 / shape[1] ** 0.5  # far from even: attention, gates and softcaps matter


def _tokenizer(layout: Layout) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer of few words, each id as published."""
    kind = layout.config["model_type"]
    ids = _LLAMA_IDS if kind == "llama" else _GEMMA_IDS
    special = [token for token in ids if token[0] in "<["]
    plain = Tokenizer(models.BPE())
    pattern = Regex(r" ?[A-Za-z]+|\s*\n+|[^\sA-Za-z]+|\s+")
    split, to_bytes = pre_tokenizers.Split, pre_tokenizers.ByteLevel
    plain.pre_tokenizer = pre_tokenizers.Sequence(
        [split(pattern, "isolated"), to_bytes(add_prefix_space=False, use_regex=False)]
    )
    plain.decoder = decoders.ByteLevel()
    words = [*_WORDS.split(), *(token.replace("Ċ", "\n") for token in ids if token not in special)]
    trainer = trainers.BpeTrainer(
        vocab_size=5000,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        min_frequency=1,
    )
    plain.train_from_iterator([*words, *(f" {word}" for word in _WORDS.split())], trainer)
    saved = json.loads(plain.to_str())
    free = (i for i in itertools.count(3000))
    saved["model"]["vocab"] = {t: ids.get(t) or next(free) for t in saved["model"]["vocab"]}
    if kind == "gemma2":
        saved["model"]["vocab"]["<pad>"] = 0
    for added in saved["added_tokens"]:
        added["id"] = ids[added["content"]]
    made = Tokenizer.from_str(json.dumps(saved))
    bos = "<|begin_of_text|>" if kind == "llama" else "<bos>"
    made.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", special_tokens=[(bos, ids[bos])]
    )
    eos = "<|eot_id|>" if kind == "llama" else "<eos>"
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=bos, eos_token=eos, pad_token=layout.pad
    )
    role = "m.role" if kind == "llama" else "'model' if m.role == 'assistant' else m.role"
    turn = _TURN[kind].replace("{{ role }}", f"{{{{ {role} }}}}")
    turns = f"{{%- for m in messages -%}}{turn}{{%- endfor -%}}"
    fast.chat_template = ("{{- bos_token -}}" if layout.two_bos else "") + _spaced(turns)
    return fast


def _spaced(template: str) -> str:
    """Print line breaks of a template as text, whatever jinja trims around tags."""
    return template.replace("\n", "{{ '\\n' }}")


def _json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
