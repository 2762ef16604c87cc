"""How a model's prompts and answers become rows of token ids, with results in the cache.

What a run asks of every model again is remembered in the cache (`json_cache`): the vocabulary, the
slots, the ids of the texts that audits score. A run that finds its scores there reads no tokenizer,
and so loads no transformers, which takes seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rmaudit import json_cache
from rmaudit.conversation import Asked, as_json
from rmaudit.errors import ModelError
from rmaudit.layout import layouts, tokenizers
from rmaudit.layout.answer_slot import Ids, Response, Slot
from rmaudit.layout.layouts import Layout
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.model_interfaces import RewardModel

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class RowSource(Protocol):
    """Interface of a source from which `Rows` makes token ids: layout, configuration, row count."""

    @property
    def layout(self) -> Layout:
        """Return the layout, which puts a prompt and an answer into one row of token ids."""

    @property
    def defaults(self) -> object:
        """Return the model's configuration; a wrong one raises `ModelError`."""

    @property
    def rows(self) -> int:
        """Return the embedding's row count; token ids go from 0 to this number minus 1."""

    def decided_by(self, cache: Path) -> Mapping[str, str]:
        """Return what determines the rows of token ids, as cache key fields.

        Files are in them as hashes, so none has to be parsed. What is cached of the rows has these
        fields in its key (`json_cache`).
        """


class Rows:
    """A converter of prompts and answers to token ids; ids outside of the embedding are errors."""

    def __init__(self, loader: RowSource, name: str, cache: Path) -> None:
        """Take the loader, from which nothing is read yet; `name` is for errors."""
        self._loader, self._name, self._cache = loader, name, cache
        self._slots: dict[Asked, Slot] = {}  # a search asks for one thousands of times
        self._tokenizer_given = False  # whether somebody has the tokenizer, and may change it

    @cached_property
    def layout(self) -> Layout:
        """Return the layout of prompts and answers; raise `ModelError` if config.json is wrong."""
        _ = self._loader.defaults
        _ = self._key_fields  # of the files as they are before any is read
        return self._loader.layout

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer, with models.yaml's chat template, if any; stop caching rows.

        Whoever asks for it may change it, so nothing is cached from then on.
        """
        self._tokenizer_given = True
        return self.layout.tokenizer

    @cached_property
    def _key_fields(self) -> dict[str, str]:
        return dict(self._loader.decided_by(self._cache))

    def remembered(self, kind: str, asked: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401  (JSON)
        """Return the cached value for `kind` and `asked`, or call `make` and cache its result."""
        if self._tokenizer_given:
            return make()
        fields = {**self._key_fields, "asked": asked}
        return json_cache.cached(
            self._cache, kind, fields, make,
            sure=lambda: self._loader.decided_by(self._cache) == self._key_fields,
        )  # fmt: skip

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Return the ids of special and added tokens."""

        def make() -> list[int]:
            tokenizer = self.layout.tokenizer
            return sorted({*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder})

        return frozenset(self.remembered("special-ids", "", make))

    @cached_property
    def edges(self) -> tuple[int, ...]:
        """Return one id of each special kind (first, last, pad, bos, eos, added, byte).

        See `tokenizers.edges`.
        """
        rows = self._loader.rows
        found = self.remembered(
            "edges", "", lambda: tokenizers.edges(self.layout.tokenizer, rows=rows)
        )
        return tuple(found)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Return the tokenizer's tokens whose ids have an embedding row; warn if others have none.

        Ids without a row cannot be scored; they may be what the tokenizer's makers reserved.
        """
        rows = self._loader.rows

        def make() -> dict[str, Any]:
            pieces = self.layout.tokenizer.get_vocab().items()
            beyond = sorted((i, piece) for piece, i in pieces if i >= rows)
            found = tokenizers.vocabulary(self.layout.tokenizer, rows=rows)
            return {**asdict(found), "beyond": [len(beyond), *beyond[:1]]}

        found = self.remembered("vocabulary", "", make)
        if found["beyond"][0]:
            count, (first, piece) = found["beyond"]
            warnings.warn(
                f"{self._name}: {count} of its tokenizer's ids, first {first} "
                f"({piece!r}), have no row in the embedding, whose ids go from 0 to "
                f"{rows - 1}: they are not scored. If it was trained with them, these are "
                f"not its weights: save it again after resize_token_embeddings",
                stacklevel=2,
            )
        return Vocabulary(*(tuple(found[name]) for name in ("ids", "pieces", "texts")))

    def slot(self, prompt: Asked) -> Slot:
        """Return the prompt as token ids, with a hole where the answer's ids go.

        Raises:
            ModelError: it cannot be laid out, or has an id that the embedding has no row for.
        """
        if self._tokenizer_given:
            return self._checked(self.layout.slot(prompt))
        if prompt not in self._slots:
            kind, said = "slot", prompt if isinstance(prompt, str) else as_json(prompt)
            if said is not prompt:
                kind = "slot-of-turns"  # a text may read like turns
            made = self.remembered(kind, said, lambda: asdict(self.layout.slot(prompt)))
            ids = {name: tuple(made[name]) for name in ("prefix", "suffix")}
            self._slots[prompt] = self._checked(Slot(**{**made, **ids, "prompt": prompt}))
        return self._slots[prompt]

    def _checked(self, slot: Slot) -> Slot:
        rows = self._loader.rows
        if beyond := [i for i in (*slot.prefix, *slot.suffix) if i >= rows]:
            token = self.layout.tokenizer.convert_ids_to_tokens(beyond[0])
            message = (
                f"{self._name}: its tokenizer and chat template give a prompt the id {beyond[0]} "
                f"({token!r}), and the embedding's ids go from 0 to {rows - 1}: tokenizer and "
                f"weights are not of one model. Save the model again after "
                f"resize_token_embeddings, or give it its own tokenizer"
            )
            raise ModelError(message)
        return slot

    def ids(self, response: Response) -> tuple[int, ...]:
        """Return a response as token ids: a text is tokenized as an answer, ids only checked.

        A text gets no special tokens.

        Raises:
            ModelError: an id has no row.
        """
        if isinstance(response, str):
            return self.layout.ids(response)
        ids, rows = tuple(int(i) for i in response), self._loader.rows
        if unknown := [i for i in ids if not 0 <= i < rows]:
            message = f"{self._name}: no token id {unknown[0]}; ids go from 0 to {rows - 1}"
            raise ModelError(message)
        return ids

    def split(self, rows: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        """Return the ids that all rows begin with, and the rest of each; raise if they share none.

        Raises:
            ModelError: they share nothing, or an id has no row.
        """
        prefix, rests = layouts.split_shared_prefix([self.ids(row) for row in rows])
        if rests and not prefix:
            message = (
                f"{self._name}: the rows to score share no id at their start, or one has a single "
                f"id; they must be of one prompt, or give a `template:` in models.yaml with a BOS"
            )
            raise ModelError(message)
        return prefix, rests


class TokenModel(RewardModel):
    """A reward model that scores rows of token ids; see `RewardModel` for the members."""

    rows: Rows

    @property
    def name(self) -> str:
        """Return the model's name in models.yaml."""
        return self.spec.name

    def __repr__(self) -> str:
        return f"<RewardModel {self.name}: {self.spec.source}>"

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer, with models.yaml's chat template, if any; stop caching rows."""
        return self.rows.tokenizer

    @property
    def special_ids(self) -> frozenset[int]:
        """Return the ids of special and added tokens."""
        return self.rows.special_ids

    @property
    def template_digest(self) -> str:
        """Return a hash of the chat template and its fixed date, or of an encoder's layout."""
        return self.rows.layout.digest

    def vocabulary(self) -> Vocabulary:
        """Return the tokenizer's tokens whose ids have a row in the embedding."""
        return self.rows.vocabulary

    def slot(self, prompt: Asked) -> Slot:
        """Return the prompt as token ids, with a hole where the answer's ids go."""
        return self.rows.slot(prompt)

    def ids(self, response: Response) -> Ids:
        """Return a response as token ids: a text is tokenized as an answer, ids only checked."""
        return self.rows.ids(response)

    def tokenized(self, texts: Sequence[str]) -> list[Ids]:
        """Tokenize many texts as answers; return the token ids of each, as `ids` does."""
        return self.rows.layout.tokenized(texts)

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each answer's token ids, decoded as in the middle of a row.

        An encoder's answers are decoded as at the start of a text.
        """
        return self.rows.layout.texts(answers)

    def remembered(self, kind: str, asked: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401  (JSON)
        """Return the cached value for `kind` and `asked`, or call `make` and cache its result.

        The value must follow from the model's rows alone.
        """
        return self.rows.remembered(kind, asked, make)

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[Ids]:
        """Return a row of ids per text: the prompt, and the text as its answer, tokenized together.

        This is the protocol "paper", that of Christian et al. 2025.
        """
        return self.rows.layout.retokenized(prompt, texts)
