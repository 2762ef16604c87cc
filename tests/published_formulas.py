"""The ten published models' rewards, written anew from the descriptions of their formulas.

The states are those of transformers' plain backbone, one whole row after the other; nothing here
calls rmaudit's heads or its scoring. Sources: arXiv:2406.12845 (ArmoRM), arXiv:2409.10164 (QRM),
arXiv:2410.00847 (URM); Skywork's and GRM's are plain linear heads.

The published code reads the reward just before the first pad id of a row. These rows have none
behind the answer's turn, so that is the last id, but for an answer that is the pad id itself
(see R-Lla-8B in models.yaml), which is not scored so here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional
from transformers import AutoConfig, AutoModel, AutoTokenizer

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.scores.sweep import sweep
from tests.published_layout import (
    GEMMA,
    HIDDEN,
    LLAMA,
    LLAMA_31,
    Layout,
    bare_gate,
    normed_gate,
    write,
)

Numbers = NDArray[np.float64]
Rows = Sequence[Sequence[int]]
_GATED, _LLAMA_PLAIN = "LlamaForRewardModelWithGating", "LlamaForSequenceClassification"
_QUANTILE, _GEMMA_PLAIN = (
    "Gemma2ForQuantileSequenceClassification",
    "Gemma2ForSequenceClassification",
)
_URM = "LlamaForSequenceClassificationWithNormal_Weights"
_PATTERNS = {
    "llama": (128009, 128006, 78191, 128007, 271),
    "gemma2": (107, 108, 106, 2516, 108),
}
_PLAIN = {"score.weight": (1, HIDDEN)}
_STALE = {"vhead_layer_type": "mlp", "vhead_num_neurons": 1024, "vhead_num_layers": 1}
_GATE = {"gating_hidden_dim": 24, "gating_n_hidden": 3}


def _named(config: dict[str, Any], architecture: str, **more: Any) -> dict[str, Any]:
    return {**config, "architectures": [architecture], **more}


def _own_code(architecture: str) -> dict[str, Any]:
    return {"auto_map": {"AutoModelForSequenceClassification": f"modeling_custom.{architecture}"}}


_SKYWORK_GEMMA = Layout(_named(GEMMA, _GEMMA_PLAIN), _PLAIN, pad="<pad>", two_bos=False)
LAYOUTS = {
    "N-Gem-27B": Layout(
        _named(
            GEMMA, _QUANTILE, num_objectives=5, num_quantiles=19, **_GATE, **_own_code(_QUANTILE)
        ),
        {"regression_layer.weight": (95, HIDDEN), **normed_gate(5, 4)},
        pad="<pad>",
    ),
    "S-Gem-27B-v0.2": _SKYWORK_GEMMA,
    "S-Gem-27B": _SKYWORK_GEMMA,
    "S-Lla-8B-v0.2": Layout(_named(LLAMA_31, _LLAMA_PLAIN), _PLAIN),
    "N-Lla-8B": Layout(
        _named(
            LLAMA_31,
            _GATED,
            num_objectives=19,
            num_quantiles=19,
            gating_temperature=5.0,
            gating_newtork=True,
            loss="quantile_regression",
            attn_implementation="flash_attention_2",
            eos_token_id=[128001, 128008, 128009],
            **_GATE,
            **_own_code(_GATED),
        ),
        {
            "regression_layer.weight": (361, HIDDEN),
            "reward_transform_matrix": (19, 19),
            **normed_gate(19, 3),
        },
    ),
    "L-Lla-8B": Layout(
        _named(LLAMA_31, _URM, id2label={str(i): f"LABEL_{i}" for i in range(10)}),
        {
            "lm_head.weight": (128257, HIDDEN),
            "score.weight": (10, HIDDEN),
            **{f"weights.fc.{i}.weight": (HIDDEN, HIDDEN) for i in (0, 2)},
            **{f"weights.fc.{i}.bias": (HIDDEN,) for i in (0, 2)},
            "weights.fc.4.weight": (5, HIDDEN),
            "weights.fc.4.bias": (5,),
        },
    ),
    "R-Lla-8B": Layout(
        _named(LLAMA, _LLAMA_PLAIN, pad_token_id=128001),
        _PLAIN,
        torch.float16,
        pad="<|end_of_text|>",
    ),
    "R-Lla-3B": Layout(
        _named(LLAMA_31, _LLAMA_PLAIN, tie_word_embeddings=True, **_STALE), _PLAIN, torch.float16
    ),
    "F-Lla-8B-v0.1": Layout(
        _named(
            LLAMA,
            _GATED,
            torch_dtype="float32",
            num_objectives=19,
            gating_temperature=10,
            **_GATE,
            **_own_code(_GATED),
        ),
        {
            "regression_layer.weight": (19, HIDDEN),
            "reward_transform_matrix": (19, 19),
            **bare_gate(19),
        },
        head_dtype=torch.float32,
        files={"special_tokens_map.json": {"pad_token": "[PAD]"}},
    ),
    "R-Gem-2B": Layout(
        _named(GEMMA, _GEMMA_PLAIN, pad_token_id=1, eos_token_id=[1, 107]),
        _PLAIN,
        torch.float16,
        pad="<eos>",
    ),
}


@dataclass(frozen=True)
class Choices:
    """What the descriptions say, to be changed by tests that look whether that is noticed."""

    temperature: bool = True
    over_quantiles: Callable[[Tensor], Tensor] = lambda curves: curves.mean(-1)
    transform: bool = True
    activation: Callable[[Tensor], Tensor] = functional.selu
    weigh: Callable[[Tensor], Tensor] = lambda weights: weights
    softcap: bool = True
    gate_offset: int = 0


@torch.inference_mode()
def rewards(folder: Path, rows: Rows, dtype: torch.dtype, choices: Choices = Choices()) -> Numbers:
    """Return the reward of each whole row as the authors' protocol has it, in a type.

    The heads of the QRMs run in float32 whatever the type is, all others in the type.
    """
    config = json.loads((folder / "config.json").read_text())
    backbone = _backbone(folder, dtype, softcap=choices.softcap)
    wide = torch.float32 if "num_quantiles" in config else dtype
    shards = [load_file(file) for file in sorted(folder.glob("*.safetensors"))]
    head = {
        key: tensor.to(wide)
        for shard in shards
        for key, tensor in shard.items()
        if not key.startswith("model.")
    }
    pattern, found = _PATTERNS[config["model_type"]], np.empty(len(rows))
    for places in _of_one_length(rows):
        ids = torch.tensor([list(rows[i]) for i in places])
        last = backbone(ids, use_cache=False).last_hidden_state.to(wide)
        for i, states in zip(places, last, strict=True):
            row = tuple(rows[i])
            at = max(j for j in range(len(row)) if row[j : j + len(pattern)] == pattern)
            prompt = states[at + choices.gate_offset]
            found[i] = float(reward(head, states[-1], prompt, config, choices))
    return found


@lru_cache(maxsize=2)  # both protocols, in two types by turns
def _backbone(folder: Path, dtype: torch.dtype, *, softcap: bool) -> Any:
    """Return transformers' plain backbone."""
    settings = AutoConfig.from_pretrained(folder)
    if not softcap:
        settings.attn_logit_softcapping = None
    return AutoModel.from_pretrained(
        folder, config=settings, dtype=dtype, attn_implementation="eager"
    ).eval()


@lru_cache(maxsize=2)
def _opened(spec: ModelSpec, cache: Path) -> Checkpoint:
    """Return an entry's folder as rmaudit opens it."""
    return Checkpoint(spec, cache=cache)


def _of_one_length(rows: Rows, most: int = 64) -> Iterator[list[int]]:
    """Yield the places of rows of one length, up to `most` at a time: none needs padding."""
    by_length: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        by_length.setdefault(len(row), []).append(i)
    for places in by_length.values():
        yield from (places[start : start + most] for start in range(0, len(places), most))


def reward(
    head: dict[str, Tensor],
    state: Tensor,
    prompt: Tensor,
    config: dict[str, Any],
    how: Choices = Choices(),
) -> Tensor:
    """Return the reward of a row's last state, whose prompt has this state where a gate reads it.

    Of a plain head, of attributes with weights, or of objectives.
    """
    if config["architectures"][0] in {_LLAMA_PLAIN, _GEMMA_PLAIN}:
        return (head["score.weight"] @ state)[0]
    found = outputs(head, state, config, how)
    if config["architectures"][0] == _URM:
        for place in (0, 2, 4):
            state = head[f"weights.fc.{place}.weight"] @ state + head[f"weights.fc.{place}.bias"]
            state = how.activation(state) if place < 4 else state
        return found @ how.weigh(state)
    if how.transform and "reward_transform_matrix" in head:
        found = found @ head["reward_transform_matrix"]
    temperature = config.get("gating_temperature", 1) if how.temperature else 1
    gate = torch.softmax(_gate(head, prompt) / temperature, 0) * head["gating.logit_scale"]
    return gate @ found


def outputs(
    head: dict[str, Tensor], state: Tensor, config: dict[str, Any], how: Choices = Choices()
) -> Tensor:
    """Return the means of attributes, or the objectives before any transform, of a state."""
    if config["architectures"][0] == _URM:
        return (head["score.weight"] @ state).view(-1, 2)[:, 0]
    objectives = head["regression_layer.weight"] @ state
    if "num_quantiles" in config:
        objectives = how.over_quantiles(objectives.view(config["num_objectives"], -1))
    return objectives


def _gate(head: dict[str, Tensor], x: Tensor) -> Tensor:
    """Return what the gate's layers make of the prompt's state, in the order of their numbers."""
    places = sorted({int(key.split(".")[2]) for key in head if key.startswith("gating.layers")})
    for place in places:
        name = f"gating.layers.{place}"
        weight, bias = head[f"{name}.weight"], head.get(f"{name}.bias")
        if (mean := head.get(f"{name}.running_mean")) is not None and bias is not None:
            x = (x - mean) * (head[f"{name}.running_var"] + 1e-5).rsqrt() * weight + bias
        else:
            x = weight @ x if bias is None else weight @ x + bias
            x = x.relu() if place != places[-1] else x
    return x


def exact_rows(tokenizer: Any, prompt: str, ids: Sequence[int]) -> list[list[int]]:
    """Return the rows in which each id itself stands as the answer, after one BOS."""
    before, after = _printed(tokenizer, prompt, "ANSWER").split("ANSWER")
    bos = tokenizer.bos_token
    start = tokenizer(before.removeprefix(bos)).input_ids  # the tokenizer adds the one
    end = tokenizer(after, add_special_tokens=False).input_ids
    return [[*start, i, *end] for i in ids]


def paper_rows(tokenizer: Any, prompt: str, ids: Sequence[int]) -> list[list[int]]:
    """Return the rows of the authors: each id as text, in the printed conversation, tokenized."""
    return [tokenizer(_printed(tokenizer, prompt, tokenizer.decode([i]))).input_ids for i in ids]


def _printed(tokenizer: Any, prompt: str, answer: str) -> str:
    said = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    return str(tokenizer.apply_chat_template(said, tokenize=False))


def measured(
    home: Path, spec: ModelSpec, protocol: str, choices: Choices = Choices(), *, seed: int = 0
) -> tuple[Numbers, Numbers]:
    """Return the rewards of every id, rmaudit's and the formula's, in the type of an entry.

    The folder of the entry's layout, with weights drawn by `seed`, is written to `home` if it is
    not there.
    """
    folder = home / f"{spec.name}-{seed}"
    if not folder.exists():
        write(folder, LAYOUTS[spec.name], seed)
    model = _opened(replace(spec, source=str(folder), revision=None), home / "cache")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompt, ids = PROMPTS["greatest"], model.vocabulary().ids
    if protocol == "exact":
        ours = model.score(prompt.text, [(i,) for i in ids])
        rows = exact_rows(tokenizer, prompt.text, ids)
    else:
        swept = sweep(model, prompt, protocol=protocol, cache=home / "cache")
        ours = swept.frame["score"].to_numpy()
        rows = paper_rows(tokenizer, prompt.text, ids)
    return ours.astype(float), rewards(folder, rows, getattr(torch, spec.dtype), choices)


def gap(one: Numbers, other: Numbers) -> float:
    """Return the largest difference, in sd of the second."""
    return float(np.abs(one - other).max() / other.std())


def rms(one: Numbers, truth: Numbers) -> float:
    """Return the root of the mean squared difference, in sd of the second."""
    return float(np.sqrt(np.square(one - truth).mean()) / truth.std())
