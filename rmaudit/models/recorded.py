"""A model known only by its published scores: no weights, no tokenizer, no torch.

`sweeps.sweep` and `sweeps.score_texts` read its scores from the records (`sweeps.published`); it
renders and scores nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import NoGradient, NotRecorded
from rmaudit.layout.slot import Response, Slot, Vocabulary

CAVEAT = (
    "Rests on scores that Christian et al. 2025 published, not on the weights: protocol, dtype and "
    "revision are theirs, and the scores' numeric noise was not measured."
)


class Recorded:
    """A registry entry taken as recorded; see `rmaudit.models.protocol.RewardModel`."""

    def __init__(self, spec: ModelSpec) -> None:
        """Any entry: what is recorded of it is seen when it is asked for."""
        self.spec = spec

    @property
    def name(self) -> str:
        """The registry's name."""
        return self.spec.name

    @property
    def identity(self) -> dict[str, str]:
        """Its hub id, and that scores of it are records: a field that no scored model's key has."""
        return {"recorded": "published scores", "model": self.spec.source}

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """What is not known of the scores, because others made them."""
        return {
            "source": f"published scores of {self.spec.source} (Christian et al. 2025)",
            "dtype": "the authors'",
            "revision": "the authors'",
            "noise measured": "no",
        }

    @property
    def files(self) -> tuple[str, ...]:
        """What a file with its token scores is called; none for a model that has no hub id."""
        source = self.spec.source
        published = "/" in source and not Path(source).expanduser().is_absolute()
        return (f"{source.replace('/', '--')}.csv", f"{self.name}.csv") if published else ()

    def unrecorded(self, what: str, *, command: str | None = None) -> NotRecorded:
        """The error that says `what` is not recorded, and how to get it."""
        score = f"pytest audits --model {self.name}"
        if not self.files:
            what = "its scores are not published, so nothing of it is recorded"
        elif command:
            what += "; without --rm-recorded its weights are scored"
        return NotRecorded(f"{self.name}: {what}", command=(self.files and command) or score)

    def vocabulary(self) -> Vocabulary:
        """Not recorded by itself: a sweep has it. Raises `NotRecorded`, as all below."""
        self._refuse("has no tokenizer")

    def slot(self, prompt: str) -> Slot:
        """Not recorded."""
        self._refuse(f"cannot render {prompt!r}")

    def ids(self, response: Response) -> tuple[int, ...]:
        """Not recorded."""
        self._refuse(f"cannot tokenize {response!r}")

    @property
    def special_ids(self) -> frozenset[int]:
        """Not recorded."""
        self._refuse("has no tokenizer")

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """Not recorded."""
        self._refuse(f"cannot decode {len(answers)} answers")

    def tokenized(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Not recorded."""
        self._refuse(f"cannot tokenize {len(texts)} texts")

    def score(
        self,
        prompt: str,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = lambda _: None,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Not recorded one by one: see `sweeps.score_texts`."""
        self._refuse(f"cannot score {len(responses)} answers to {prompt!r}")

    @property
    def template_digest(self) -> str:
        """Not recorded."""
        self._refuse("has no chat template")

    def retokenized(self, prompt: str, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Not recorded."""
        self._refuse(f"cannot render {len(texts)} answers to {prompt!r}")

    def score_rows(
        self,
        rows: Sequence[tuple[int, ...]],
        *,
        on_progress: Callable[[int], None] = lambda _: None,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Not recorded."""
        self._refuse(f"cannot score {len(rows)} rows of ids")

    def own_rewards(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """Not recorded."""
        self._refuse(f"cannot score {len(rows)} rows of ids")

    def gradient(self, prompt: str, answers: Sequence[Sequence[int]]) -> NoReturn:  # noqa: ARG002
        """There are no weights. Raises `NoGradient`."""
        raise NoGradient(self.name, "it is known by its published scores, not by its weights")

    def close(self) -> None:
        """There is nothing to free."""

    def _refuse(self, what: str) -> NoReturn:
        records = "it has whole sweeps (rmaudit.sweep) and scores of items (score_texts) only"
        raise self.unrecorded(f"a recorded model {what}; {records}")
