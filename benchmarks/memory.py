"""Peak memory of a vocabulary sweep, in a process of its own.

python benchmarks/memory.py [MODEL]

What the weights take, the process once they are loaded, and the most that a sweep of one prompt
added to that; beside it what `rmaudit.scoring.memory` expects of a batch. Linux only. Prints one
line of JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import rmaudit
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.scoring import memory


def main() -> None:
    """Measure, and print."""
    model = rmaudit.load(sys.argv[1] if len(sys.argv) > 1 else None)
    if not isinstance(model, Checkpoint):
        sys.exit(f"{model.name} is no local checkpoint: its memory is not ours")
    prompt = PROMPTS["greatest"].text
    slot = model.slot(prompt)
    ids = model.vocabulary().ids
    weights = model.weights(slot.prefix, slot.suffix)
    size = sum(p.numel() * p.element_size() for p in weights.model.parameters())
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    loaded = _status("VmRSS")
    model.score(prompt, [(i,) for i in ids])
    each = memory.bytes_per_id(weights.scorer.backbone, len(slot.prefix))
    most = weights.scorer.most(len(slot.prefix))
    report = {
        "benchmark": "memory",
        "model": model.name,
        "path": str(weights.scorer.path),
        "ids": len(ids),
        "ids_per_batch": most,
        "weights_mb": round(size / 2**20),
        "process_mb": round(loaded / 2**20),
        "sweep_adds_mb": round((_status("VmHWM") - loaded) / 2**20),
        "expected_of_a_batch_mb": round(each * most / 2**20),
        "peak_mb": round(_status("VmHWM") / 2**20),
    }
    print(json.dumps(report))


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


if __name__ == "__main__":
    main()
