"""Chat templates that do not print the same around every answer are refused.

A template is a program that sees the whole conversation. One that looks at the answer, or draws at
random, would lay out each answer in another way, and rewards of answers would not be comparable.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType
from typing import Any

from rmaudit.errors import ModelError

# Of different lengths and first letters; no template has a reason to treat one in its own way.
ANSWERS = (
    "Q",
    "7",
    "it",
    "\u00e9t\u00e9",
    "\u611b",
    "Yes",
    "no, not at all.",
    "love " * 60 + "end",
)
_STEPS = 1_000_000  # lines of Python; a conversation takes a few hundred
_RUN = ("<template>", "filters.py", "runtime.py")  # jinja's, but for those that compile a template
_GIVE = "give another with `template: FILE.jinja` in models.yaml"


def refuse_others(
    printed: Sequence[str], answers: Sequence[str], before: str, after: str, *, model: str
) -> None:
    """Refuse a template that prints anything but `before`, the answer and `after`.

    `printed` is what it prints of each of `answers`. Whether letters are small or capital is not
    looked at.

    Raises:
        ModelError: it does; the message names the answer and what is printed before or after it.
    """
    for text, answer in zip(printed, answers, strict=True):
        middle = text[len(before) : len(text) - len(after)]
        around = text[: len(before)], text[len(text) - len(after) :]
        if around == (before, after) and middle.casefold() == answer.casefold():
            continue
        start, found, end = text.partition(answer)
        where, other = ("before", before) if start != before else ("after", after)
        shown = (start if where == "before" else end) if found else text
        message = (
            f"{model}: its chat template looks at the answer or at chance: {where} the answer "
            f"{answer[:20]!r} it prints {shown[-100:]!r}, and elsewhere {other[-100:]!r}, so "
            f"rewards of different answers cannot be compared; {_GIVE}"
        )
        raise ModelError(message)


def refuse_chance(template: str, *, model: str) -> None:
    """Refuse a template that draws at random: what it prints twice alike may differ the next time.

    Raises:
        ModelError: it has the filter `random` or the function `lipsum`.
    """
    import jinja2

    try:
        lexed = [(kind, text) for _, kind, text in jinja2.Environment().lex(template)]  # noqa: S701  (nothing is rendered)
    except jinja2.TemplateSyntaxError:
        return  # whoever renders it says what is wrong with it
    tokens = [(kind, text) for kind, text in lexed if kind != "whitespace"]
    for (_, first), (kind, text) in pairwise([("", ""), *tokens]):
        if kind == "name" and ((text == "random" and first == "|") or text == "lipsum"):
            message = (
                f"{model}: its chat template draws at random ({text!r}), so a reward would be "
                f"another one each time; {_GIVE}"
            )
            raise ModelError(message)


@contextmanager
def bounded() -> Iterator[None]:
    """End the block with a `TimeoutError` after a million lines of templates: loops may be endless.

    Lines are counted and not seconds, so that a busy machine refuses nothing.
    """
    steps = 0

    def count(frame: FrameType, event: str, arg: object) -> Any:  # noqa: ANN401, ARG001  (as sys.settrace has it)
        nonlocal steps
        if event == "call" and not frame.f_code.co_filename.endswith(_RUN):
            return None
        steps += 1
        if steps > _STEPS:
            message = f"it does not come to an end within {_STEPS:,} steps"
            raise TimeoutError(message)
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)
