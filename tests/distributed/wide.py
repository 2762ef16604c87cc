"""A reward model of many ids, for many processes at once."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rmaudit.distributed.missing_scores import Needs, Plan
from rmaudit.distributed.scoring_rounds import Made, Part, make
from rmaudit.layout.answer_slot import Response
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.prompts import prompt_meant
from rmaudit.runs.requests import Request
from rmaudit.scores import shard_scoring
from rmaudit.scores.store import Store
from tests.scores.letters import Letters

IDS, SHARD = 200, 8
PROMPTS = ("best", "worst", "greatest")


class Wide(Letters):
    """Letters with many ids; each shard takes `seconds`, and is noted in a file."""

    def __init__(self, seconds: float = 0.0, notes: Path | None = None) -> None:
        super().__init__()
        self.seconds, self.notes = seconds, notes

    def vocabulary(self) -> Vocabulary:
        """As many ids as there are."""
        texts = tuple(f"t{i}" for i in range(IDS))
        return Vocabulary(tuple(range(IDS)), texts, texts)

    def score(
        self,
        prompt: str,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> Any:
        """The sums of ids, after a while."""
        if self.notes is not None:
            with self.notes.open("ab") as notes:
                os.write(notes.fileno(), f"{prompt}:{responses[0]}\n".encode())
        time.sleep(self.seconds)
        return super().score(prompt, responses, on_progress=on_progress)


def contents(root: Path | str) -> dict[str, bytes | None]:
    """Return all files of a store."""
    files = Store(root).files
    return {name: files.read(name) for name in files.names()}


def plan(model: Letters, kept: Store) -> Plan:
    """The sweeps of a model under the prompts."""
    needs = Needs(kept)
    for prompt in PROMPTS:
        needs.ask(model, Request(model.spec, prompt_meant(prompt), "sweep"))
    return Plan(kept, tuple(needs.found.values()))


def make_part(root: Path | str, part: Part | None, notes: Path, seconds: float = 0.5) -> Made:
    """What a host does: a part, with no lock that another would know of."""
    shard_scoring.SHARD = SHARD
    with tempfile.TemporaryDirectory() as own:
        tempfile.tempdir = own
        try:
            model, kept = Wide(seconds, notes), Store(root)
            return make(lambda: plan(model, kept), part)
        finally:
            tempfile.tempdir = None
