"""A scorer that waits instead of computing; Ray's workers import it by the name of this module."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import rmaudit
from rmaudit.scores.shard_scoring import SHARD
from tests.distributed.work import FATAL, NOTES, SECONDS, SHARDS, UNTIL, noted


@rmaudit.scorer(
    "waiting", vocabulary=[f"t{i}" for i in range(SHARDS * SHARD)], version="1", batch=SHARD
)
def waiting(prompt: str, responses: Sequence[str]) -> Sequence[float]:
    """The number in a text, after so many seconds a shard; shards are noted, by whom and when."""
    if prompt == FATAL:
        os._exit(9)  # as a process does that runs out of memory
    if len(responses) == SHARD and (notes := os.environ.get(NOTES)):
        with Path(notes).open("ab") as file:
            line = f"{prompt}:{responses[0]} {os.getpid()} {time.monotonic()}\n"
            os.write(file.fileno(), line.encode())
        while (until := os.environ.get(UNTIL)) and noted(Path(notes)).total() > _number(until):
            time.sleep(0.02)
    time.sleep(float(os.environ.get(SECONDS, "0")) * len(responses) / SHARD)
    return [len(prompt) + float(text[1:]) for text in responses]


def _number(file: str) -> int:
    return int(Path(file).read_text(encoding="ascii"))
