"""What a reward model is to the rest of rmaudit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from rmaudit.config.registry import ModelSpec
from rmaudit.layout.slot import Response, Slot, Vocabulary

if TYPE_CHECKING:
    from rmaudit.scoring.gradient import Slopes


class RewardModel(Protocol):
    """Anything that scores responses to a prompt. Made by `rmaudit.load`."""

    spec: ModelSpec

    @property
    def name(self) -> str:
        """The registry's name, or the folder's or hub id's."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What decides its scores: weights, tokenizer, head, dtype ... Part of every cache key."""

    @property
    def provenance(self) -> Mapping[str, str | int | float]:
        """What a reader wants to know beside the identity: versions, device, where from."""

    def vocabulary(self) -> Vocabulary:
        """Every token id."""

    def slot(self, prompt: str) -> Slot:
        """The prompt, rendered."""

    def ids(self, response: Response) -> tuple[int, ...]:
        """A response as token ids: a text tokenized where answers stand, or ids as they are."""

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of special and added tokens, which no one's text is meant to have."""

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """What each answer's ids read as where answers stand, special tokens included."""

    def tokenized(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The `ids` of each text, of many at once."""

    def score(
        self,
        prompt: str,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = ...,
    ) -> NDArray[np.float32]:
        """Shape (n,): the reward of each response, the model's own units, higher is better."""

    @property
    def template_digest(self) -> str:
        """Hash of what decides, beside tokenizer and prompt, the rows of `retokenized`."""

    def retokenized(self, prompt: str, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The paper's protocol: the whole row of ids that each text becomes as the answer."""

    def score_rows(
        self, rows: Sequence[tuple[int, ...]], *, on_progress: Callable[[int], None] = ...
    ) -> NDArray[np.float32]:
        """Shape (n,): the reward of each whole row of ids; all are rows of one prompt."""

    def own_rewards(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """Shape (n,): the rewards of whole rows, each alone, without what makes `score` fast."""

    def gradient(self, prompt: str, answers: Sequence[Sequence[int]]) -> Slopes:
        """Rewards of answers of one length, and their gradient by one-hot tokens of the answer."""

    def close(self) -> None:
        """Free the weights; the next score loads them again."""
