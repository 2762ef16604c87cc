"""What a model that is scored by token ids has of its tokenizer and template: its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rmaudit.conversation import Asked
from rmaudit.layout.slot import Response, Slot
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.protocol import RewardModel
from rmaudit.models.rows import Rows

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Ids = tuple[int, ...]


class LaidOut(RewardModel):
    """A model with rows; see `RewardModel` for what each member is."""

    rows: Rows

    @property
    def name(self) -> str:
        """The registry's name."""
        return self.spec.name

    def __repr__(self) -> str:
        return f"<RewardModel {self.name}: {self.spec.source}>"

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Its tokenizer, with the registry's chat template if it gives one."""
        return self.rows.tokenizer

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of special and added tokens."""
        return self.rows.special_ids

    @property
    def template_digest(self) -> str:
        """Hash of the chat template and the day it is given, or of the pair's layout."""
        return self.rows.layout.digest

    def vocabulary(self) -> Vocabulary:
        """Every id that the tokenizer knows and the embedding has a row for."""
        return self.rows.vocabulary

    def slot(self, prompt: Asked) -> Slot:
        """The prompt, laid out with a hole for the answer."""
        return self.rows.slot(prompt)

    def ids(self, response: Response) -> Ids:
        """A text's ids where an answer stands, no special tokens added; ids as they are."""
        return self.rows.ids(response)

    def tokenized(self, texts: Sequence[str]) -> list[Ids]:
        """The `ids` of each text, of many at once."""
        return self.rows.layout.tokenized(texts)

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """What each answer's ids read as where an answer stands; an encoder's stands alone."""
        return self.rows.layout.texts(answers)

    def remembered(self, kind: str, asked: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401  (JSON)
        """What follows from its rows alone, kept in the cache."""
        return self.rows.remembered(kind, asked, make)

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[Ids]:
        """The whole row of ids that each answer becomes under the paper's protocol."""
        return self.rows.layout.retokenized(prompt, texts)
