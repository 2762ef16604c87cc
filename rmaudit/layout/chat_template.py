"""Return what a chat template prints for conversations, on a pinned day, in a child process.

transformers' own code prints it (`layout.untrusted_code_child`), under limits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from rmaudit.checkpoints.third_party_errors import brief, short
from rmaudit.conversation import SYSTEM, Asked, messages
from rmaudit.errors import ModelError
from rmaudit.layout import untrusted_code

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

GIVE_ANOTHER = "give another with `template: FILE.jinja` in models.yaml"
WAY_OUT = {  # where a template prints no such turn
    "system": "put what the system says at the start of the first user turn",
    "user": "ask another prompt, or give a template with `template: FILE.jinja` in models.yaml",
    "assistant": "leave the earlier turns out, or give a template with `template: FILE.jinja` in "
    "models.yaml",
}
_ARTICLES = {"system": "a system", "user": "a user", "assistant": "an assistant"}
_MOST_CHARACTERS = 1_000_000  # characters of a template; real ones have at most tens of thousands
# Templates print a date (Llama-3.1), or even today's (Llama-3.2): pinned, or scores would age.
TODAY = date(2024, 7, 26)


def printed_texts(
    tokenizer: PreTrainedTokenizerBase,
    prompt: Asked,
    answers: Sequence[str],
    *,
    model: str,
    process: int = 0,
) -> list[str]:
    """Return what the template prints for `prompt` and each answer. Raises as `printed`."""
    before = messages(prompt)
    said = [[*before, {"role": "assistant", "content": answer}] for answer in answers]
    return printed(tokenizer, said, model, process=process)


def digest(tokenizer: PreTrainedTokenizerBase, *, model: str) -> str:
    """Return a hash of the chat template and of the fixed date that templates print.

    With the tokenizer, these decide what any conversation looks like.

    Raises:
        ModelError: the tokenizer has no chat template.
    """
    decides = f"{TODAY.isoformat()}\n{pinned(tokenizer, model)}"
    return hashlib.sha256(decides.encode()).hexdigest()


def printed(
    tokenizer: PreTrainedTokenizerBase,
    conversations: Sequence[Sequence[Mapping[str, str]]],
    model: str,
    *,
    process: int = 0,
) -> list[str]:
    """Return each conversation as the chat template prints it on the day `TODAY`.

    It is printed in child process number `process`.

    Raises:
        ModelError: the tokenizer has no chat template, or it fails, or takes too much memory or
            time.
    """
    from transformers import PreTrainedTokenizerBase as Plain

    template = pinned(tokenizer, model)
    settings = {**tokenizer.special_tokens_map, "date_string": TODAY.strftime("%d %b %Y")}
    try:
        if type(tokenizer).apply_chat_template is not Plain.apply_chat_template:  # its own code
            texts = tokenizer.apply_chat_template(
                conversations, tokenize=False, chat_template=template, **settings
            )
        else:
            texts = untrusted_code.printed(conversations, template, settings, process=process)
        "".join(texts).encode()  # half a character is no text that could be tokenized
    except untrusted_code.RefusedError as error:
        message = f"{model}: its chat template takes too much: {error}; {GIVE_ANOTHER}"
        raise ModelError(message) from error
    except Exception as error:
        said = short((str(error).splitlines() or [type(error).__name__])[0], 300)
        roles = [turn["role"] for turn in conversations[0]]
        what = " and ".join(_ARTICLES[role] for role in dict.fromkeys(roles))
        hint = f"; {WAY_OUT[SYSTEM]}" if SYSTEM in roles else ""
        message = f"{model}: its chat template failed on {what} turn: {said}{hint}"
        raise ModelError(message) from error
    return [str(text) for text in texts]


def pinned(tokenizer: PreTrainedTokenizerBase, model: str) -> str:
    """Return the chat template, with its date function `strftime_now` pinned to `TODAY`.

    transformers passes no functions into a template, so a macro takes the function's place.

    Raises:
        ModelError: the tokenizer has none that can be used, or one of a million characters.
    """
    if not tokenizer.chat_template:
        raise ModelError(
            f"{model}: its tokenizer has no chat template, so rmaudit cannot know how a prompt "
            f"and an answer are laid out. Give one: save it as chat_template.jinja in the "
            f"checkpoint folder, or add `template: FILE.jinja` to the model's entry in models.yaml"
        )
    try:
        template = str(tokenizer.get_chat_template())
        template.encode()
    except (ValueError, TypeError) as error:  # named ones without a default; a lone surrogate
        named = tokenizer.chat_template
        found = (
            f"it has those named {', '.join(named)}" if isinstance(named, dict) else brief(error)
        )
        raise ModelError(
            f"{model}: its tokenizer has no chat template that can be used ({short(found, 300)}); "
            f"give one with `template: FILE.jinja` in models.yaml"
        ) from error
    if len(template) > _MOST_CHARACTERS:
        message = f"{model}: its chat template has {len(template):,} characters, and rmaudit reads "
        raise ModelError(f"{message}{_MOST_CHARACTERS:,}; {GIVE_ANOTHER}")
    if "strftime_now" not in template:
        return template
    date_of = "".join(f" | replace('%{d}', '{TODAY.strftime('%' + d)}')" for d in "AaBbdHjMmpSYy")
    return f"{{%- macro strftime_now(form) -%}}{{{{ form{date_of} }}}}{{%- endmacro -%}}{template}"
