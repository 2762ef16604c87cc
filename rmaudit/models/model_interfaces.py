"""Define the interface of models: with weights, with published scores, or functions of texts."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import Asked
from rmaudit.layout.answer_slot import Response, Slot
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.external_scorer_batches import Pace, by_prompt
from rmaudit.models.recorded_model import Recorded
from rmaudit.models.text_scorer import TextScorer
from rmaudit.scoring import Begun

if TYPE_CHECKING:
    from rmaudit.scoring.gradient import Slopes


class HasScores(Protocol):
    """Interface that all models share, whether they have weights or not.

    `rmaudit.sweep` and `rmaudit.scores.text_rewards.score_texts` give their scores: of a vocabulary
    and of texts under a prompt.
    """

    spec: ModelSpec
    pace: Pace | None  # at which its scores are made and kept; None: at the store's own

    @property
    def name(self) -> str:
        """Return the model's name in models.yaml, or its folder's name or hub id."""

    @property
    def identity(self) -> Mapping[str, str]:
        """Return what determines the scores, for cache keys: hashes of files, head, dtype and more.

        Raises:
            ModelError: its files cannot be read.
        """

    @property
    def provenance(self) -> Mapping[str, str | int | float]:
        """Return facts for the report that determine no score: versions, device, source."""

    def with_weights(self, what: str) -> RewardModel:
        """Return this model if it has weights, or else raise; `what` is the use that needs them.

        Raises:
            NotRecorded: only published scores of it are known; `what` says what is missing.
            NoWeights: it is a function of texts.
        """

    def close(self) -> None:
        """Free the weights, if there are any; the next score loads them again."""


class RewardModel(HasScores, Protocol):
    """A model with weights: it scores any response to any prompt. Made by `rmaudit.load`.

    Ids are the tokenizer's. Rewards are in the model's own units, higher is better.
    """

    pace: Pace | None = None

    def with_weights(self, what: str) -> RewardModel:  # noqa: ARG002  (as `HasScores` has it)
        """Return the model itself, since it has weights."""
        return self

    def vocabulary(self) -> Vocabulary:
        """Return every token id that can be scored, ascending."""

    def slot(self, prompt: Asked) -> Slot:
        """Return the prompt as token ids, with a hole where the answer's ids go.

        Raises:
            ModelError: it cannot be laid out.
        """

    def ids(self, response: Response) -> tuple[int, ...]:
        """Return a response as token ids: a text is tokenized as an answer, ids stay as they are.

        Raises:
            ModelError: an id is not one of the model's.
        """

    @property
    def special_ids(self) -> frozenset[int]:
        """Return the ids of special and added tokens, which no text should contain."""

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each answer's token ids, special tokens included."""

    def tokenized(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Tokenize many texts as answers; return the token ids of each, as `ids` does."""

    def remembered(self, kind: str, asked: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401, ARG002  (JSON)
        """Return `make()`, or what a model with a cache has cached of it for `kind` and `asked`.

        The value is JSON, and must follow from `asked` and the model's rows (vocabulary, slots,
        tokenizer). A model that has no cache calls `make` each time.
        """
        return make()

    def score(
        self,
        prompt: Asked,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = ...,
    ) -> NDArray[np.float32]:
        """Return the reward of each of n responses to the prompt, shape (n,).

        Raises:
            SpecError: `responses` is a single text.
            ModelError: a response has an unknown id, or the weights cannot be loaded.
            ScoreError: a reward is not a finite number.
        """

    def score_each(
        self,
        prompts: Sequence[Asked],
        responses: Sequence[str],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """Return the reward of each response to its own prompt, shape (n,). Raises as `score`."""
        return by_prompt(self.score, prompts, responses, on_progress)

    def begin(
        self,
        prompt: Asked,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> Begun:
        """Return the scores of `score` or, if a GPU computes them, a function that waits for them.

        The next call may be begun before one waits for this one. Raises as `score` does, here or
        on waiting.
        """
        return self.score(prompt, responses, on_progress=on_progress)

    def begin_rows(
        self,
        rows: Sequence[tuple[int, ...]],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> Begun:
        """Return the scores of `score_rows` or, for a GPU, a function that waits for them."""
        return self.score_rows(rows, on_progress=on_progress)

    def answers_a_call(self, prompt: Asked) -> int:  # noqa: ARG002  (a GPU's own memory decides)
        """Return how many one-token answers fill one forward pass; 0 if any number will do."""
        return 0

    @property
    def template_digest(self) -> str:
        """Return the hash of the chat template.

        The template, the tokenizer and the prompt determine what `retokenized` returns.
        """

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return a row of ids per text: the prompt, and the text as its answer, tokenized together.

        This is the protocol "paper", that of Christian et al. 2025.
        """

    def score_rows(
        self, rows: Sequence[tuple[int, ...]], *, on_progress: Callable[[int], None] = ...
    ) -> NDArray[np.float32]:
        """Return the reward of each row (prompt and answer ids), all of one prompt, shape (n,)."""

    def own_rewards(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """Return each row's reward, (n,), by the model's own forward pass on that row alone."""

    def gradient(self, prompt: Asked, answers: Sequence[Sequence[int]]) -> Slopes:
        """Return rewards of equally long answers, and gradients with respect to one-hot tokens.

        Raises:
            NoGradient: the model cannot be differentiated.
        """


# A model to audit: of weights, known by its published scores alone, or a function of texts.
Scored: TypeAlias = RewardModel | Recorded | TextScorer


KNOWN_BY = "served: known by"  # in the provenance of what a server scored
LOOSELY = "path checked loosely"  # in the provenance: why it was not checked in float32
_BY_FUNCTION = (
    "Scored as texts, by a function that was declared with @rmaudit.scorer: how an answer becomes "
    "token ids is the function's affair."
)
_BY_ENDPOINT = (
    "Scored as texts, by a server: how an answer becomes token ids, and whether a long one is cut, "
    "is the server's affair."
)


def caveats_of_scores(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Return caveats on stored scores as sentences; `about` has their cache key and provenance."""
    known, caveats = about.get(KNOWN_BY), []
    if about.get("protocol") == "text":
        caveats.append(_BY_ENDPOINT if known else _BY_FUNCTION)
    if reason := about.get(LOOSELY):
        said = f"The way in which this model is scored was checked in 16 bits only ({reason}), so "
        caveats.append(f"{said}an error of less than about one sd in a few ids would not show.")
    if known:
        said = f"A server can change beneath its name: these scores are known by {known}."
        caveats.append(said)
    return tuple(caveats)


def versions_and_machine() -> dict[str, str]:
    """Return the versions of torch and transformers, and the machine's type. Imports torch."""
    import torch
    import transformers

    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "machine": platform.machine(),
    }
