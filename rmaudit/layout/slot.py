"""What a layout gives: a prompt with a hole for the answer, and the vocabulary that may fill it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from rmaudit.errors import SpecError

Response = str | Sequence[int]


@dataclass(frozen=True, slots=True)
class Slot:
    """A prompt in a chat template or an encoder's pair, with a hole where the answer's ids go."""

    prompt: str
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    prefix_text: str
    suffix_text: str

    @property
    def digest(self) -> str:
        """Hash of the rendered ids: equal digests see equal rows."""
        ids = json.dumps([self.prefix, self.suffix])
        return hashlib.sha256(ids.encode()).hexdigest()


def refuse_text(responses: object) -> None:
    """Refuse one text where a list of responses is expected: its letters would be the responses.

    Raises:
        SpecError: it is a text.
    """
    if isinstance(responses, str | bytes):
        message = (
            f"responses: expected a list of texts or of token ids, found the text {responses!r}, "
            f"whose letters would be scored one by one; give a list, [{responses!r}]"
        )
        raise SpecError(message)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Every token id a tokenizer knows, ascending, with its raw piece and its decoded text."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    texts: tuple[str, ...]
