"""A checkpoint's rows of token ids: its layout, within the rows that its embedding has."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from rmaudit.errors import ModelError
from rmaudit.layout import retokenize, tokenizers
from rmaudit.layout.layouts import Layout
from rmaudit.layout.slot import Response, Slot
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.loader import Loader

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Rows:
    """What of a layout can be scored: ids from 0 to one less than the embedding's rows."""

    def __init__(self, loader: Loader, name: str) -> None:
        """Nothing is read yet; `name` is for errors."""
        self._loader, self._name = loader, name

    @cached_property
    def layout(self) -> Layout:
        """The layout, once config.json made sense: its errors say more than the tokenizer's."""
        _ = self._loader.defaults
        return self._loader.layout

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer, with the registry's chat template if it gives one."""
        return self.layout.tokenizer

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of special and added tokens."""
        tokenizer = self.tokenizer
        return frozenset((*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Every id that the tokenizer knows and the embedding has a row for.

        Ids without a row cannot be scored; they may be what the tokenizer's makers reserved.
        """
        rows = self._loader.rows
        names = {i: piece for piece, i in self.tokenizer.get_vocab().items() if i >= rows}
        if names:
            first = min(names)
            warnings.warn(
                f"{self._name}: {len(names)} of its tokenizer's ids, first {first} "
                f"({names[first]!r}), have no row in the embedding, whose ids go from 0 to "
                f"{rows - 1}: they are not scored. If it was trained with them, these are "
                f"not its weights: save it again after resize_token_embeddings",
                stacklevel=2,
            )
        return tokenizers.vocabulary(self.tokenizer, rows=rows)

    def slot(self, prompt: str) -> Slot:
        """The prompt, laid out with a hole for the answer.

        Raises:
            ModelError: it cannot be, or has an id that the embedding has no row for.
        """
        slot, rows = self.layout.slot(prompt), self._loader.rows
        if beyond := [i for i in (*slot.prefix, *slot.suffix) if i >= rows]:
            token = self.tokenizer.convert_ids_to_tokens(beyond[0])
            message = (
                f"{self._name}: its tokenizer and chat template give a prompt the id {beyond[0]} "
                f"({token!r}), and the embedding's ids go from 0 to {rows - 1}: tokenizer and "
                f"weights are not of one model. Save the model again after "
                f"resize_token_embeddings, or give it its own tokenizer"
            )
            raise ModelError(message)
        return slot

    def ids(self, response: Response) -> tuple[int, ...]:
        """A text's ids where an answer stands, no special tokens added; ids as they are.

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
        """What whole rows share at their start, and the rest of each.

        Raises:
            ModelError: they share nothing, or an id has no row.
        """
        prefix, rests = retokenize.split([self.ids(row) for row in rows])
        if rests and not prefix:
            message = (
                f"{self._name}: the rows to score share no id at their start, or one has a single "
                f"id; they must be of one prompt, or give a `template:` in models.yaml with a BOS"
            )
            raise ModelError(message)
        return prefix, rests
