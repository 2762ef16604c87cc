"""The two layouts of a prompt and an answer: a chat template, or an encoder's pair of texts.

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
from rmaudit.checkpoints import file_hashes
from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError
from rmaudit.layout import chat_rendering, encoder_pair, tokenizers
from rmaudit.layout.answer_slot import Ids, Slot, decode_each, ids_after, ids_after_each, ids_alone
from rmaudit.layout.saved_tokenizer import COPY_FILES
from rmaudit.layout.tokenizers import encoded, with_model_errors

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


_BATCH = 8192  # conversations at a time: what is held twice


def layout_in(
    folder: Path, spec: ModelSpec, *, pairs: bool, reward_id: int | None = None
) -> Layout:
    """Return the layout for the tokenizer in a folder: of text pairs for encoders, else of chats.

    Rows of chats end in `reward_id`, if it is given (see `ChatLayout`).

    Raises:
        ModelError: the registry asks for something that an encoder does not have.
    """
    return PairLayout(folder, spec) if pairs else ChatLayout(folder, spec, reward_id)


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
            message = (
                f"{self.spec.name}: its reward is to be read at the token {wanted}, and its "
                f"tokenizer's cls_token is {found.cls_token!r}, {own}, at which its makers' code "
                f"reads it: tokenizer and weights are not of one model. {COPY_FILES}"
            )
            raise ModelError(message)
        return found

    @property
    def digest(self) -> str:
        """Return the hash of the chat template and of the fixed date that templates print."""
        found = chat_rendering.template_digest(self.tokenizer, model=self.spec.name)
        if self.reward_id is None:
            return found
        return hashlib.sha256(f"{found} {self.reward_id}".encode()).hexdigest()

    @property
    def closing(self) -> Ids:
        """Return the ids, such as an EOS, that the tokenizer adds at the end of a whole row."""
        return closing_ids(self.tokenizer)

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
        found = rows(self.tokenizer, prompt, texts, model=self.spec.name)
        return [row + self._missing_end(row) for row in found]


class PairLayout:
    """A layout for encoders, by which a row is [CLS] question [SEP] answer [SEP].

    See `rmaudit.layout.encoder_pair`. There is no chat template.
    """

    closing: Ids = ()  # the last [SEP] stands after every answer, in a slot too

    def __init__(self, folder: Path, spec: ModelSpec) -> None:
        """Take the tokenizer's folder, from which nothing is read yet.

        Raises:
            ModelError: the registry gives a chat template, or says where the reward is read.
        """
        encoder_pair.refuse_settings(spec)
        self.folder, self.spec = folder, spec

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer."""
        return tokenizers.read(self.folder, self.spec)

    @property
    def digest(self) -> str:
        """Return the hash of the pair layout, which does not depend on the encoder or tokenizer."""
        return encoder_pair.digest()

    def slot(self, prompt: Asked) -> Slot:
        """Return the prompt as token ids, with a hole where the answer's ids go."""
        text = encoder_pair.one_text(prompt, model=self.spec.name)
        return encoder_pair.render(self.tokenizer, text, model=self.spec.name)

    def ids(self, text: str) -> Ids:
        """Return the token ids that a text has as an answer, no special tokens added."""
        return ids_alone(self.tokenizer, text)

    def tokenized(self, texts: Sequence[str]) -> list[Ids]:
        """Return the token ids of each text, as `ids` gives them."""
        if not texts:
            return []
        ids = encoded(self.tokenizer, list(texts), add_special_tokens=False).input_ids
        return [tuple(each) for each in ids]

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """Decode each answer's token ids to text, as at the start of a text.

        An encoder's answer is a text of its own, the second of a pair.
        """
        return decode_each(self.tokenizer, answers, at_start=True)

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[Ids]:
        """Return a row of ids for each text: prompt and text, tokenized as a pair."""
        text = encoder_pair.one_text(prompt, model=self.spec.name)
        return encoder_pair.rows(self.tokenizer, text, texts)


Layout: TypeAlias = ChatLayout | PairLayout


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


@with_model_errors
def rows(
    tokenizer: PreTrainedTokenizerBase, prompt: Asked, answers: Sequence[str], *, model: str
) -> list[Ids]:
    """Return each answer's row of ids: prompt and answer, printed by the chat template, tokenized.

    Equal answers are printed once and equal conversations tokenized once.

    Raises:
        ModelError: the tokenizer has no chat template, or it fails.
    """
    distinct = list(dict.fromkeys(answers))
    row_of: dict[str, Ids] = {}
    of_text: dict[str, Ids] = {}
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        printed = chat_rendering.printed_texts(tokenizer, prompt, batch, model=model)
        new = [text for text in dict.fromkeys(printed) if text not in of_text]
        if new:
            of_text.update(zip(new, map(tuple, encoded(tokenizer, new).input_ids), strict=True))
        row_of.update(zip(batch, map(of_text.__getitem__, printed), strict=True))
    return [row_of[answer] for answer in answers]


@with_model_errors
def closing_ids(tokenizer: PreTrainedTokenizerBase) -> Ids:
    """Return the ids that the tokenizer appends to every text, such as an EOS; mostly ()."""
    ids = tuple(encoded(tokenizer, "").input_ids)
    return ids[1:] if ids[:1] == (tokenizer.bos_token_id,) else ids


def split_shared_prefix(rows: Sequence[Ids]) -> tuple[Ids, list[Ids]]:
    """Return the longest prefix that all rows share, and the rest of each, which is never empty."""
    if not rows:
        return (), []
    first, last = min(rows), max(rows)  # what the outermost two share, all share
    length, most = 0, min(map(len, rows)) - 1
    while length < most and first[length] == last[length]:
        length += 1
    return first[:length], [row[length:] for row in rows]
