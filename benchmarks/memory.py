"""Measure the peak memory of a vocabulary sweep, in a process of its own.

python -m benchmarks.memory [MODEL]

Prints one line of JSON: the memory of the weights, of the process once they are loaded, and the
most that a sweep of one prompt added to that; beside it what `rmaudit.scoring.memory_sized_batches`
expects of a batch. Linux only.
"""

from __future__ import annotations

import sys

import rmaudit
from benchmarks.harness import arguments, forget_peak, memory, say, weights_size
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.scoring.memory_sized_batches import bytes_per_id


def main() -> None:
    """Sweep one prompt, and print the memory of the weights, the process and the sweep."""
    parser = arguments(__doc__)
    parser.add_argument("model", nargs="?")
    model = rmaudit.load(parser.parse_args().model)
    if not isinstance(model, Checkpoint):
        sys.exit(f"{model.name} is no local checkpoint: its memory is not ours")
    prompt = PROMPTS["greatest"].text
    slot = model.slot(prompt)
    ids = model.vocabulary().ids
    weights = model.weights(slot.prefix, slot.suffix)
    forget_peak()
    loaded = memory("VmRSS")
    model.score(prompt, [(i,) for i in ids])
    each = bytes_per_id(weights.scorer.backbone, len(slot.prefix))
    most = weights.scorer.batch_limit(len(slot.prefix))
    say(
        "memory",
        model=model.name,
        path=str(weights.scorer.path),
        ids=len(ids),
        ids_per_batch=most,
        weights_mb=round(weights_size(weights.model) / 2**20),
        process_mb=round(loaded / 2**20),
        sweep_adds_mb=round((memory() - loaded) / 2**20),
        expected_of_a_batch_mb=round(each * most / 2**20),
        peak_mb=round(memory() / 2**20),
    )


if __name__ == "__main__":
    main()
