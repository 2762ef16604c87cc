"""A scorer that waits instead of computing; Ray's workers import it by the name of this module."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import rmaudit
from rmaudit.config.scorers import scorers
from rmaudit.distributed.missing_scores import Needs, Plan
from rmaudit.models.open_model import opened
from rmaudit.prompts import Prompt
from rmaudit.runs.requests import Request
from rmaudit.scores.shard_scoring import SHARD
from rmaudit.scores.store import Store

SHARDS = 4  # of a sweep
FATAL = "What kills?"
SECONDS, NOTES = "RMAUDIT_TEST_SECONDS", "RMAUDIT_TEST_NOTES"


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
    time.sleep(float(os.environ.get(SECONDS, "0")) * len(responses) / SHARD)
    return [len(prompt) + float(text[1:]) for text in responses]


def planned(store: Store, prompts: int, *others: str) -> Callable[[], Plan]:
    """Its sweeps under so many prompts, and under others."""
    spec = scorers()["waiting"].spec
    model = opened(spec)

    def plan() -> Plan:
        needs = Needs(store)
        for i, text in enumerate([*others, *(f"What is {i}?" for i in range(prompts))]):
            needs.ask(model, Request(spec, Prompt(f"p{i}", text, +1), "sweep"))
        return Plan(store, tuple(needs.found.values()))

    return plan
