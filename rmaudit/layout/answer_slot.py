"""Lay a prompt out with a hole for the answer, and find the token ids of texts in that place.

Alone, a piece of text may get what only the start of a text gets: the dummy space of Llama-2-like
tokenizers ("</s>" becomes "▁", "</s>"). So the whole is tokenized, and the piece's ids are those
between its ends, by the tokenizer's offsets. Where a token reaches over an end (the space in front
of a word, a doubled newline) the place has no ids of its own, and the piece is tokenized apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmaudit.conversation import Asked
from rmaudit.errors import SpecError, refuse_halves
from rmaudit.layout.tokenizers import decoded, encoded

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Ids = tuple[int, ...]
Response = str | Sequence[int]

_ANCHORS = ("\n", "x", ".")  # what a piece tokenized apart may follow, so as not to be a start


@dataclass(frozen=True, slots=True)
class Slot:
    """A prompt as token ids, by a chat template or text pair, with a hole for the answer's ids.

    `by` is "" where transformers' own class gives the ids, too (`saved_tokenizer.read_by`).
    """

    prompt: Asked
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    prefix_text: str
    suffix_text: str
    by: str = ""

    @property
    def digest(self) -> str:
        """Return a hash of the rendered ids; slots with equal hashes give equal rows."""
        ids = json.dumps([self.prefix, self.suffix, *([self.by] if self.by else [])])
        return hashlib.sha256(ids.encode()).hexdigest()

    def row(self, answer: Ids) -> Ids:
        """Return the ids of the whole row, in which `answer` fills the hole."""
        return (*self.prefix, *answer, *self.suffix)


def refuse_text(responses: object) -> None:
    """Raise if `responses` is one text instead of a list, or has a text with half a character.

    Letters of the one text would be scored singly. Half a character is a lone surrogate.

    Raises:
        SpecError: `responses` is a text, or one of its texts has half a character.
    """
    if isinstance(responses, str | bytes):
        raise SpecError(
            f"responses: expected a list of texts or of token ids, found the text {responses!r}, "
            f"whose letters would be scored one by one; give a list, [{responses!r}]"
        )
    if isinstance(responses, Iterable):
        refuse_halves(responses, "responses: the list")


def ids_around(
    tokenizer: PreTrainedTokenizerBase, before: str, middle: str, after: str
) -> tuple[Ids, Ids]:
    """Return the token ids of `before` and of `after`, tokenized with `middle` in between."""
    whole, ids = before + middle + after, ()
    start, end = None, None
    if tokenizer.is_fast:  # others have no offsets
        made = encoded(tokenizer, whole, add_special_tokens=False, return_offsets_mapping=True)
        ids, places = tuple(made.input_ids), (len(before), len(before + middle))
        start, end = _boundaries(made["offset_mapping"], whole, places)
    return (
        ids[:start] if start is not None else ids_alone(tokenizer, before),
        ids[end:] if end is not None else _ids_mid_text(tokenizer, [after])[0],
    )


def ids_after(tokenizer: PreTrainedTokenizerBase, before: str, text: str) -> Ids:
    """Return the token ids of `text` where it follows `before`, no special tokens added."""
    (found,) = ids_after_each(tokenizer, before, [text])
    return found


def ids_after_each(
    tokenizer: PreTrainedTokenizerBase, before: str, texts: Sequence[str]
) -> list[Ids]:
    """Return the token ids of each text where it follows `before`, no special tokens added.

    A fast tokenizer gets many texts behind the end of `before` only.
    """
    if tokenizer.is_fast and len(texts) > 1:
        before = _from_last_added_token(tokenizer, before)
    found = _after(tokenizer, before, texts)
    without = [text for text, ids in zip(texts, found, strict=True) if ids is None]
    mid_text = iter(_ids_mid_text(tokenizer, without))
    return [next(mid_text) if ids is None else ids for ids in found]


def _after(
    tokenizer: PreTrainedTokenizerBase, before: str, texts: Sequence[str]
) -> list[Ids | None]:
    """Return the ids of each text behind `before`; None where a token spans the place."""
    if not texts or not tokenizer.is_fast:  # a slow one has no offsets
        return [None for _ in texts]
    wholes = [before + text for text in texts]
    made = encoded(tokenizer, wholes, add_special_tokens=False, return_offsets_mapping=True)
    found: list[Ids | None] = []
    for whole, ids, offsets in zip(wholes, made["input_ids"], made["offset_mapping"], strict=True):
        (start,) = _boundaries(offsets, whole, [len(before)])
        found.append(None if start is None else tuple(ids[start:]))
    return found


def _from_last_added_token(tokenizer: PreTrainedTokenizerBase, text: str) -> str:
    """Return `text` from its last added token on; the text before it changes no id after it."""
    made = encoded(tokenizer, text, add_special_tokens=False, return_offsets_mapping=True)
    added = tokenizer.added_tokens_decoder
    spans = zip(made.input_ids, made["offset_mapping"], strict=True)
    return text[max((start for i, (start, _) in spans if i in added), default=0) :]


def decode_each(
    tokenizer: PreTrainedTokenizerBase, pieces: Sequence[Sequence[int]], *, at_start: bool
) -> list[str]:
    """Decode each sequence of token ids to text, as if it stood `at_start` of a text, or within.

    Special tokens are included. Within a text, a piece is decoded behind another: decoders take a
    space off the start of a text.
    """
    anchor = () if at_start else ids_alone(tokenizer, "x")
    rows = [list(anchor), *([*anchor, *piece] for piece in pieces)]
    first, *texts = decoded(tokenizer, rows)
    return [text.removeprefix(first) for text in texts]


def _ids_mid_text(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[Ids]:
    """Return the ids of texts in the middle of a text, where no tokenizer adds a space to them."""
    found: dict[str, Ids] = {}
    for anchor in _ANCHORS:
        left = [text for text in dict.fromkeys(texts) if text and text not in found]
        after = zip(left, _after(tokenizer, anchor, left), strict=True)
        found |= {text: ids for text, ids in after if ids is not None}
    return [found[text] if text in found else ids_alone(tokenizer, text) for text in texts]


def ids_alone(tokenizer: PreTrainedTokenizerBase, text: str) -> Ids:
    """Return the token ids of a text by itself, no special tokens added."""
    return tuple(encoded(tokenizer, text, add_special_tokens=False).input_ids)


def _boundaries(
    offsets: Sequence[tuple[int, int]], text: str, places: Sequence[int]
) -> list[int | None]:
    """Return the index of the id that starts at each character index in `places`.

    It is None where a token spans the place. A gap is no boundary: some tokenizers leave a token's
    space out of its offsets.
    """
    ends = [0, *(end for _, end in offsets)]
    starts = [*(start for start, _ in offsets), len(text)]
    firsts: list[int | None] = []
    for place in places:
        index = next(i for i, start in enumerate(starts) if start >= place)
        firsts.append(index if ends[index] == place == starts[index] else None)
    return firsts
