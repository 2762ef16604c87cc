"""Lay out a prompt and an answer for encoders: [CLS] question [SEP] answer [SEP].

No chat template has a part in it. The tokenizer's pair is tried with a stand-in for the answer: it
must be the two texts, each tokenized by itself, between its own [CLS] and [SEP]. Then what stands
around the answer does not depend on it, and every candidate's ids go in between unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError
from rmaudit.layout.answer_slot import Ids, Slot, ids_alone
from rmaudit.layout.saved_tokenizer import COPY_FILES, read_by
from rmaudit.layout.tokenizers import encoded, with_model_errors

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


_STAND_IN = "answer"
_BATCH = 8192  # pairs at a time: what is held twice
LAYOUT = "the tokenizer's pair: [CLS] question [SEP] answer [SEP]"


def refuse_settings(spec: ModelSpec) -> None:
    """Raise if models.yaml gives an encoder a chat template or a pooling setting.

    Raises:
        ModelError: models.yaml gives either. A pair has no chat template, and its reward is
            read at its first id.
    """
    asked = {"template": spec.template, "pool": None if spec.pool == "auto" else spec.pool}
    for setting, value in asked.items():
        if value is not None:
            message = (
                f"{spec.name}: its entry in models.yaml has `{setting}: {value}`, but it is an "
                f"encoder that reads {LAYOUT}, pooled at [CLS]; remove `{setting}`"
            )
            raise ModelError(message)


def one_text(prompt: Asked, *, model: str) -> str:
    """Return the prompt, if it is one text (the first of a pair); raise for a conversation.

    Raises:
        ModelError: the prompt is a conversation.
    """
    if isinstance(prompt, str):
        return prompt
    message = f"{model}: it is an encoder that reads {LAYOUT}, and has no place for the turns of a"
    raise ModelError(f"{message} conversation; ask it a prompt of one text")


@with_model_errors
def render(tokenizer: PreTrainedTokenizerBase, prompt: str, *, model: str) -> Slot:
    """Return the prompt as token ids: [CLS] prompt [SEP], a hole for the answer, and [SEP].

    Raises:
        ModelError: the tokenizer has no [CLS] or [SEP], or puts the pair together in another way.
    """
    first, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    question, answer = ids_alone(tokenizer, prompt), ids_alone(tokenizer, _STAND_IN)
    pair = tuple(encoded(tokenizer, prompt, _STAND_IN).input_ids)
    if None in (first, end) or pair != (first, *question, end, *answer, end):
        message = (
            f"{model}: it is an encoder that reads {LAYOUT}, but its tokenizer "
            f"({type(tokenizer).__name__}, [CLS] {tokenizer.cls_token!r}, [SEP] "
            f"{tokenizer.sep_token!r}) makes {list(pair)} of {list(question)} and {list(answer)}; "
            f"{COPY_FILES}"
        )
        raise ModelError(message)
    if end in question:
        message = (
            f"{model}: the prompt has {tokenizer.sep_token!r} in it, which ends the first text of "
            f"{LAYOUT}; ask without it"
        )
        raise ModelError(message)
    before = f"{tokenizer.cls_token}{prompt}{tokenizer.sep_token}"
    after = str(tokenizer.sep_token)
    return Slot(prompt, (first, *question, end), (end,), before, after, read_by(tokenizer))


@with_model_errors
def rows(tokenizer: PreTrainedTokenizerBase, prompt: str, answers: Sequence[str]) -> list[Ids]:
    """Return the row of token ids for the prompt paired with each answer, in order.

    The paper's authors have no encoders: where they tokenize a conversation, the pair is tokenized
    here. An empty answer is an empty second text, which a tokenizer would leave out if it were
    given it alone.
    """
    distinct = list(dict.fromkeys(answers))
    row_of: dict[str, Ids] = {}
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        pairs = encoded(tokenizer, [prompt] * len(batch), batch).input_ids
        row_of.update(zip(batch, map(tuple, pairs), strict=True))
    return [row_of[answer] for answer in answers]


def digest() -> str:
    """Return a hash of the pair layout ([CLS] question [SEP] answer [SEP]).

    With the tokenizer, it decides what any pair looks like.
    """
    return hashlib.sha256(LAYOUT.encode()).hexdigest()
