"""From a prompt to a slot: the chat template rendered around a hole for the answer.

Exact protocol: the template is rendered once with a stand-in for the answer; what stands before
and after it is tokenized, with one BOS, and every candidate's ids go in between unchanged.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from rmaudit.errors import ModelError
from rmaudit.models.protocol import Slot

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_STAND_IN = "rmauditanswer"  # no template has reason to change it
# Templates print a date (Llama-3.1), or even today's (Llama-3.2): pinned, or scores would age.
TODAY = date(2024, 7, 26)


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
    stand_in = _STAND_IN
    while stand_in in prompt:
        stand_in += "x"
    turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": stand_in}]
    try:
        text = tokenizer.apply_chat_template(
            turns,
            tokenize=False,
            chat_template=_dated(str(tokenizer.get_chat_template())),
            date_string=TODAY.strftime("%d %b %Y"),
        )
    except Exception as error:
        message = f"{model}: its chat template failed on a user and an assistant turn: {error}"
        raise ModelError(message) from error
    parts = str(text).split(stand_in)
    if len(parts) != 2:  # noqa: PLR2004  (before and after)
        message = (
            f"{model}: its chat template prints the assistant's answer {len(parts) - 1} times; "
            f"it must print it once. Give another with `template: FILE.jinja` in models.yaml"
        )
        raise ModelError(message)
    before, after = parts
    prefix = _bos(tokenizer, before) + _ids(tokenizer, before)
    if not prefix:
        message = (
            f"{model}: its chat template prints nothing before the answer, not even the prompt. "
            f"Give another with `template: FILE.jinja` in models.yaml"
        )
        raise ModelError(message)
    return Slot(prompt, prefix, _ids(tokenizer, after), before, after)


def _dated(template: str) -> str:
    """The template with `strftime_now`, which some call for today's date, pinned to `TODAY`.

    transformers passes no functions into a template, so a macro takes the function's place.
    """
    if "strftime_now" not in template:
        return template
    date_of = "".join(f" | replace('%{d}', '{TODAY.strftime('%' + d)}')" for d in "AaBbdHjMmpSYy")
    return f"{{%- macro strftime_now(form) -%}}{{{{ form{date_of} }}}}{{%- endmacro -%}}{template}"


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False).input_ids)


def _bos(tokenizer: PreTrainedTokenizerBase, before: str) -> tuple[int, ...]:
    """The BOS id where the tokenizer adds one and the template does not print it."""
    bos = tokenizer.bos_token
    if bos is None or before.startswith(bos):
        return ()
    adds = list(tokenizer("").input_ids)[:1] == [tokenizer.bos_token_id]
    return (int(tokenizer.bos_token_id),) if adds else ()
