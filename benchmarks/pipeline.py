"""Measure how busy the devices of a split backbone are: batches one by one, and pipelined.

python -m benchmarks.pipeline [--devices 2] [--delay 0.1] [--calls 2] [--answers 4096]

No GPU is needed: the devices are made of torch's CPU, two layers of a toy each, and a layer sleeps
as long as a GPU would compute. What is measured is the order in which batches pass, not arithmetic.
Layers lie where transformers itself puts them, and so does the rotary embedding: on the last device
for `pipelined, as mapped`, as before it was moved to the first one for `pipelined`.
Busy is the share of the time from the first batch's begin to the last reward in which a device's
layers run. A call is a shard of a sweep, after which the devices run empty. Prints a line of JSON.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

import torch
from torch import nn
from transformers import LlamaConfig, LlamaModel

from benchmarks.harness import arguments, say, timed
from rmaudit.checkpoints.heads.linear import Linear
from rmaudit.scoring import ATTENTION, engine
from rmaudit.scoring.engine import Scorer
from rmaudit.scoring.pipeline_parallelism import Pipeline, stages

LAYERS = 2  # of a device
SHAPE: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 512,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
}


def main() -> None:
    """Score the same batches one by one and pipelined, and print how busy each device was."""
    parser = arguments(__doc__)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--delay", type=float, default=0.1, help="seconds of a layer and batch")
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--answers", type=int, default=4096, help="of a call")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    backbone, prefix = _backbone(asked.devices), tuple(range(10, 52))
    names = _mapped(backbone, asked.devices)
    mapped = {backbone.get_submodule(name): _device(at) for name, at in names.items()}
    layers = {layer: mapped[layer] for layer in backbone.layers}
    busy = _slowed(layers, asked.delay)
    answers = [(i % 64, i // 64) for i in range(asked.answers)]
    spread = Pipeline({m: _device(d.index) for m, d in _stages(backbone, names)}, min_ids=1)
    ways: dict[str, Pipeline | None] = {
        "one_by_one": None,
        "pipelined, as mapped": Pipeline(mapped, min_ids=1),
        "pipelined": spread,
    }
    found, rewards = {}, []
    batches = spread.batches
    for name, how in ways.items():
        most = 2 * -(-asked.answers // batches)
        scorer = Scorer(backbone, Linear(torch.ones(16)), None, ids_per_batch=most, pipeline=how)
        scorer.prepare(prefix)
        busy.clear()
        sweep = partial(engine.score, scorer, prefix, answers, ())
        once = timed(lambda sweep=sweep: [sweep() for _ in range(asked.calls)])  # type: ignore[misc]
        rewards += [made.tobytes() for made in once.found]
        shares = [round(sum(spans) / once.clock, 3) for _, spans in sorted(busy.items())]
        found[name] = {"seconds": round(once.clock, 2), "busy": shares}
    say(
        "pipeline",
        devices=asked.devices,
        batches_a_call=batches,
        seconds_of_a_batch_on_a_device=asked.delay * LAYERS,
        most_that_can_be_busy=round(batches / (batches + asked.devices - 1), 3),
        equal_bytes=len(set(rewards)) == 1,
        **found,
    )


def _backbone(devices: int) -> LlamaModel:
    torch.manual_seed(0)
    backbone = LlamaModel(LlamaConfig(**SHAPE, num_hidden_layers=LAYERS * devices)).eval()
    backbone.set_attn_implementation(ATTENTION)
    return backbone


def _mapped(backbone: LlamaModel, devices: int) -> dict[str, int]:
    """Return each module's device number, as transformers places `LAYERS` layers on each device."""
    from transformers.integrations.accelerate import _get_device_map  # its only name

    layer = sum(p.numel() * p.element_size() for p in backbone.layers[0].parameters())
    room = dict.fromkeys(range(devices), int((LAYERS + 0.9) * layer))
    room[0] += layer  # accelerate leaves room for the largest layer there
    room[devices - 1] += layer
    found: dict[str, int] = _get_device_map(backbone, "sequential", room, None)
    per_device = [list(found.values()).count(at) for at in range(devices)]
    if min(per_device) < LAYERS:
        sys.exit(f"the map is uneven: {found}")
    return found


def _stages(backbone: LlamaModel, names: dict[str, int]) -> list[tuple[nn.Module, torch.device]]:
    places = {name: _device(at) for name, at in names.items()}
    return list(stages(backbone, places).items())


def _device(at: int) -> torch.device:
    return torch.device("cpu", at)


def _slowed(places: dict[Any, torch.device], delay: float) -> dict[int, list[float]]:
    """Make each layer sleep, too; return a dict that will hold the layers' seconds by device."""
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
