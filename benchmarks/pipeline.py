"""How busy two devices are that a backbone is spread over: one batch at a time, and pipelined.

python benchmarks/pipeline.py [--delay 0.1] [--calls 2] [--answers 4096]

No GPU is needed: the devices are made of torch's CPU, two layers of a toy each, and a layer sleeps
as long as a GPU would compute. What is measured is the order in which batches pass, not arithmetic.
Busy is the share of the time from the first batch's begin to the last reward in which a device's
layers run. A call is a shard of a sweep, after which the devices run empty. Prints a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import torch
from transformers import LlamaConfig, LlamaModel

from rmaudit.checkpoints.heads.linear import Linear
from rmaudit.scoring import ATTENTION, engine
from rmaudit.scoring.engine import Scorer
from rmaudit.scoring.pipeline import Pipeline

DEVICES, LAYERS = 2, 4
SHAPE: dict[str, Any] = {
    "vocab_size": 5000,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
}


def main() -> None:
    """Measure both ways on the same batches, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.1, help="seconds of a layer and batch")
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--answers", type=int, default=4096, help="of a call")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    backbone, prefix = _backbone(), tuple(range(10, 52))
    places = {
        layer: torch.device("cpu", DEVICES * i // LAYERS) for i, layer in enumerate(backbone.layers)
    }
    pipeline = Pipeline(places)
    busy = _timed(places, asked.delay)
    answers = [(i,) for i in range(asked.answers)]
    found, rewards = {}, []
    for name, how in (("one_by_one", None), ("pipelined", pipeline)):
        most = -(-asked.answers // pipeline.batches)
        scorer = Scorer(backbone, Linear(torch.ones(16)), None, ids_per_batch=most, pipeline=how)
        scorer.after(prefix)
        busy.clear()
        begun = time.perf_counter()
        for _ in range(asked.calls):
            made = engine.score(scorer, prefix, answers, ())
        took = time.perf_counter() - begun
        rewards.append(made.tobytes())
        found[name] = {
            "seconds": round(took, 2),
            "busy": [round(sum(spans) / took, 3) for _, spans in sorted(busy.items())],
        }
    print(
        json.dumps(
            {
                "benchmark": "pipeline",
                "batches_a_call": pipeline.batches,
                "seconds_of_a_batch_on_a_device": asked.delay * LAYERS / DEVICES,
                **found,
                "equal_bytes": rewards[0] == rewards[1],
            }
        )
    )


def _backbone() -> LlamaModel:
    torch.manual_seed(0)
    backbone = LlamaModel(LlamaConfig(**SHAPE)).eval()
    backbone.set_attn_implementation(ATTENTION)
    return backbone


def _timed(places: dict[Any, torch.device], delay: float) -> dict[int, list[float]]:
    """Each layer sleeps; the seconds that layers ran, by device."""
    spans: dict[int, list[float]] = {}

    def begin(layer: Any, _: object) -> None:  # noqa: ANN401  (a layer of transformers)
        layer.begun = time.perf_counter()

    def end(layer: Any, *_: object) -> None:  # noqa: ANN401  (a layer of transformers)
        time.sleep(delay)
        device: int = places[layer].index
        spans.setdefault(device, []).append(time.perf_counter() - layer.begun)

    for layer in places:
        layer.register_forward_pre_hook(begin)
        layer.register_forward_hook(end)
    return spans


if __name__ == "__main__":
    main()
