"""Turn a model's prompts and answers into rows of token ids, with results in the cache.

What a run asks of every model again is remembered in the cache (`json_cache`): the vocabulary, the
slots, the ids of the texts that audits score. A run that finds its scores there reads no tokenizer,
and so loads no transformers, which takes seconds.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit import json_cache
from rmaudit.checkpoints import adapter_files, checkpoint_source, config_json, file_hashes
from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import Asked, as_json
from rmaudit.errors import ModelError
from rmaudit.layout import layouts, tokenizers
from rmaudit.layout.answer_slot import Response, Slot
from rmaudit.layout.layouts import Layout, layout_of
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.layout.verdict_words import verdict_ids
from rmaudit.prompts import PROMPTS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Rows(ABC):
    """A converter of prompts and answers to token ids; ids outside of the embedding are errors."""

    def __init__(self, layout: Layout, cache: Path) -> None:
        """Take the layout, of whose tokenizer nothing is read yet."""
        self._unread, self.spec, self.cache = layout, layout.spec, cache
        self._slots: dict[Asked, Slot] = {}  # a search asks for one thousands of times
        self._tokenizer_given = False  # whether somebody has the tokenizer, and may change it
        self._sure = False  # whether the files were the same after they were read

    @property
    @abstractmethod
    def size(self) -> int:
        """Return how many ids the embedding has a row for, from 0 on."""

    @abstractmethod
    def decided_by(self) -> dict[str, str]:
        """Return what determines the rows of token ids, as fields of a cache key."""

    @cached_property
    def layout(self) -> Layout:
        """Return the layout of prompts and answers, whose tokenizer may now be read."""
        _ = self._key_fields  # of the files as they are before any is read
        return self._unread

    @cached_property
    def verdict(self) -> tuple[int, ...]:
        """Return the token ids of a judge's yes and no; () for other models. See `verdict_ids`."""
        return verdict_ids(self._unread)

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer, with models.yaml's chat template, if any; stop caching rows.

        Whoever asks for it may change it, so nothing is cached from then on.
        """
        self._tokenizer_given = True
        return self.layout.tokenizer

    @cached_property
    def _key_fields(self) -> dict[str, str]:
        return self.decided_by()

    def remembered(self, kind: str, asked: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401  (JSON)
        """Return the cached value for `kind` and `asked`, or call `make` and cache its result."""
        if self._tokenizer_given:
            return make()
        fields = {**self._key_fields, "asked": asked}
        return json_cache.cached(self.cache, kind, fields, make, sure=self._files_are_those_read)

    def _files_are_those_read(self) -> bool:
        """Return whether the model's files are still those of the key, now that they were read.

        They are read once: what they were then decides every later value.
        """
        if not self._sure:
            self._sure = self.decided_by() == self._key_fields
        return self._sure

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
        found = self.remembered(
            "edges", "", lambda: tokenizers.edges(self.layout.tokenizer, rows=self.size)
        )
        return tuple(found)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Return the tokenizer's tokens whose ids have an embedding row; warn if others have none.

        Ids without a row cannot be scored; they may be what the tokenizer's makers reserved.
        """
        rows = self.size

        def make() -> dict[str, Any]:
            pieces = self.layout.tokenizer.get_vocab().items()
            beyond = sorted((i, piece) for piece, i in pieces if i >= rows)
            found = tokenizers.vocabulary(self.layout.tokenizer, rows=rows)
            return {**asdict(found), "beyond": [len(beyond), *beyond[:1]]}

        found = self.remembered("vocabulary", "", make)
        if found["beyond"][0]:
            count, (first, piece) = found["beyond"]
            warnings.warn(
                f"{self.spec.name}: {count} of its tokenizer's ids, first {first} "
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
        rows = self.size
        if beyond := [i for i in (*slot.prefix, *slot.suffix) if i >= rows]:
            token = self.layout.tokenizer.convert_ids_to_tokens(beyond[0])
            message = (
                f"{self.spec.name}: its tokenizer and chat template give a prompt the id "
                f"{beyond[0]} ({token!r}), and the embedding's ids go from 0 to {rows - 1}: "
                f"tokenizer and weights are not of one model. Save the model again after "
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
        ids, rows = tuple(int(i) for i in response), self.size
        if unknown := [i for i in ids if not 0 <= i < rows]:
            message = f"{self.spec.name}: no token id {unknown[0]}; ids go from 0 to {rows - 1}"
            raise ModelError(message)
        return ids

    def look(self) -> Iterator[tuple[str, str]]:
        """Yield lines (label, text): how many ids are scored, and how a prompt is laid out."""
        slot = self.slot(PROMPTS["greatest"].text)
        yield "vocabulary", f"{len(self.vocabulary.ids):,} ids are scored"
        yield "prefix", f"{len(slot.prefix)} ids: {slot.prefix_text!r}"
        yield "suffix", f"{len(slot.suffix)} ids: {slot.suffix_text!r}"

    def split(self, rows: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        """Return the ids that all rows begin with, and the rest of each; raise if they share none.

        Raises:
            ModelError: they share nothing, or an id has no row.
        """
        prefix, rests = layouts.split_shared_prefix([self.ids(row) for row in rows])
        if rests and not prefix:
            message = (
                f"{self.spec.name}: the rows to score share no id at their start, or one has a "
                f"single id; they must be of one prompt, or give a `template:` in models.yaml with "
                f"a BOS"
            )
            raise ModelError(message)
        return prefix, rests


def local_spec(spec: ModelSpec, where: str) -> ModelSpec:
    """Return a served model's entry with the folder or hub id `where` as source, not its server."""
    plain = ModelSpec(spec.name, where)
    return replace(
        plain,
        template=spec.template,
        judge=spec.judge,
        trained_on=spec.trained_on,
        notes=spec.notes,
    )


def tokenizer_spec(spec: ModelSpec) -> ModelSpec | None:
    """Return an entry whose source has the tokenizer of a served or implicit model, or None.

    The source is what a served model's entry names as its checkpoint. For an implicit reward this
    is the entry itself, whose source is the policy.
    """
    if spec.implicit is not None:
        return spec
    return None if spec.checkpoint is None else local_spec(spec, spec.checkpoint)


class ServedRows(Rows):
    """Rows of token ids made without weights: of a served model or an implicit reward."""

    def __init__(self, spec: ModelSpec, cache: Path) -> None:
        """Find the tokenizer's folder; small files of a hub id are downloaded.

        Raises:
            ModelError: it cannot be had.
        """
        own = tokenizer_spec(spec)
        assert own is not None, "whoever asks has seen that there is one"  # noqa: S101  (for types)
        found = checkpoint_source.find(
            own, cache, folder_hint=f"checkpoint: FOLDER of {spec.name} in models.yaml"
        )
        self.folder = adapter_files.tokenizer_folder(found, own, cache)
        # Before any is read:
        self._files = file_hashes.states(file_hashes.tokenizer_files(self.folder))
        super().__init__(layout_of(self.folder, own, found.path), cache)

    @cached_property
    def size(self) -> int:
        """Return how many token ids there are: by config.json, or else by the tokenizer."""
        if (self.folder / config_json.NAME).is_file():
            config = config_json.read(self.folder, model=self.spec.name)
            text = config.get("text_config")
            said = (text if isinstance(text, dict) else config).get("vocab_size")
            if isinstance(said, int) and said > 0:
                return said
        return 1 + int(max(self._unread.tokenizer.get_vocab().values()))

    @cached_property
    def identity(self) -> str:
        """Return the hash of the tokenizer's files."""
        return file_hashes.identity(file_hashes.tokenizer_files(self.folder), self.cache)

    def refuse_changed(self) -> None:
        """Raise if the tokenizer's files were written to since they were opened.

        Raises:
            ModelError: they were: the rows and the hash in the cache key may be of different
                tokenizers.
        """
        file_hashes.refuse_changed(self._files, model=self.spec.name)

    def decided_by(self) -> dict[str, str]:
        """Return what determines the rows of token ids, as fields of a cache key."""
        return layouts.decided_by(self.spec, [self.folder], self.cache)
