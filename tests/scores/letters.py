"""A reward model that a test can reckon with, and count on; sweeps of given scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import NoGradient
from rmaudit.layout.answer_slot import Response, Slot
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.prompts import PROMPTS
from rmaudit.scores.sweep_result import Sweep


def sweep_of(texts: Sequence[str], scores: Sequence[float], model: str = "toy") -> Sweep:
    """A sweep of these texts, with these scores."""
    frame = pd.DataFrame(
        {
            "token_id": np.arange(len(texts), dtype=np.int32),
            "token": list(texts),
            "text": list(texts),
            "score": np.array(scores, dtype=np.float32),
        }
    )
    return Sweep(model, PROMPTS["best"], "key", frame, {})


class Letters(RewardModel):
    """A reward model of three letters and a byte that two ids share; it counts what it scores.

    Its own rewards of whole rows are off by `off`.
    """

    spec = ModelSpec("letters", "./letters")
    name = "letters"
    identity = MappingProxyType({"weights": "0a"})
    provenance = MappingProxyType({"torch": "none"})
    template_digest = "1a"

    def __init__(self, *, off: float = 0.0) -> None:
        self.off, self.rendered = off, 0
        self.scored: list[tuple[str, tuple[int, ...]]] = []

    def close(self) -> None:
        """There are no weights."""

    def gradient(self, prompt: str, answers: Sequence[Sequence[int]]) -> NoReturn:
        """Raise: a sum of letters has none."""
        raise NoGradient(self.name, "it counts letters")

    def remembered(self, kind: str, asked: str, make: Callable[[], Any]) -> Any:
        """Nothing is."""
        del kind, asked
        return make()

    def vocabulary(self) -> Vocabulary:
        """Ids with a gap."""
        return Vocabulary(
            (0, 1, 2, 5, 6), ("a", "b", "Ġb", "Ã", "©"), ("a", "b", " b", "\ufffd", "\ufffd")
        )

    def slot(self, prompt: str) -> Slot:
        """The prompt's length stands for its ids."""
        return Slot(prompt, (len(prompt),), (9, 9), f"<{prompt}>", "</>")

    def ids(self, response: Response) -> tuple[int, ...]:
        """One id a letter."""
        if isinstance(response, str):
            return tuple("ab".index(letter) for letter in response)
        return tuple(response)

    def tokenized(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The ids of each text."""
        return [self.ids(text) for text in texts]

    def score(
        self,
        prompt: str,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """The larger the sum of the ids, the better."""
        answers = [self.ids(response) for response in responses]
        self.scored += [(prompt, answer) for answer in answers]
        on_progress(len(answers))
        return self._sums(answers)

    def retokenized(self, prompt: str, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Trimmed, as in many templates; what is no letter becomes -1."""
        self.rendered += 1
        holes = [tuple(map("ab".find, text.strip())) for text in texts]
        return [(len(prompt), *hole, 9) for hole in holes]

    def score_rows(
        self,
        rows: Sequence[tuple[int, ...]],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """The larger the sum of the ids, the better."""
        self.scored += [("", tuple(row)) for row in rows]
        on_progress(len(rows))
        return self._sums(rows)

    def own_rewards(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """What `score` and `score_rows` give for them, each off by `off`."""
        sums = [sum(row[1:-2]) if row[-2:] == (9, 9) else sum(row) for row in rows]
        return np.array(sums, dtype=np.float32) + np.float32(self.off)

    def _sums(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        return np.array([sum(row) for row in rows], dtype=np.float32)
