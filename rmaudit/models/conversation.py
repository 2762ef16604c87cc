"""From a prompt to a slot: the chat template rendered around a hole for the answer.

Exact protocol: the template is rendered once with a stand-in for the answer; what stands before
and after it is tokenized, with one BOS, and every candidate's ids go in between unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmaudit.errors import ModelError
from rmaudit.models.protocol import Slot

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_STAND_IN = "rmauditanswer"
# Llama-3.1's template prints a date, by default today's in 3.2: pinned, or scores would age.
DATE = "26 Jul 2024"


def render(tokenizer: PreTrainedTokenizerBase, prompt: str, *, model: str) -> Slot:
    """The slot of a one-turn conversation: `prompt` by the user, then the answer.

    Raises:
        ModelError: the tokenizer has no chat template, or the template hides the answer.
    """
    if not tokenizer.chat_template:
        message = (
            f"{model}: its tokenizer has no chat template, so rmaudit cannot know how a prompt "
            f"and an answer are laid out. Give one: save it as chat_template.jinja in the "
            f"checkpoint folder, or add `template: FILE.jinja` to the model's entry in models.yaml"
        )
        raise ModelError(message)
    turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": _STAND_IN}]
    try:
        text = tokenizer.apply_chat_template(turns, tokenize=False, date_string=DATE)
    except Exception as error:
        message = f"{model}: its chat template failed on a user and an assistant turn: {error}"
        raise ModelError(message) from error
    parts = str(text).split(_STAND_IN)
    if len(parts) != 2:  # noqa: PLR2004  (before and after)
        message = (
            f"{model}: its chat template prints the assistant's answer {len(parts) - 1} times; "
            f"it must print it once. Give another with `template: FILE.jinja` in models.yaml"
        )
        raise ModelError(message)
    before, after = parts
    prefix = _bos(tokenizer, before) + _ids(tokenizer, before)
    return Slot(prompt, prefix, _ids(tokenizer, after), before, after)


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False).input_ids)


def _bos(tokenizer: PreTrainedTokenizerBase, before: str) -> tuple[int, ...]:
    """The BOS id where the tokenizer adds one and the template does not print it."""
    bos = tokenizer.bos_token
    if bos is None or before.startswith(bos):
        return ()
    adds = list(tokenizer("").input_ids)[:1] == [tokenizer.bos_token_id]
    return (int(tokenizer.bos_token_id),) if adds else ()
