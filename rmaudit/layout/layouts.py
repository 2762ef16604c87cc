"""Choose between two layouts of a prompt and an answer: a chat template, or an encoder's pair.

Both are made without reading anything; the tokenizer is read when it is first needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rmaudit import json_cache
from rmaudit.checkpoints import config_json, file_hashes
from rmaudit.checkpoints.heads import encoder, token_value
from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError
from rmaudit.layout import chat_rendering, chat_template, tokenizers
from rmaudit.layout.answer_slot import Ids, Slot, decode_each, ids_after, ids_after_each
from rmaudit.layout.encoder_pair import PairLayout
from rmaudit.layout.saved_tokenizer import COPY_FILES
from rmaudit.layout.tokenizers import encoded, ids_of_each

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class ChatLayout:
    """A layout by which the tokenizer's chat template puts prompt and answer into one row.

    Every member raises `ModelError` where the tokenizer or its chat template cannot be read.
    See `rmaudit.layout.chat_rendering`. With a `reward_id`, at which some models' reward is read,
    that id follows what the template prints, unless the row ends in it already.
    """

    def __init__(self, folder: Path, spec: ModelSpec, reward_id: int | None = None) -> None:
        """Take the tokenizer's folder, from which nothing is read yet."""
        self.folder, self.spec, self.reward_id = folder, spec, reward_id
        self._slots: dict[tuple[Asked, str], Slot] = {}  # by prompt and template

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer, with the chat template of models.yaml, if any."""
        found, wanted = tokenizers.read(self.folder, self.spec), self.reward_id
        own = getattr(found, "cls_token_id", None)
        if wanted is not None and own not in {None, wanted}:
            raise ModelError(
                f"{self.spec.name}: its reward is to be read at the token {wanted}, and its "
                f"tokenizer's cls_token is {found.cls_token!r}, {own}, at which its makers' code "
                f"reads it: tokenizer and weights are not of one model. {COPY_FILES}"
            )
        return found

    @property
    def digest(self) -> str:
        """Return the hash of the chat template and of the fixed date that templates print."""
        found = chat_template.digest(self.tokenizer, model=self.spec.name)
        if self.reward_id is None:
            return found
        return hashlib.sha256(f"{found} {self.reward_id}".encode()).hexdigest()

    @property
    def closing(self) -> Ids:
        """Return the ids, such as an EOS, that the tokenizer adds at the end of every row."""
        ids = tuple(encoded(self.tokenizer, "").input_ids)
        return ids[1:] if ids[:1] == (self.tokenizer.bos_token_id,) else ids

    def slot(self, prompt: Asked) -> Slot:
        """Return the prompt as token ids, with a hole where the answer's ids go (cached)."""
        key = prompt, str(self.tokenizer.chat_template)
        if key not in self._slots:  # a search asks for one thousands of times
            slot = chat_rendering.render(
                self.tokenizer,
                prompt,
                model=self.spec.name,
                # Nemotron's makers take the template's ids as they are.
                add_missing_bos=self.spec.logit is None,
                is_judge=self.spec.judge is not None,
            )
            end = self._missing_end(slot.suffix)
            text = slot.suffix_text + (self.tokenizer.decode(list(end)) if end else "")
            self._slots[key] = replace(slot, suffix=slot.suffix + end, suffix_text=text)
        return self._slots[key]

    def _missing_end(self, row: Ids) -> Ids:
        """Return the `reward_id` that the row does not end in, or ()."""
        wanted = self.reward_id
        return () if wanted is None or row[-1:] == (wanted,) else (wanted,)

    @cached_property
    def _before(self) -> str:
        """Return what is printed before an answer to "?", the text after which answers stand."""
        return self.slot("?").prefix_text

    def ids(self, text: str) -> Ids:
        """Return the token ids that a text has as an answer, no special tokens added."""
        return ids_after(self.tokenizer, self._before, text)

    def tokenized(self, texts: Sequence[str]) -> list[Ids]:
        """Return the token ids of each of many texts, as `ids` gives them."""
        return ids_after_each(self.tokenizer, self._before, texts)

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """Decode each answer's token ids to text, as in the middle of a row, not at its start."""
        return decode_each(self.tokenizer, answers, at_start=False)

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[Ids]:
        """Return a row of ids for each text: prompt and text, tokenized as one conversation."""
        distinct = list(dict.fromkeys(texts))
        printed = chat_template.printed_texts(
            self.tokenizer, prompt, distinct, model=self.spec.name
        )
        rows = dict(zip(distinct, ids_of_each(self.tokenizer, printed), strict=True))
        return [rows[text] + self._missing_end(rows[text]) for text in texts]


Layout: TypeAlias = ChatLayout | PairLayout


def layout_of(folder: Path, spec: ModelSpec, described: Path) -> Layout:
    """Return the layout for the tokenizer in `folder`, by the config.json in another folder.

    It is of text pairs if config.json in `described` is an encoder's, else of chats, which end in
    the id at which its class reads the reward, if it has one. Without a config.json it is of chats.

    Raises:
        ModelError: config.json cannot be read, or names no such id where its class has one; or
            models.yaml asks for something that an encoder does not have.
    """
    config = {}
    if (described / config_json.NAME).is_file():
        config = config_json.read(described, model=spec.name)
    if encoder.is_known(config):
        return PairLayout(folder, spec)
    return ChatLayout(folder, spec, token_value.reward_id(config))


def decided_by(spec: ModelSpec, folders: Sequence[Path], cache: Path) -> dict[str, str]:
    """Return what determines the rows of an entry's model, by its folders, as cache key fields.

    Files are in them as hashes, so none has to be parsed.
    """
    files = [file_hashes.identity(file_hashes.layout_files(each), cache) for each in folders]
    template = [path] if spec.template and (path := Path(spec.template)).is_file() else []
    return {
        "rmaudit": json_cache.code(),
        "entry": repr(spec),
        "files": " ".join(files),
        "template": file_hashes.identity(template, cache) if template else "",
    }


def split_shared_prefix(rows: Sequence[Ids]) -> tuple[Ids, list[Ids]]:
    """Return the longest prefix that all rows share, and the rest of each, which is never empty."""
    if not rows:
        return (), []
    first, last = min(rows), max(rows)  # what the outermost two share, all share
    length, most = 0, min(map(len, rows)) - 1
    while length < most and first[length] == last[length]:
        length += 1
    return first[:length], [row[length:] for row in rows]
