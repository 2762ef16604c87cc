"""Lay out and tokenize each answer's text as one conversation, as the paper's protocol does.

Christian et al. 2025 score a token id as their code has it (reward_model_support.py): the id is
decoded, the chat template prints the conversation (many trim the answer), and the tokenizer reads
that text with its own special tokens, so where the template prints a BOS there are two. Many ids
become others on this way, or share a row with others; `scores.token_survival` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rmaudit.conversation import Asked
from rmaudit.layout import chat
from rmaudit.layout.tokenizers import failures_told

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Row = tuple[int, ...]

_BATCH = 8192  # conversations at a time: what is held twice


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
