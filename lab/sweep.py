"""Time three ways to score the same token ids, to measure what sharing the prompt saves.

python -m lab sweep [--layers 30] [--answers 4096] [--rounds 3] [--beside 0]

On SmolLM2-135M with a random head: the paper's way (full rows in batches of 32, the model's own
forward), transformers' cache of the prompt copied for every row, and the engine, also with torch's
default products in place of oneDNN's, and with one batch at a time on all threads in place of a
batch on each. `--beside` is how many other processes keep a core busy meanwhile. Rounds of all are
interleaved, since machines are shared, and each rate is that of the median round. The
matrix-multiply rate is that of the backbone's own linear layers, alone, on as many ids as a batch
of the engine has; its share is the median over batches, each followed by such a multiplication.
Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn

from lab.harness import (
    arguments,
    forget_peak,
    interleaved,
    memory,
    say,
    seconds,
    timed,
    weights_size,
)
from rmaudit.checkpoints import bundled_model
from rmaudit.checkpoints.heads.linear import Linear
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.models.own_forward import Weights, as_weights
from rmaudit.scoring import ScoringPath, engine
from rmaudit.scoring.onednn_matmul import fast_products
from rmaudit.scoring.scorer import Scorer

PAPER_BATCH, EXPANDED_ROWS = 32, (8, 32, 128)  # rows at once
_BUSY = "while True: pass"
PREFIX, SUFFIX = 42, 1  # ids, as with SmolLM2's own template


def main() -> None:
    """Time all ways in turn, and print their rates and the ratios as one line of JSON."""
    parser = arguments(__doc__)
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--answers", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beside", type=int, default=0)
    asked = parser.parse_args()
    own = [sys.executable, "-c", _BUSY]
    busy = [subprocess.Popen(own) for _ in range(asked.beside)]  # noqa: S603  (ours)
    try:
        _compare(asked)
    finally:
        for process in busy:
            process.kill()


def _compare(asked: argparse.Namespace) -> None:
    weights = _weights(asked.layers)
    scorer = weights.scorer
    one_batch = _Alone(scorer.backbone, scorer.head, scorer.pad)
    rng = np.random.default_rng(0)
    drawn = rng.permutation(weights.model.config.vocab_size).tolist()
    prefix, suffix = tuple(drawn[:PREFIX]), tuple(drawn[PREFIX : PREFIX + SUFFIX])
    answers = [(i,) for i in drawn[-asked.answers :]]
    few = answers[: max(PAPER_BATCH, asked.answers // 16)]

    def engine_way() -> np.ndarray:
        weights.use_path(ScoringPath.SHARED_PREFIX)
        return engine.score(scorer, prefix, answers, suffix)

    def one_batch_at_a_time() -> np.ndarray:
        weights.use_path(ScoringPath.SHARED_PREFIX)
        return engine.score(one_batch, prefix, answers, suffix)

    def expanded(rows: int) -> np.ndarray:
        weights.use_path(ScoringPath.EXPANDED_CACHE)
        own = Scorer(scorer.backbone, scorer.head, scorer.pad, ScoringPath.EXPANDED_CACHE)
        own.ids_per_batch = rows * (PREFIX + 1 + SUFFIX)
        return engine.score(own, prefix, few, suffix)

    def paper() -> np.ndarray:
        weights.use_path(ScoringPath.FULL_ROWS)
        rows = torch.tensor([[*prefix, *answer, *suffix] for answer in few])
        with torch.inference_mode():
            batches = [weights.model(rows[i]) for i in _batches(len(few), PAPER_BATCH)]
        return torch.cat([batch.logits[:, 0] for batch in batches]).numpy()

    forget_peak()
    rewards = engine_way()  # warms up too
    peak = memory()

    runs: dict[str, Callable[[], np.ndarray]] = {
        "engine": engine_way,
        "engine, MKL": functools.partial(_by_mkl, engine_way),
        "engine, one batch at a time": one_batch_at_a_time,
        "paper": paper,
    }
    for size in EXPANDED_ROWS:
        runs[f"expanded, {size} rows"] = functools.partial(expanded, size)
    times = interleaved(runs, asked.rounds)
    largest = max(
        float(np.abs(each.found - rewards[: len(each.found)]).max())
        for own in times.values()
        for each in own
    )
    spent = {name: seconds(own) for name, own in times.items()}
    weights.use_path(ScoringPath.SHARED_PREFIX)
    size = scorer.batch_limit(PREFIX)
    shares, multiply = [], 0.0
    each = _flops(scorer.backbone) * (1 + SUFFIX)
    engine.score(scorer, prefix, answers[:1], suffix)  # the prefix runs once
    for some in _batches(len(answers), size // (1 + SUFFIX)):
        once = timed(functools.partial(engine.score, scorer, prefix, answers[some], suffix))
        alone = _multiply_rate(scorer.backbone, size)
        shares.append(each * len(answers[some]) / once.clock / alone)
        multiply = max(multiply, alone)
    ids = PREFIX + 1 + SUFFIX
    rate = {name: len(few) / took for name, took in spent.items()}
    whole = [way for way in runs if way.startswith("engine")]
    rate |= {way: len(answers) / spent[way] for way in whole}
    flops = each * len(answers)
    report: dict[str, Any] = {
        "model": f"SmolLM2-135M, {asked.layers} layers, float32",
        "threads": torch.get_num_threads(),
        "beside": asked.beside,
        "ids": {"prefix": PREFIX, "answer": 1, "suffix": SUFFIX},
        "answers": {"engine": len(answers), "others": len(few)},
        "answers_per_s": {name: round(value, 1) for name, value in rate.items()},
        "cpu_s": {way: round(median(each.cpu for each in times[way]), 1) for way in whole},
        "ids_per_batch": scorer.batch_limit(PREFIX),
        "ratio_to_mkl": round(rate["engine"] / rate["engine, MKL"], 2),
        "ratio_to_paper": round(rate["engine"] / rate["paper"], 2),
        "ratio_of_ids": round(ids / (1 + SUFFIX), 2),
        "ratio_to_expanded": {
            size: round(rate["engine"] / rate[f"expanded, {size} rows"], 2)
            for size in EXPANDED_ROWS
        },
        "gflops": round(flops / spent["engine"] / 1e9, 1),
        "multiply_gflops": round(multiply / 1e9, 1),
        "share_of_multiply": round(float(np.median(shares)), 3),
        "largest_difference_sd": float(f"{largest / rewards.std():.1e}"),
        "peak_mb": round(peak / 2**20),
        "weights_mb": round(weights_size(weights.model) / 2**20),
    }
    say("sweep", **report)


class _Alone(Scorer):
    """A scorer that runs one batch at a time, on all threads."""

    def batches_at_once(self, prefix: int) -> int:  # noqa: ARG002  (as `Scorer` has it)
        """Return 1."""
        return 1


def _by_mkl(score: Callable[[], np.ndarray]) -> np.ndarray:
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
    try:
        return score()
    finally:
        torch.backends.mkldnn.enabled = True  # type: ignore[assignment]


def _weights(layers: int) -> Weights:
    model, _ = bundled_model.base_model(bundled_model.download_base(default_cache()), layers=layers)
    torch.manual_seed(0)
    vector = torch.randn(model.config.hidden_size)
    model.score.weight.data[0] = vector
    scorer = Scorer(model.base_model, Linear(vector), model.config.pad_token_id)
    return as_weights(model, scorer, classifier=True, name="benchmark")


def _batches(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size))


def _linears(backbone: nn.Module) -> list[nn.Linear]:
    return [module for module in backbone.modules() if isinstance(module, nn.Linear)]


def _flops(backbone: nn.Module) -> float:
    """Return the FLOPs of one token id: linear layers, and attention to the prefix and own keys."""
    config: Any = backbone.config
    keys = PREFIX + (1 + SUFFIX + 1) / 2
    attention = 4 * keys * config.num_attention_heads * config.head_dim * config.num_hidden_layers
    linear = sum(2 * one.in_features * one.out_features for one in _linears(backbone))
    return float(linear + attention)


@torch.inference_mode()
def _multiply_rate(backbone: nn.Module, ids: int) -> float:
    """Return the FLOP/s of the backbone's linear layers alone, on `ids` ids at once."""
    linears = _linears(backbone)
    inputs = {one.in_features: torch.randn(ids, one.in_features) for one in linears}
    with fast_products(backbone):
        once = timed(lambda: [one(inputs[one.in_features]) for one in linears])
    return sum(2 * ids * one.in_features * one.out_features for one in linears) / once.clock
