"""Measure full sweeps at real reward models' sizes on a GPU, with random bfloat16 weights.

python -m lab gpu [llama-3.1-8b] [gemma-2-27b] [--prefix 42] [--compile]

Nothing is downloaded: the weights are made on the device. Two rates of matrix products are
measured in the same run, and the shares of them that a sweep reaches: the peak, of one large
bfloat16 product, and that of the backbone's own linear layers, alone, on the ids of a batch.
`--compile` sweeps once more with layers that torch.compile has fused, attention left alone, and
says how far rewards are from those of eager layers, in sd. Prints one line of JSON for each shape.
The shape `tiny` with `--device cpu` only tries the program.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from lab.harness import arguments, say
from rmaudit.checkpoints.heads.linear import Linear
from rmaudit.models.own_forward import Weights, as_weights
from rmaudit.scoring import Begun, compiled_layers, engine, path_of, waited_for
from rmaudit.scoring.scorer import Scorer
from tests.hollow import GEMMA_27B, LLAMA_8B

SUFFIX, PAPER_BATCH, PAPER_ANSWERS, SHARD = 1, 32, 1024, 4096
SHAPES: dict[str, dict[str, Any]] = {
    "llama-3.1-8b": LLAMA_8B,
    "gemma-2-27b": {**GEMMA_27B, "query_pre_attn_scalar": 144},
    "tiny": {
        "model_type": "gemma2",
        "vocab_size": 5000,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
    },
}


def main() -> None:
    """Measure each shape that is named, and print a line of JSON for each."""
    parser = arguments(__doc__)
    parser.add_argument("shapes", nargs="*", default=["llama-3.1-8b", "gemma-2-27b"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--prefix", type=int, default=42, help="ids of the prompt")
    parser.add_argument("--compile", action="store_true", help="fuse what is not attention, too")
    asked = parser.parse_args()
    if unknown := set(asked.shapes) - set(SHAPES):
        sys.exit(f"unknown shape {unknown.pop()!r}; known: {', '.join(SHAPES)}")
    device = torch.device(asked.device)
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    peak = _peak(device)
    for shape in asked.shapes:
        found = _measure(shape, device, peak, asked.prefix, fuse=asked.compile)
        say("gpu", card=card, **found)


def _measure(
    shape: str, device: torch.device, peak: float, ids: int, *, fuse: bool
) -> dict[str, Any]:
    weights = random_weights(SHAPES[shape], device)
    scorer, config = weights.scorer, weights.model.config
    prefix, suffix = tuple(i % config.vocab_size for i in range(10, 10 + ids)), (5,) * SUFFIX
    answers = [(i,) for i in range(config.vocab_size)]

    rewards: dict[str, list[float]] = {"eager": [], "fused": []}

    def sweep(how: str = "eager") -> None:
        before, size = list[Begun](), max(SHARD, scorer.rows_a_call(ids, 1 + SUFFIX))
        for start in range(0, len(answers), size):  # as the store asks for them
            before.append(engine.begin(scorer, prefix, answers[start : start + size], suffix))
            if start:
                rewards[how] += waited_for(before.pop(0)).tolist()
        rewards[how] += waited_for(before[0]).tolist()

    engine.score(scorer, prefix, answers[:SHARD], suffix)  # warm up
    took = _seconds(sweep, device)
    memory = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
    path = scorer.path
    weights.model.set_attn_implementation(weights.attention)  # as transformers would run it

    whole = max(PAPER_BATCH, PAPER_ANSWERS * 42 // ids)  # rows, fewer if they are long

    @torch.inference_mode()
    def paper() -> None:
        for start in range(0, whole, PAPER_BATCH):
            some = answers[start : start + PAPER_BATCH]
            rows = torch.tensor([[*prefix, *answer, *suffix] for answer in some], device=device)
            weights.model(rows, use_cache=False)

    paper()
    full = whole / _seconds(paper, device)
    flops = _flops(scorer.backbone, ids) * (1 + SUFFIX) * len(answers)
    products = _products(scorer.backbone, scorer.batch_limit(ids), device)
    fused: dict[str, Any] = {}
    if fuse:
        weights.use_path(path)
        first = _fused(scorer, lambda: engine.score(scorer, prefix, answers[:SHARD], suffix))
        again = _seconds(lambda: sweep("fused"), device)
        apart = np.subtract(rewards["fused"], rewards["eager"])
        fused = {
            "seconds": round(again, 2),
            "first_shard_seconds": round(first, 1),
            "share_of_products": round(flops / again / products, 3),
            "rms_difference_sd": float(f"{apart.std() / np.std(rewards['eager']):.1e}"),
        }
    return {
        "shape": shape,
        "prefix": ids,
        "path": str(path),
        "ids": len(answers),
        "ids_per_batch": scorer.batch_limit(ids),
        "seconds": round(took, 2),
        "answers_per_s": {"engine": round(len(answers) / took), "paper": round(full, 1)},
        "ratio_to_paper": round(len(answers) / took / full, 1),
        "ratio_of_ids": (ids + 1 + SUFFIX) / (1 + SUFFIX),
        "tflops": round(flops / took / 1e12, 1),
        "peak_tflops": round(peak / 1e12, 1),
        "products_tflops": round(products / 1e12, 1),
        "share_of_peak": round(flops / took / peak, 3),
        "share_of_products": round(flops / took / products, 3),
        **({"compiled": fused} if fuse else {}),
        "peak_memory_gb": round(memory / 2**30, 1),
    }


def random_model(shape: dict[str, Any], device: torch.device) -> Any:  # noqa: ANN401  (transformers' class)
    """Return a reward model of this shape with random bfloat16 weights, made on the device."""
    config = AutoConfig.for_model(**shape, num_labels=1)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    with device:
        model = AutoModelForSequenceClassification.from_config(config, dtype=torch.bfloat16).eval()
    torch.set_default_dtype(torch.float32)
    return model


def random_weights(shape: dict[str, Any], device: torch.device) -> Weights:
    """Return such a model with its scorer, on the path that rmaudit would choose for it."""
    model = random_model({**shape, "pad_token_id": 0}, device)
    config = model.config
    scorer = Scorer(
        model.base_model, Linear(model.score.weight.detach().float()[0]), config.pad_token_id
    )
    weights = as_weights(model, scorer, classifier=True, name="benchmark")
    weights.use_path(path_of(config))
    return weights


def _fused(scorer: Scorer, run: Callable[[], object]) -> float:
    """Compile the layers; return the seconds of the first run, in which they are compiled."""
    compiled_layers.fuse(scorer, name="benchmark")
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _linears(backbone: nn.Module) -> list[nn.Linear]:
    return [module for module in backbone.modules() if isinstance(module, nn.Linear)]


@torch.inference_mode()
def _products(backbone: nn.Module, ids: int, device: torch.device) -> float:
    """Return the FLOP/s of the backbone's linear layers alone, on `ids` ids: the best of five."""
    linears = _linears(backbone)
    inputs = {
        one.in_features: torch.randn(ids, one.in_features, device=device, dtype=one.weight.dtype)
        for one in linears
    }

    def run() -> None:
        for one in linears:
            one(inputs[one.in_features])

    took = min(_seconds(run, device) for _ in range(5))
    return sum(2 * ids * one.in_features * one.out_features for one in linears) / took


def _flops(backbone: nn.Module, prefix: int) -> float:
    """Return the FLOPs of one token id: linear layers, and attention to the prefix and own keys."""
    config: Any = backbone.config
    keys = prefix + (1 + SUFFIX + 1) / 2
    attention = 4 * keys * config.num_attention_heads * config.head_dim * config.num_hidden_layers
    linear = sum(2 * one.in_features * one.out_features for one in _linears(backbone))
    return float(linear + attention)


@torch.inference_mode()
def _peak(device: torch.device) -> float:
    """Return the FLOP/s of a large bfloat16 matrix product, the best of ten."""
    n = 8192 if device.type == "cuda" else 512
    a = torch.randn(n, n, device=device, dtype=torch.bfloat16)
    return max(2 * n**3 / _seconds(lambda: a @ a, device) for _ in range(10))


def _seconds(run: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start
