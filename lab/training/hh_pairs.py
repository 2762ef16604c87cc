"""Write pairs of HH-RLHF's harmless test set (Bai et al. 2022, MIT) with RewardBench's fields.

python -m lab training.hh_pairs OUT.jsonl [--pairs 1000]

The first pairs whose dialogues differ in their last answer alone: the prompt is the conversation
before it. The subset says whether R-Smol-135M was trained on it.
**Content warning:** people were asked to make a model say harmful things.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from lab.training.r_smol import harmless_pairs


def main() -> None:
    """Write the first `--pairs` pairs to the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, default=1000)
    asked = parser.parse_args()
    lines = [json.dumps(pair) for pair in islice(pairs(), asked.pairs)]
    asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def pairs() -> Iterator[dict[str, object]]:
    """Yield each different pair once, in the data set's order, if no turn is empty."""
    frame = harmless_pairs().drop_duplicates(["turns", "chosen", "rejected"])
    columns = (frame[name].tolist() for name in ("turns", "chosen", "rejected", "held_out"))
    for turns, chosen, rejected, held_out in zip(*columns, strict=True):
        if chosen != rejected and all(turns):
            yield {
                "prompt": [
                    {"role": "assistant" if place % 2 else "user", "content": said}
                    for place, said in enumerate(turns)
                ],
                "chosen": chosen,
                "rejected": rejected,
                "subset": "held out" if held_out else "trained on",
                "group": turns[0],
            }
