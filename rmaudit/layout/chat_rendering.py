"""Render a prompt by the chat template, as token ids with a hole for the answer.

A prompt is a text of the user's, or a conversation that ends with one.

Exact protocol: the template is rendered with a stand-in for the answer; what stands before and
after it is tokenized, with one BOS, and every candidate's ids go in between unchanged. That holds
only if the template prints the same around every answer, so it is tried with answers that differ
in length and first letter (`layout.template_checks`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

from rmaudit.checkpoints.third_party_errors import brief, short
from rmaudit.conversation import SYSTEM, Asked, messages
from rmaudit.errors import ModelError
from rmaudit.layout import template_checks, untrusted_code
from rmaudit.layout.answer_slot import Slot, ids_around
from rmaudit.layout.saved_tokenizer import read_by
from rmaudit.layout.template_checks import GIVE_ANOTHER
from rmaudit.layout.tokenizers import encoded, with_model_errors

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_STAND_IN = "rmauditanswer"  # no template has reason to change it
_TURNS = ("rmauditfirst", "rmauditanswer", "rmauditnext")  # of a user, an assistant, a user
_MOST_CHARACTERS = 1_000_000  # characters of a template; real ones have at most tens of thousands
_EMPTY_THOUGHT = re.compile(r"<think>\s*</think>\s*\Z")
_ARTICLES = {"system": "a system", "user": "a user", "assistant": "an assistant"}
_WAY_OUT = {  # where a template prints no such turn
    "system": "put what the system says at the start of the first user turn",
    "user": "ask another prompt, or give a template with `template: FILE.jinja` in models.yaml",
    "assistant": "leave the earlier turns out, or give a template with `template: FILE.jinja` in "
    "models.yaml",
}
# Templates print a date (Llama-3.1), or even today's (Llama-3.2): pinned, or scores would age.
TODAY = date(2024, 7, 26)


@with_model_errors
def render(
    tokenizer: PreTrainedTokenizerBase,
    prompt: Asked,
    *,
    model: str,
    add_missing_bos: bool = True,
    is_judge: bool = False,
) -> Slot:
    """Render `prompt` by the chat template, as token ids with a hole for the answer's ids.

    `prompt` is a text by the user or a whole conversation. Where the template prints no BOS, the
    tokenizer's own is added if `add_missing_bos`. A judge's template goes on after the answer with
    the assistant's turn, in which the verdict stands.

    Raises:
        ModelError: the tokenizer has no chat template, or the template hides the answer, prints
            something else around another one, draws at random, does not come to an end, opens
            another turn of the assistant after the answer (unless `is_judge`), or refuses or leaves
            out a turn of a conversation.
    """
    stand_in, said = _STAND_IN, messages(prompt)
    while any(stand_in in turn["content"] for turn in said):
        stand_in += "x"
    template = _template(tokenizer, model)
    template_checks.refuse_randomness(template, model=model)
    answers = [stand_in, *template_checks.TEST_ANSWERS]
    printed = [  # chance, and an object's address, are others in another process
        text
        for process in (0, 1)
        for text in printed_texts(tokenizer, prompt, answers, model=model, process=process)
    ]
    parts = printed[0].split(stand_in)
    if len(parts) != 2:  # noqa: PLR2004  (before and after)
        message = (
            f"{model}: its chat template prints the assistant's answer {len(parts) - 1} times; "
            f"it must print it once. Give another with `template: FILE.jinja` in models.yaml"
        )
        raise ModelError(message)
    before, after = parts
    template_checks.refuse_answer_dependence(printed, answers + answers, before, after, model=model)
    lost = next((turn for turn in said if turn["content"].strip() not in before), None)
    if lost and len(said) > 1:  # some templates change the spaces of a prompt of one text
        message = (
            f"{model}: its chat template leaves out the {lost['role']} turn of the prompt, "
            f"{short(lost['content'], 60)!r}; {_WAY_OUT[lost['role']]}"
        )
        raise ModelError(message)
    if not is_judge and (opened := _reopened_turn(tokenizer, template, model)):
        message = (
            f"{model}: its chat template goes on after the answer and opens another turn of the "
            f"assistant, {opened!r}, though none was asked for (add_generation_prompt is false): "
            f"rewards would be read from an answer that is not there. Give a template that ends "
            f"with the answer's turn: `template: FILE.jinja` in models.yaml"
        )
        raise ModelError(message)
    prefix, suffix = ids_around(tokenizer, before, stand_in, after)
    if add_missing_bos:
        prefix = _missing_bos(tokenizer, before) + prefix
    if not prefix:
        message = (
            f"{model}: its chat template prints nothing before the answer, not even the prompt. "
            f"Give another with `template: FILE.jinja` in models.yaml"
        )
        raise ModelError(message)
    return Slot(prompt, prefix, suffix, before, after, read_by(tokenizer))


def printed_texts(
    tokenizer: PreTrainedTokenizerBase,
    prompt: Asked,
    answers: Sequence[str],
    *,
    model: str,
    process: int = 0,
) -> list[str]:
    """Return what the template prints for `prompt` and each answer, in child process `process`.

    It is printed on the pinned day `TODAY`.

    Raises:
        ModelError: the tokenizer has no chat template, or it fails, or takes too much memory or
            time.
    """
    before = messages(prompt)
    said = [[*before, {"role": "assistant", "content": answer}] for answer in answers]
    return _rendered(tokenizer, said, model, process=process)


def printed_user_turn(tokenizer: PreTrainedTokenizerBase, *, model: str) -> str:
    """Return the text that the chat template prints for a single turn of the user.

    With a judge's template, this text ends where the model begins its own turn.

    Raises:
        ModelError: as `printed_texts`.
    """
    return _rendered(tokenizer, [messages(_STAND_IN)], model)[0]


def template_digest(tokenizer: PreTrainedTokenizerBase, *, model: str) -> str:
    """Return a hash of the chat template and of the fixed date that templates print.

    With the tokenizer, these decide what any conversation looks like.

    Raises:
        ModelError: the tokenizer has no chat template.
    """
    decides = f"{TODAY.isoformat()}\n{_template(tokenizer, model)}"
    return hashlib.sha256(decides.encode()).hexdigest()


def _rendered(
    tokenizer: PreTrainedTokenizerBase,
    conversations: Sequence[Sequence[Mapping[str, str]]],
    model: str,
    *,
    process: int = 0,
) -> list[str]:
    """Return each conversation as the chat template prints it, in child process `process`."""
    template = _template(tokenizer, model)
    settings = {**tokenizer.special_tokens_map, "date_string": TODAY.strftime("%d %b %Y")}
    try:
        if _prints_itself(tokenizer):
            printed = tokenizer.apply_chat_template(
                conversations, tokenize=False, chat_template=template, **settings
            )
        else:
            printed = untrusted_code.printed(conversations, template, settings, process=process)
        "".join(printed).encode()  # half a character is no text that could be tokenized
    except untrusted_code.RefusedError as error:
        message = f"{model}: its chat template takes too much: {error}; {GIVE_ANOTHER}"
        raise ModelError(message) from error
    except Exception as error:
        said = short((str(error).splitlines() or [type(error).__name__])[0], 300)
        roles = [turn["role"] for turn in conversations[0]]
        what = " and ".join(_ARTICLES[role] for role in dict.fromkeys(roles))
        hint = f"; {_WAY_OUT[SYSTEM]}" if SYSTEM in roles else ""
        message = f"{model}: its chat template failed on {what} turn: {said}{hint}"
        raise ModelError(message) from error
    return [str(text) for text in printed]


def _prints_itself(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the tokenizer's class prints conversations by its own, trusted code."""
    from transformers import PreTrainedTokenizerBase as Plain

    return type(tokenizer).apply_chat_template is not Plain.apply_chat_template


def _template(tokenizer: PreTrainedTokenizerBase, model: str) -> str:
    """Return the chat template, with its date function `strftime_now` pinned to `TODAY`.

    transformers passes no functions into a template, so a macro takes the function's place.
    """
    if not tokenizer.chat_template:
        message = (
            f"{model}: its tokenizer has no chat template, so rmaudit cannot know how a prompt "
            f"and an answer are laid out. Give one: save it as chat_template.jinja in the "
            f"checkpoint folder, or add `template: FILE.jinja` to the model's entry in models.yaml"
        )
        raise ModelError(message)
    try:
        template = str(tokenizer.get_chat_template())
        template.encode()
    except (ValueError, TypeError) as error:  # named ones without a default; a lone surrogate
        named = tokenizer.chat_template
        found = (
            f"it has those named {', '.join(named)}" if isinstance(named, dict) else brief(error)
        )
        message = (
            f"{model}: its tokenizer has no chat template that can be used ({short(found, 300)}); "
            f"give one with `template: FILE.jinja` in models.yaml"
        )
        raise ModelError(message) from error
    if len(template) > _MOST_CHARACTERS:
        message = f"{model}: its chat template has {len(template):,} characters, and rmaudit reads "
        raise ModelError(f"{message}{_MOST_CHARACTERS:,}; {GIVE_ANOTHER}")
    if "strftime_now" not in template:
        return template
    date_of = "".join(f" | replace('%{d}', '{TODAY.strftime('%' + d)}')" for d in "AaBbdHjMmpSYy")
    return f"{{%- macro strftime_now(form) -%}}{{{{ form{date_of} }}}}{{%- endmacro -%}}{template}"


@lru_cache(maxsize=4)
def _reopened_turn(tokenizer: PreTrainedTokenizerBase, template: str, model: str) -> str:  # noqa: ARG001  (the key of the cache)
    """Return what a template prints after the answer to open an assistant turn; "" if nothing.

    It is the same for all prompts, so it is computed once for a tokenizer and its `template`.
    Llama-3.1 had one.

    Suspicious is a text after the answer that ends like the one between prompt and answer, more
    than white space, empty thoughts aside. It is innocent, a separator or an end of turn, if it
    also stands between the answer and a following turn of the user; a template that prints one
    turn only says nothing about that.
    """
    first, answer, following = _TURNS
    both = [*messages(first), {"role": "assistant", "content": answer}]
    before, _, after = _rendered(tokenizer, [both], model)[0].partition(answer)
    opening = _EMPTY_THOUGHT.sub("", before.rpartition(first)[2]) if first in before else ""
    if not opening.strip() or not _EMPTY_THOUGHT.sub("", after).endswith(opening):
        return ""
    try:
        longer = _rendered(tokenizer, [[*both, *messages(following)]], model)[0]
    except ModelError:
        return ""
    between, found, _ = longer.partition(answer)[2].partition(following)
    return opening if found and not between.startswith(after) else ""


def _missing_bos(tokenizer: PreTrainedTokenizerBase, before: str) -> tuple[int, ...]:
    """Return the BOS id if the tokenizer adds one and the template does not print it, else ()."""
    bos = tokenizer.bos_token
    if bos is None or before.lstrip().startswith(bos):
        return ()
    adds = list(encoded(tokenizer, "").input_ids)[:1] == [tokenizer.bos_token_id]
    return (int(tokenizer.bos_token_id),) if adds else ()
