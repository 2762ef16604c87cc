"""Find the token ids of a judge's two verdict words, and put its template into other words.

A reward that is a logit has one token to be the logit of. And it means something only where the
model would say the verdict: a model that thinks first says none there, and the logits of both words
are noise.

Two changes of a template ask the same: the block of the prompt and that of the answer change
places, and a blank line is put between them. Both keep every word. They are made where the template
prints prompt and answer once each, with nothing but text of one turn between them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import messages
from rmaudit.errors import ModelError
from rmaudit.layout import chat_template, tokenizers
from rmaudit.layout.answer_slot import Slot, ids_after
from rmaudit.layout.layouts import Layout

SWAPPED, SPACED = "prompt and answer swapped", "a blank line more"
_PRINTED = re.compile(r"\{\{-?[^{}]*?\bmessages\s*\[\s*(-?\d+)\s*\][^{}]*\}\}")
_THOUGHTS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
)
_SAMPLED = (
    "its verdict comes after a thought that has to be sampled, so the logits here say nothing of "
    "it. Wrap the sampling in a function (@rmaudit.scorer)"
)


def verdict_ids(layout: Layout) -> tuple[int, ...]:
    """Return the token ids of a judge's verdict words, yes and no; () if the model is no judge.

    They are the ids of the words where they follow a whole row.

    Raises:
        ModelError: a verdict is not one token, both are the same, or the judge thinks before it
            says one.
    """
    spec = layout.spec
    if (judge := spec.judge) is None:
        return ()
    slot, tokenizer = layout.slot("?"), layout.tokenizer
    _refuse_thought(slot, layout.folder, spec)
    before = slot.suffix_text or slot.prefix_text
    found = {word: ids_after(tokenizer, before, word) for word in (judge.yes, judge.no)}
    for word, ids in found.items():
        if len(ids) != 1:
            pieces = ", ".join(map(repr, tokenizer.convert_ids_to_tokens(ids)))
            raise ModelError(
                f"{spec.name}: judge: the verdict {word!r} is {len(ids)} tokens ({pieces}) after "
                f"{short(repr(before[-20:]))}, and a reward is the logit of one; choose words of "
                f"one token, such as ' Yes' and ' No' or, after a new line, 'Yes' and 'No'"
            )
    (yes,), (no,) = found[judge.yes], found[judge.no]
    if yes == no:
        message = f"{spec.name}: judge: yes and no are both the token {yes}; give two different"
        raise ModelError(f"{message} words")
    return yes, no


def _refuse_thought(slot: Slot, folder: Path, spec: ModelSpec) -> None:
    """Raise if a judge's or the model's own template leaves a <think> open before the verdict.

    `folder` has the tokenizer, whose own chat template says whether the model begins its turns with
    a thought. A template that closes the thought itself is fine.

    Raises:
        ModelError: a thought is open where the verdict is read.
    """
    if opened := _open_thought(slot.prefix_text + slot.suffix_text):
        message = f"{spec.name}: judge: its template ends within {opened}: {_SAMPLED}, or close"
        raise ModelError(f"{message} the thought in the template")
    if any(end in slot.suffix_text for _, end in _THOUGHTS):
        return
    own = tokenizers.read(folder, replace(spec, template=None))
    user = [messages("?")]  # after whose turn the model begins its own
    (begun,) = chat_template.printed(own, user, spec.name) if own.chat_template else [""]
    if opened := _open_thought(begun):
        raise ModelError(
            f"{spec.name}: judge: the model opens its turns with {opened}, as its own chat "
            f"template says: {_SAMPLED}, or end the judge's template with a closed thought"
        )


def _open_thought(text: str) -> str:
    """Return the tag, such as <think>, of a thought still open at the end of a text; "" if none."""
    return next((start for start, end in _THOUGHTS if text.rfind(start) > text.rfind(end)), "")


def rewordings(template: str, special_tokens: Collection[str]) -> dict[str, str]:
    """Return rewordings of a judge's template, by the change made; {} if it allows none.

    Where one of the tokenizer's `special_tokens` stands between prompt and answer, these
    are turns of their own, whose order means something.
    """
    printed = list(_PRINTED.finditer(template))
    if len(printed) != 2 or "{%" in template or {one[1] for one in printed} != {"0", "-1"}:  # noqa: PLR2004  (prompt and answer)
        return {}
    first, second = printed
    between = template[first.end() : second.start()]
    if "\n" not in between or any(mark in between for mark in special_tokens):
        return {}
    begin = _start_of_block(template[: first.start()])
    gap = re.match(r"[ \t]*\n\s*", between)
    if gap is None:  # a block that goes on after what it prints
        return {}
    blocks = template[begin : first.end()], between[gap.end() :] + second[0]
    before, after = template[:begin], template[second.end() :]
    return {
        SWAPPED: f"{before}{blocks[1]}{gap[0]}{blocks[0]}{after}",
        SPACED: f"{before}{blocks[0]}{gap[0]}\n{blocks[1]}{after}",
    }


def _start_of_block(before: str) -> int:
    """Return where the last line of `before` starts, or the heading above if that line is blank."""
    line = before.rfind("\n") + 1
    if before[line:].strip():
        return line
    above = before[: max(line - 1, 0)]
    start = above.rfind("\n") + 1
    return start if above[start:].rstrip().endswith(":") else line
