"""The two layouts of a prompt and an answer: a chat template, or an encoder's pair of texts.

Both are made without reading anything; the tokenizer is read when it is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rmaudit.config.registry import ModelSpec
from rmaudit.conversation import Asked
from rmaudit.layout import chat, pair, tokenizers
from rmaudit.layout.slot import Slot, following, following_each, read_back
from rmaudit.layout.tokenizers import failures_told

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Row = tuple[int, ...]

_BATCH = 8192  # conversations at a time: what is held twice
Ids = tuple[int, ...]


class Layout(Protocol):
    """How a prompt and an answer become one row of token ids.

    Every member raises `ModelError` where the tokenizer or its chat template cannot be read.
    """

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer, with the registry's chat template if it gives one."""

    @property
    def digest(self) -> str:
        """Hash of what decides, together with tokenizer and prompt, the rows of `retokenized`."""

    @property
    def closing(self) -> Ids:
        """The ids that the tokenizer puts at the end of every row of `retokenized`: mostly none."""

    def slot(self, prompt: Asked) -> Slot:
        """The prompt with a hole for the answer."""

    def ids(self, text: str) -> Ids:
        """The ids of a text where an answer stands, no special tokens added."""

    def tokenized(self, texts: Sequence[str]) -> list[Ids]:
        """The `ids` of each text, of many at once."""

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """What each answer's ids read as where an answer stands, special tokens included."""

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[Ids]:
        """The paper's protocol: the whole row of ids that each text becomes as the answer."""


def layout_in(folder: Path, spec: ModelSpec, *, pairs: bool) -> Layout:
    """Return the layout of a folder's tokenizer; `pairs` for an encoder that reads pairs of texts.

    Raises:
        ModelError: the registry asks for something that an encoder does not have.
    """
    return Pair(folder, spec) if pairs else Chat(folder, spec)


class Chat:
    """A conversation as the chat template prints it (`rmaudit.layout.chat`)."""

    def __init__(self, folder: Path, spec: ModelSpec) -> None:
        """`folder` has the tokenizer; nothing is read yet."""
        self.folder, self.spec = folder, spec
        self._slots: dict[tuple[Asked, str], Slot] = {}  # by prompt and template

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """See `Layout`."""
        return tokenizers.read(self.folder, self.spec)

    @property
    def digest(self) -> str:
        """Of the chat template and the day that it is given."""
        return chat.template_digest(self.tokenizer, model=self.spec.name)

    @property
    def closing(self) -> Ids:
        """Such as an EOS."""
        return closing(self.tokenizer)

    def slot(self, prompt: Asked) -> Slot:
        """See `Layout`."""
        key = prompt, str(self.tokenizer.chat_template)
        if key not in self._slots:  # a search asks for one thousands of times
            self._slots[key] = chat.render(
                self.tokenizer,
                prompt,
                model=self.spec.name,
                adds_bos=self.spec.logit
                is None,  # whose makers take the template's ids as they are
            )
        return self._slots[key]

    @cached_property
    def _before(self) -> str:
        """A text as stands before answers."""
        return self.slot("?").prefix_text

    def ids(self, text: str) -> Ids:
        """See `Layout`."""
        return following(self.tokenizer, self._before, text)

    def tokenized(self, texts: Sequence[str]) -> list[Ids]:
        """See `Layout`."""
        return following_each(self.tokenizer, self._before, texts)

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """See `Layout`."""
        return read_back(self.tokenizer, answers, alone=False)

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[Ids]:
        """See `Layout`."""
        return rows(self.tokenizer, prompt, texts, model=self.spec.name)


class Pair:
    """[CLS] question [SEP] answer [SEP], without a chat template (`rmaudit.layout.pair`)."""

    closing: Ids = ()  # the last [SEP] stands after every answer, in a slot too

    def __init__(self, folder: Path, spec: ModelSpec) -> None:
        """`folder` has the tokenizer; nothing is read yet.

        Raises:
            ModelError: the registry gives a chat template, or says where the reward is read.
        """
        pair.refuse_settings(spec)
        self.folder, self.spec = folder, spec

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """See `Layout`."""
        return tokenizers.read(self.folder, self.spec)

    @property
    def digest(self) -> str:
        """Of the layout itself, which is the same for every encoder."""
        return pair.digest()

    def slot(self, prompt: Asked) -> Slot:
        """See `Layout`."""
        text = pair.one_text(prompt, model=self.spec.name)
        return pair.render(self.tokenizer, text, model=self.spec.name)

    def ids(self, text: str) -> Ids:
        """See `Layout`."""
        return pair.ids(self.tokenizer, text)

    def tokenized(self, texts: Sequence[str]) -> list[Ids]:
        """See `Layout`."""
        return [self.ids(text) for text in texts]

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """See `Layout`; each stands alone, for a pair's second text is the start of one."""
        return read_back(self.tokenizer, answers, alone=True)

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[Ids]:
        """See `Layout`."""
        text = pair.one_text(prompt, model=self.spec.name)
        return pair.rows(self.tokenizer, text, texts)


@failures_told
def rows(
    tokenizer: PreTrainedTokenizerBase, prompt: Asked, answers: Sequence[str], *, model: str
) -> list[Row]:
    """Return each answer's whole row of ids, prompt included, in the order of `answers`.

    Equal answers are printed once and equal conversations tokenized once.

    Raises:
        ModelError: the tokenizer has no chat template, or it fails.
    """
    distinct = list(dict.fromkeys(answers))
    row_of: dict[str, Row] = {}
    of_text: dict[str, Row] = {}
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        printed = chat.texts(tokenizer, prompt, batch, model=model)
        new = [text for text in dict.fromkeys(printed) if text not in of_text]
        if new:
            of_text.update(zip(new, map(tuple, tokenizer(new).input_ids), strict=True))
        row_of.update(zip(batch, map(of_text.__getitem__, printed), strict=True))
    return [row_of[answer] for answer in answers]


@failures_told
def closing(tokenizer: PreTrainedTokenizerBase) -> Row:
    """Return the ids that the tokenizer appends to every text, such as an EOS: mostly none."""
    ids = tuple(tokenizer("").input_ids)
    return ids[1:] if ids[:1] == (tokenizer.bos_token_id,) else ids


def split(rows: Sequence[Row]) -> tuple[Row, list[Row]]:
    """Return the longest prefix that leaves each row at least one id, and the rows without it."""
    if not rows:
        return (), []
    first, last = min(rows), max(rows)  # what the outermost two share, all share
    length, most = 0, min(map(len, rows)) - 1
    while length < most and first[length] == last[length]:
        length += 1
    return first[:length], [row[length:] for row in rows]
