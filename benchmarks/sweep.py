"""How much a shared prefix saves: the engine against full sequences, on the same ids.

python benchmarks/sweep.py [MODEL]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

import rmaudit
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.prompts import PROMPTS

ENGINE_IDS, FULL_IDS, BATCH = 4096, 256, 32


def main() -> None:
    """Score every k-th id both ways."""
    from transformers import AutoModelForSequenceClassification

    model = rmaudit.load(sys.argv[1] if len(sys.argv) > 1 else None)
    if not isinstance(model, Checkpoint):
        sys.exit(f"{model.name} is no local checkpoint: there are no full sequences to compare")
    prompt = PROMPTS["greatest"].text
    slot = model.slot(prompt)
    ids = model.vocabulary().ids
    answers = [(i,) for i in ids[:: max(1, len(ids) // ENGINE_IDS)]]
    model.score(prompt, answers[:256])  # load the weights, warm up
    started = time.perf_counter()
    scores = model.score(prompt, answers)
    shared = len(answers) / (time.perf_counter() - started)

    own = AutoModelForSequenceClassification.from_pretrained(model.folder).eval()
    some = answers[:: max(1, len(answers) // FULL_IDS)]
    rows = torch.tensor([[*slot.prefix, *answer, *slot.suffix] for answer in some])
    with torch.inference_mode():
        started = time.perf_counter()
        batches = torch.chunk(rows, -(-len(rows) // BATCH))
        expected = [own(batch).logits[:, 0].float().numpy() for batch in batches]
        full = len(some) / (time.perf_counter() - started)
    there = dict(zip(answers, scores, strict=True))
    difference = np.abs(np.concatenate(expected) - [there[answer] for answer in some]).max()
    print(f"{model.name}: prefix {len(slot.prefix)} ids, suffix {len(slot.suffix)}")
    print(f"shared prefix   {shared:8.1f} answers/s ({len(answers)} answers)")
    print(f"full sequences  {full:8.1f} answers/s ({len(some)} answers, batches of {BATCH})")
    print(f"ratio           {shared / full:8.1f}")
    print(f"largest difference {difference / scores.std():.1e} sd")


if __name__ == "__main__":
    main()
