"""Define what models with weights have in common, and what a model to audit may be."""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import Asked
from rmaudit.errors import NoGradient, NoWeights
from rmaudit.layout.answer_slot import Ids, Response, Slot
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.cached_token_rows import Rows
from rmaudit.models.external_scorer_batches import Pace, Progress, by_prompt, unwatched
from rmaudit.models.recorded_model import Recorded
from rmaudit.models.text_scorer import OPENED, TextScorer
from rmaudit.scoring import Begun

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from rmaudit.scoring.gradient import Slopes


class RewardModel(ABC):
    """A model with weights: it scores any response to any prompt. Made by `rmaudit.load`.

    Ids are the tokenizer's. Rewards are in the model's own units, higher is better.
    """

    takes: ClassVar[Literal["token ids"]] = "token ids"  # what it scores
    behind_server: ClassVar[bool] = False  # so `rmaudit doctor` compares it with its checkpoint
    no_gradient: ClassVar[str] = "its source gives rewards, and no gradients of them"
    spec: ModelSpec
    rows: Rows
    pace: Pace | None = None  # at which its scores are made and kept; None: at the store's own

    @property
    def name(self) -> str:
        """Return the model's name in models.yaml, or its folder's name or hub id."""
        return self.spec.name

    def __repr__(self) -> str:
        return f"<RewardModel {self.name}: {self.spec.source}>"

    @property
    @abstractmethod
    def identity(self) -> Mapping[str, str]:
        """Return what determines the scores, for cache keys: hashes of files, head, dtype and more.

        Raises:
            ModelError: its files cannot be read.
        """

    @property
    @abstractmethod
    def provenance(self) -> Mapping[str, str | int | float]:
        """Return facts for the report that determine no score: versions, device, source."""

    def with_weights(self, what: str) -> RewardModel:  # noqa: ARG002  (as `Recorded` has it)
        """Return the model itself, since it has weights."""
        return self

    def with_head(self) -> RewardModel:
        """Return the model itself if it is a checkpoint, whose head can be looked into.

        Raises:
            NoWeights: it is none.
        """
        raise NoWeights(f"{self.name} has no head to look into, and this needs its checkpoint")

    def sibling(self, spec: ModelSpec) -> RewardModel | None:  # noqa: ARG002  (for those that can)
        """Return the judge of another entry that shares these weights; None if it cannot."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Free the weights, if there are any; the next score loads them again."""

    # What `rmaudit models check` and `rmaudit doctor` ask

    def look(self) -> Iterator[tuple[str, str]]:
        """Yield lines (label, text) on how it is scored, or raise `RmauditError` if it is not."""
        yield from self.rows.look()

    @property
    def limits(self) -> Mapping[str, int]:
        """Return what a server limits, such as {"max_model_len": 4096}; {} if it does not say."""
        return {}

    def rendered_there(self, prompt: str, answer: str) -> Ids | None:  # noqa: ARG002  (a server's)
        """Return the ids that a server's own chat template prints; None if it does not say."""
        return None

    # Its rows of token ids

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer, with models.yaml's chat template, if any; stop caching rows."""
        return self.rows.tokenizer

    def vocabulary(self) -> Vocabulary:
        """Return every token id that can be scored, ascending."""
        return self.rows.vocabulary

    def slot(self, prompt: Asked) -> Slot:
        """Return the prompt as token ids, with a hole where the answer's ids go.

        Raises:
            ModelError: it cannot be laid out.
        """
        return self.rows.slot(prompt)

    def ids(self, response: Response) -> Ids:
        """Return a response as token ids: a text is tokenized as an answer, ids stay as they are.

        Raises:
            ModelError: an id is not one of the model's.
        """
        return self.rows.ids(response)

    @property
    def special_ids(self) -> frozenset[int]:
        """Return the ids of special and added tokens, which no text should contain."""
        return self.rows.special_ids

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each answer's token ids, decoded as in the middle of a row.

        Special tokens are included. An encoder's answers are decoded as at the start of a text.
        """
        return self.rows.layout.texts(answers)

    def tokenized(self, texts: Sequence[str]) -> list[Ids]:
        """Tokenize many texts as answers; return the token ids of each, as `ids` does."""
        return self.rows.layout.tokenized(texts)

    def remembered(self, kind: str, asked: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401  (JSON)
        """Return the cached value for `kind` and `asked`, or call `make` and cache its result.

        The value is JSON, and must follow from `asked` and the model's rows (vocabulary, slots,
        tokenizer).
        """
        return self.rows.remembered(kind, asked, make)

    @property
    def template_digest(self) -> str:
        """Return a hash of the chat template and its fixed date, or of an encoder's layout.

        That, the tokenizer and the prompt determine what `retokenized` returns.
        """
        return self.rows.layout.digest

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[Ids]:
        """Return a row of ids per text: the prompt, and the text as its answer, tokenized together.

        This is the protocol "paper", that of Christian et al. 2025.
        """
        return self.rows.layout.retokenized(prompt, texts)

    # Its rewards

    @abstractmethod
    def score(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
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
        on_progress: Progress = unwatched,
    ) -> NDArray[np.float32]:
        """Return the reward of each response to its own prompt, shape (n,). Raises as `score`."""
        return by_prompt(self.score, prompts, responses, on_progress)

    def begin(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
    ) -> Begun:
        """Return the scores of `score` or, if a GPU computes them, a function that waits for them.

        The next call may be begun before one waits for this one. Raises as `score` does, here or
        on waiting.
        """
        return self.score(prompt, responses, on_progress=on_progress)

    def begin_rows(self, rows: Sequence[Ids], *, on_progress: Progress = unwatched) -> Begun:
        """Return the scores of `score_rows` or, for a GPU, a function that waits for them."""
        return self.score_rows(rows, on_progress=on_progress)

    def answers_a_call(self, prompt: Asked) -> int:  # noqa: ARG002  (a GPU's own memory decides)
        """Return how many one-token answers fill one forward pass; 0 if any number will do."""
        return 0

    @abstractmethod
    def score_rows(
        self, rows: Sequence[Ids], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each row (prompt and answer ids), all of one prompt, shape (n,)."""

    @abstractmethod
    def own_rewards(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """Return each row's reward, (n,), by the model's own forward pass on that row alone."""

    def gradient(self, prompt: Asked, answers: Sequence[Sequence[int]]) -> Slopes:  # noqa: ARG002  (for those that can)
        """Return rewards of equally long answers, and gradients with respect to one-hot tokens.

        Raises:
            NoGradient: the model cannot be differentiated.
        """
        raise NoGradient(self.name, self.no_gradient)


# A model to audit: of token ids, known by its published scores alone, or of texts. `takes` says
# which, and a caller that asks for it has the rest of the interface.
Scored: TypeAlias = RewardModel | Recorded | TextScorer


KNOWN_BY = "served: known by"  # in the provenance of what a server scored
LOOSELY = "path checked loosely"  # in the provenance: why it was not checked in float32
_BY_FUNCTION = (
    "Scored as texts, by a function that was declared with @rmaudit.scorer: how an answer becomes "
    "token ids is the function's affair."
)
_BY_PACKAGE = (
    "Scored as texts, by a source of another package ({}): how an answer becomes token ids is its "
    "affair."
)
_BY_ENSEMBLE = (
    "Scored as texts, for its members have several tokenizers: how an answer becomes token ids is "
    "each member's affair."
)
_BY_ENDPOINT = (
    "Scored as texts, by a server: how an answer becomes token ids, and whether a long one is cut, "
    "is the server's affair."
)


def caveats_of_scores(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Return caveats on stored scores as sentences; `about` has their cache key and provenance."""
    known, caveats = about.get(KNOWN_BY), []
    if about.get("protocol") == "text":
        others = about.get(OPENED)
        plain = _BY_PACKAGE.format(others) if others else _BY_FUNCTION
        plain = _BY_ENSEMBLE if about.get("head") == "ensemble" else plain
        caveats.append(_BY_ENDPOINT if known else plain)
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
