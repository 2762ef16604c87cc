"""Render a prompt by the chat template, as token ids with a hole for the answer.

A prompt is a text of the user's, or a conversation that ends with one.

Exact protocol: the template is rendered with a stand-in for the answer; what stands before and
after it is tokenized, with one BOS, and every candidate's ids go in between unchanged. That holds
only if the template prints the same around every answer. A template is a program that sees the
whole conversation: one that looks at the answer, or draws at random, would lay out each answer in
another way. So it is tried with answers that differ in length and first letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.conversation import Asked, messages
from rmaudit.errors import ModelError
from rmaudit.layout.answer_slot import Slot, ids_around
from rmaudit.layout.chat_template import GIVE_ANOTHER, WAY_OUT, pinned, printed, printed_texts
from rmaudit.layout.saved_tokenizer import read_by
from rmaudit.layout.tokenizers import encoded

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_STAND_IN = "rmauditanswer"  # no template has reason to change it
_TURNS = ("rmauditfirst", _STAND_IN, "rmauditnext")  # of a user, an assistant, a user
# Of different lengths and first letters; no template has a reason to treat one in its own way.
_TEST_ANSWERS = (
    *("Q", "7", "it", "\u00e9t\u00e9", "\u611b", "Yes", "no, not at all.", "love " * 60 + "end"),
)
_EMPTY_THOUGHT = re.compile(r"<think>\s*</think>\s*\Z")


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
    template = pinned(tokenizer, model)
    _refuse_randomness(template, model=model)
    answers = [stand_in, *_TEST_ANSWERS]
    texts = [  # chance, and an object's address, are others in another process
        text
        for process in (0, 1)
        for text in printed_texts(tokenizer, prompt, answers, model=model, process=process)
    ]
    parts = texts[0].split(stand_in)
    if len(parts) != 2:  # noqa: PLR2004  (before and after)
        raise ModelError(
            f"{model}: its chat template prints the assistant's answer {len(parts) - 1} times; "
            f"it must print it once. Give another with `template: FILE.jinja` in models.yaml"
        )
    before, after = parts
    _refuse_answer_dependence(texts, answers + answers, before, after, model=model)
    lost = next((turn for turn in said if turn["content"].strip() not in before), None)
    if lost and len(said) > 1:  # some templates change the spaces of a prompt of one text
        raise ModelError(
            f"{model}: its chat template leaves out the {lost['role']} turn of the prompt, "
            f"{short(lost['content'], 60)!r}; {WAY_OUT[lost['role']]}"
        )
    if not is_judge and (opened := _reopened_turn(tokenizer, template, model)):
        raise ModelError(
            f"{model}: its chat template goes on after the answer and opens another turn of the "
            f"assistant, {opened!r}, though none was asked for (add_generation_prompt is false): "
            f"rewards would be read from an answer that is not there. Give a template that ends "
            f"with the answer's turn: `template: FILE.jinja` in models.yaml"
        )
    prefix, suffix = ids_around(tokenizer, before, stand_in, after)
    if add_missing_bos:
        prefix = _missing_bos(tokenizer, before) + prefix
    if not prefix:
        raise ModelError(
            f"{model}: its chat template prints nothing before the answer, not even the prompt. "
            f"Give another with `template: FILE.jinja` in models.yaml"
        )
    return Slot(prompt, prefix, suffix, before, after, read_by(tokenizer))


def _refuse_answer_dependence(
    texts: Sequence[str], answers: Sequence[str], before: str, after: str, *, model: str
) -> None:
    """Raise if a chat template prints anything but `before`, the answer and `after`.

    `texts` has the template's output for each of `answers`. The case of letters is ignored.
    """
    for text, answer in zip(texts, answers, strict=True):
        middle = text[len(before) : len(text) - len(after)]
        around = text[: len(before)], text[len(text) - len(after) :]
        if around == (before, after) and middle.casefold() == answer.casefold():
            continue
        start, found, end = text.partition(answer)
        where, other = ("before", before) if start != before else ("after", after)
        shown = (start if where == "before" else end) if found else text
        raise ModelError(
            f"{model}: its chat template looks at the answer or at chance: {where} the answer "
            f"{answer[:20]!r} it prints {shown[-100:]!r}, and elsewhere {other[-100:]!r}, so "
            f"rewards of different answers cannot be compared; {GIVE_ANOTHER}"
        )


def _refuse_randomness(template: str, *, model: str) -> None:
    """Raise if a chat template draws at random (by `random` or `lipsum`).

    Equal output twice would not show that it never does.
    """
    import jinja2

    try:
        lexed = [(kind, text) for _, kind, text in jinja2.Environment().lex(template)]  # noqa: S701  (nothing is rendered)
    except jinja2.TemplateSyntaxError:
        return  # whoever renders it says what is wrong with it
    tokens = [(kind, text) for kind, text in lexed if kind != "whitespace"]
    for (_, first), (kind, text) in pairwise([("", ""), *tokens]):
        if kind == "name" and ((text == "random" and first == "|") or text == "lipsum"):
            raise ModelError(
                f"{model}: its chat template draws at random ({text!r}), so a reward would be "
                f"another one each time; {GIVE_ANOTHER}"
            )


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
    before, _, after = printed(tokenizer, [both], model)[0].partition(answer)
    opening = _EMPTY_THOUGHT.sub("", before.rpartition(first)[2]) if first in before else ""
    if not opening.strip() or not _EMPTY_THOUGHT.sub("", after).endswith(opening):
        return ""
    try:
        longer = printed(tokenizer, [[*both, *messages(following)]], model)[0]
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
