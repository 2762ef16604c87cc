"""Lay out a prompt and an answer for encoders: [CLS] question [SEP] answer [SEP].

No chat template has a part in it. The tokenizer's pair is tried with a stand-in for the answer: it
must be the two texts, each tokenized by itself, between its own [CLS] and [SEP]. Then what stands
around the answer does not depend on it, and every candidate's ids go in between unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError
from rmaudit.layout import tokenizers
from rmaudit.layout.answer_slot import Ids, Slot, decode_each, ids_alone
from rmaudit.layout.saved_tokenizer import COPY_FILES, read_by
from rmaudit.layout.tokenizers import encoded, ids_of_each

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


_STAND_IN = "answer"
LAYOUT = "the tokenizer's pair: [CLS] question [SEP] answer [SEP]"


class PairLayout:
    """A layout for encoders, by which a row is [CLS] question [SEP] answer [SEP].

    Every member raises `ModelError` where the tokenizer cannot be read, or fails on a text.
    """

    closing: Ids = ()  # the last [SEP] stands after every answer, in a slot too

    def __init__(self, folder: Path, spec: ModelSpec) -> None:
        """Take the tokenizer's folder, from which nothing is read yet.

        Raises:
            ModelError: the registry gives a chat template, or says where the reward is read. A pair
                has no chat template, and its reward is read at its first id.
        """
        asked = {"template": spec.template, "pool": None if spec.pool == "auto" else spec.pool}
        for setting, value in asked.items():
            if value is not None:
                raise ModelError(
                    f"{spec.name}: its entry in models.yaml has `{setting}: {value}`, but it is an "
                    f"encoder that reads {LAYOUT}, pooled at [CLS]; remove `{setting}`"
                )
        self.folder, self.spec = folder, spec

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer."""
        return tokenizers.read(self.folder, self.spec)

    @property
    def digest(self) -> str:
        """Return the hash of the pair layout, which does not depend on the encoder or tokenizer.

        With the tokenizer, it decides what any pair looks like.
        """
        return hashlib.sha256(LAYOUT.encode()).hexdigest()

    def slot(self, prompt: Asked) -> Slot:
        """Return the prompt as token ids: [CLS] prompt [SEP], a hole for the answer, and [SEP].

        Raises:
            ModelError: the prompt is a conversation, or has a [SEP] in it; or the tokenizer has no
                [CLS] or [SEP], or puts the pair together in another way.
        """
        model, text, tokenizer = self.spec.name, self._one_text(prompt), self.tokenizer
        first, end = tokenizer.cls_token_id, tokenizer.sep_token_id
        question, answer = ids_alone(tokenizer, text), ids_alone(tokenizer, _STAND_IN)
        pair = tuple(encoded(tokenizer, text, _STAND_IN).input_ids)
        if None in (first, end) or pair != (first, *question, end, *answer, end):
            raise ModelError(
                f"{model}: it is an encoder that reads {LAYOUT}, but its tokenizer "
                f"({type(tokenizer).__name__}, [CLS] {tokenizer.cls_token!r}, [SEP] "
                f"{tokenizer.sep_token!r}) makes {list(pair)} of {list(question)} and "
                f"{list(answer)}; {COPY_FILES}"
            )
        if end in question:
            raise ModelError(
                f"{model}: the prompt has {tokenizer.sep_token!r} in it, which ends the first text "
                f"of {LAYOUT}; ask without it"
            )
        before = f"{tokenizer.cls_token}{text}{tokenizer.sep_token}"
        after = str(tokenizer.sep_token)
        return Slot(text, (first, *question, end), (end,), before, after, read_by(tokenizer))

    def _one_text(self, prompt: Asked) -> str:
        """Return the prompt, if it is one text (the first of a pair); raise for a conversation."""
        if isinstance(prompt, str):
            return prompt
        message = f"{self.spec.name}: it is an encoder that reads {LAYOUT}, and has no place for "
        raise ModelError(f"{message}the turns of a conversation; ask it a prompt of one text")

    def ids(self, text: str) -> Ids:
        """Return the token ids that a text has as an answer, no special tokens added."""
        return ids_alone(self.tokenizer, text)

    def tokenized(self, texts: Sequence[str]) -> list[Ids]:
        """Return the token ids of each text, as `ids` gives them."""
        return ids_of_each(self.tokenizer, texts, add_special_tokens=False)

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """Decode each answer's token ids to text, as at the start of a text.

        An encoder's answer is a text of its own, the second of a pair.
        """
        return decode_each(self.tokenizer, answers, at_start=True)

    def retokenized(self, prompt: Asked, texts: Sequence[str]) -> list[Ids]:
        """Return a row of ids for each text: prompt and text, tokenized as a pair.

        The authors of the paper have no encoders: where they tokenize a conversation, the pair is
        tokenized here. An empty answer is an empty second text, which a tokenizer would leave out
        if it were given it alone.
        """
        return ids_of_each(self.tokenizer, texts, first=self._one_text(prompt))
