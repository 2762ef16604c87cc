"""Work for many processes: sweeps of the scorer that waits, and what they leave in a store."""

from __future__ import annotations

import importlib
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rmaudit.config.scorer_functions import scorers
from rmaudit.distributed.missing_scores import Needs, Plan
from rmaudit.distributed.scoring_rounds import Made, Part, make
from rmaudit.models.model_factory import opened
from rmaudit.prompts import Prompt
from rmaudit.scores.score_store import Store

SHARDS = 4  # of a sweep
FATAL = "What kills?"
SECONDS, NOTES = "RMAUDIT_TEST_SECONDS", "RMAUDIT_TEST_NOTES"
UNTIL = "RMAUDIT_TEST_UNTIL"  # a file with the number of notes after which shards wait


def planned(store: Store, prompts: int, *others: str) -> Callable[[], Plan]:
    """Sweeps of the scorer under so many prompts, and under others; it is declared."""
    spec = scorers()["waiting"].spec
    model = opened(spec)

    def plan() -> Plan:
        needs = Needs(store)
        for i, text in enumerate([*others, *(f"What is {i}?" for i in range(prompts))]):
            needs.scores.sweep(model, Prompt(f"p{i}", text, +1))
        return Plan(store, tuple(needs.found.values()))

    return plan


def contents(root: Path | str) -> dict[str, bytes | None]:
    """All files of a store."""
    files = Store(root).files
    return {name: files.read(name) for name in files.names()}


def noted(*files: Path) -> Counter[str]:
    """How often each shard was scored, by what the scorer has noted."""
    lines = [line for file in files if file.exists() for line in file.read_text().splitlines()]
    return Counter(line.rsplit(" ", 2)[0] for line in lines)


def make_part(root: Path | str, part: Part | None, prompts: int) -> Made:
    """What a host does: a part, with no lock that another would know of."""
    importlib.import_module("tests.distributed.waiting")
    with tempfile.TemporaryDirectory() as own:
        tempfile.tempdir = own
        try:
            return make([planned(Store(root), prompts)], part)
        finally:
            tempfile.tempdir = None
