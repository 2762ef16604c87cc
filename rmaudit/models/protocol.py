"""What a model is to the rest of rmaudit: one that has scores, and one that can make new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmaudit.config.registry import ModelSpec
from rmaudit.conversation import Asked
from rmaudit.layout.slot import Response, Slot
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.batches import Pace, by_prompt
from rmaudit.scoring import Begun

if TYPE_CHECKING:
    from rmaudit.models.recorded import Recorded
    from rmaudit.models.text_scorer import TextScorer
    from rmaudit.scoring.gradient import Slopes

T = TypeVar("T")


class Scored(Protocol):
    """What audits need: a model whose scores can be had, computed or published.

    `rmaudit.sweep` and `rmaudit.scores.texts.score_texts` give them: the scores of a vocabulary
    and the scores of texts under a prompt.
    """

    spec: ModelSpec
    pace: Pace | None  # at which its scores are made and kept; None: at the store's own

    @property
    def name(self) -> str:
        """The registry's name, or the folder's or hub id's."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What decides its scores: weights, tokenizer, head, dtype ... Part of every cache key.

        Raises:
            ModelError: its files cannot be read.
        """

    @property
    def provenance(self) -> Mapping[str, str | int | float]:
        """What a reader wants to know besides the identity: versions, device, where from."""

    def scores(
        self,
        *,
        computed: Callable[[RewardModel], T],
        published: Callable[[Recorded], T],
        told: Callable[[TextScorer], T],
    ) -> T:
        """Its scores: `computed` from its weights, `published`, or `told` by a function of texts.

        Exactly one of the three is called, with this model. Raises what that raises.
        """

    def with_weights(self, what: str) -> RewardModel:
        """This model, to be asked for what needs its weights.

        Raises:
            NotRecorded: only published scores of it are known; `what` says what is missing.
            NoWeights: it is a function of texts.
        """

    def close(self) -> None:
        """Free the weights, if there are any; the next score loads them again."""


class RewardModel(Scored, Protocol):
    """A model with weights: it scores any response to any prompt. Made by `rmaudit.load`.

    Ids are the tokenizer's. Rewards are in the model's own units, higher is better.
    """

    pace: Pace | None = None

    def scores(
        self,
        *,
        computed: Callable[[RewardModel], T],
        published: Callable[[Recorded], T],  # noqa: ARG002  (as `Scored` has it)
        told: Callable[[TextScorer], T],  # noqa: ARG002  (likewise)
    ) -> T:
        """Computed from its weights."""
        return computed(self)

    def with_weights(self, what: str) -> RewardModel:  # noqa: ARG002  (as `Scored` has it)
        """Itself."""
        return self

    def vocabulary(self) -> Vocabulary:
        """Every token id that can be scored, ascending."""

    def slot(self, prompt: Asked) -> Slot:
        """The prompt, laid out with a hole for the answer.

        Raises:
            ModelError: it cannot be laid out.
        """

    def ids(self, response: Response) -> tuple[int, ...]:
        """A response as token ids: a text tokenized where answers stand, or ids as they are.

        Raises:
            ModelError: an id is not one of the model's.
        """

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of special and added tokens, which no one's text is meant to have."""

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """What each answer's ids read as where answers stand, special tokens included."""

    def tokenized(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The `ids` of each text, of many at once."""

    def remembered(self, kind: str, asked: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401, ARG002  (JSON)
        """A value of JSON that follows from its rows (vocabulary, slots, tokenizer) and `asked`.

        Made by `make`, or remembered from a run before. `kind` says what it is.
        """
        return make()

    def score(
        self,
        prompt: Asked,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = ...,
    ) -> NDArray[np.float32]:
        """Shape (n,): the reward of each response to the prompt.

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
        """Shape (n,): the reward of each response to its own prompt. Raises as `score` does."""
        return by_prompt(self.score, prompts, responses, on_progress)

    def begin(
        self,
        prompt: Asked,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> Begun:
        """Begin what `score` does: its scores or, while a GPU computes them, what waits for them.

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
        """Begin what `score_rows` does, as `begin`."""
        return self.score_rows(rows, on_progress=on_progress)

    def answers_a_call(self, prompt: Asked) -> int:  # noqa: ARG002  (a GPU's own memory decides)
        """Return how many answers of one id keep its GPUs busy in one call, 0 where any do."""
        return 0

    @property
    def template_digest(self) -> str:
        """Hash of what decides, together with tokenizer and prompt, the rows of `retokenized`."""

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The paper's protocol: the whole row of ids that each text becomes as the answer."""

    def score_rows(
        self, rows: Sequence[tuple[int, ...]], *, on_progress: Callable[[int], None] = ...
    ) -> NDArray[np.float32]:
        """Shape (n,): the reward of each whole row of ids; all are rows of one prompt."""

    def own_rewards(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """Shape (n,): the rewards of whole rows, each alone, without what makes `score` fast."""

    def gradient(self, prompt: Asked, answers: Sequence[Sequence[int]]) -> Slopes:
        """Rewards of n answers of one length, and their slopes by one-hot tokens of the answer.

        Raises:
            NoGradient: the model cannot be differentiated.
        """
