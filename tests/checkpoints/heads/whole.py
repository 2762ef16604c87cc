"""A whole head of each family: config.json, its tensors' shapes, and numbers in them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from rmaudit.checkpoints.heads import gated, verdict_logits
from tests.models.test_families import FAMILIES as PUBLISHED
from tests.models.test_families import HIDDEN, Toy, described
from tests.published_layout import normed_gate

Shapes = dict[str, tuple[int, ...]]
Config = dict[str, Any]
WIDTH, INNER, ROWS = 5, 7, 11  # of the state, of layers, of the vocabulary
NORM: Shapes = {"model.norm.weight": (WIDTH,)}
SCORE: Shapes = {"score.weight": (1, WIDTH)}


def of(architecture: str, **more: Any) -> Config:
    """A config.json."""
    return {"architectures": [architecture], "hidden_size": WIDTH, **more}


ENCODER = of("DebertaV2ForSequenceClassification", pooler_hidden_act="gelu", type_vocab_size=0)
PAIR: Shapes = {
    "pooler.dense.weight": (WIDTH, WIDTH),
    "pooler.dense.bias": (WIDTH,),
    "classifier.weight": (1, WIDTH),
    "classifier.bias": (1,),
}
LOGIT = of("LlamaForCausalLM", vocab_size=ROWS, rmaudit_reward_logit=0)
TIED = {**LOGIT, "tie_word_embeddings": True}
LM_HEAD: Shapes = {"lm_head.weight": (ROWS, WIDTH)}
EMBEDDING: Shapes = {"model.embed_tokens.weight": (ROWS, WIDTH)}
JUDGE = of("Gemma2ForCausalLM", vocab_size=ROWS, **{verdict_logits.SETTING: (3, 2)})
MLP = of("INFORMForSequenceClassification")
LAYERS: Shapes = {
    "score.0.weight": (INNER, WIDTH),
    "score.0.bias": (INNER,),
    "score.2.weight": (1, INNER),
    "score.2.bias": (1,),
}
VALUE = of("LlamaForCausalLM")
OPENRLHF: Shapes = {"value_head.weight": (1, WIDTH)}
BUFFERS: Shapes = {"mean": (1,), "std": (1,)}
ONE: Shapes = {"v_head.summary.weight": (1, WIDTH), "v_head.summary.bias": (1,)}
AT_TOKEN: Shapes = {"v_head.weight": (1, WIDTH)}
INTERNLM2 = of(
    "InternLM2ForRewardModel", model_type="internlm2", vocab_size=ROWS, reward_token_id=7
)
ATHENE = of("CustomAutoModelForSequenceClassification", model_type="llama", vocab_size=128256)
LLAMA_TOKENS = of("LlamaForTokenClassification", model_type="llama")
GPT2_TOKENS = of("GPT2ForTokenClassification", model_type="gpt2")


def one_label(name: str) -> Shapes:
    """A layer of one output and a bias."""
    return {f"{name}.weight": (1, WIDTH), f"{name}.bias": (1,)}


def grm(depth: int, hidden: int = WIDTH) -> Shapes:
    """The shapes of GRM's head with so many hidden layers (vhead_num_layers)."""
    return {
        f"v_head.summary.{2 * place}.{part}": shape
        for place, (inputs, outputs) in enumerate(pairwise([hidden, *[INNER] * depth, 1]))
        for part, shape in (("weight", (outputs, inputs)), ("bias", (outputs,)))
    }


def named(name: str, **config: Any) -> Config:
    """OpenRLHF's config.json."""
    return {**VALUE, "value_head_prefix": name, **config}


def whole(toy: Toy) -> Toy:
    """A published toy with all that config.json says of a backbone, and some of its tensors."""
    config = {"hidden_size": HIDDEN, "model_type": toy.kind} | toy.config
    backbone = {"model.embed_tokens.weight": (300, HIDDEN), "model.norm.weight": (HIDDEN,)}
    return replace(toy, config=config, shapes=backbone | toy.shapes)


QRM_V2 = described(
    PUBLISHED["QRM-Llama"].config | {"num_objectives": 5, "num_quantiles": 4},
    {"regression_layer.weight": (20, HIDDEN), **normed_gate(5, 3)},
)
GATED = {name: whole(PUBLISHED[name]) for name in ("ArmoRM", "QRM-Llama", "QRM-Gemma")}
GATED["QRM-v2"] = whole(QRM_V2)
URM = whole(PUBLISHED["URM"])


def tensors_of(shapes: Shapes) -> dict[str, Tensor]:
    """Tensors of these shapes, such that every part of the head matters and no gate is closed."""
    generator = torch.Generator().manual_seed(0)
    tensors = {key: torch.randn(shape, generator=generator) for key, shape in shapes.items()}
    for key, tensor in tensors.items():
        if key.startswith("gating.layers.") and tensor.dim() == 2:
            tensor.div_(tensor.shape[1] ** 0.5)
        elif key.endswith(("running_var", "logit_scale")):
            tensor.abs_().add_(0.5)
    return tensors


def head_of(toy: Toy) -> dict[str, Tensor]:
    """The tensors of a toy's head."""
    return tensors_of({k: s for k, s in toy.shapes.items() if not k.startswith("model.")})


def prefix_of(kind: str) -> tuple[int, ...]:
    """Two turns: the pattern of a backbone stands in it twice, at 3 and at 10."""
    pattern = gated.PATTERNS.get(kind, gated.PATTERNS["llama"])
    return (1, 2, 3, *pattern, 4, 5, *pattern)


def drawn_states(count: int, seed: int, hidden: int = HIDDEN) -> Tensor:
    """Random states."""
    return torch.randn(count, hidden, generator=torch.Generator().manual_seed(seed))
