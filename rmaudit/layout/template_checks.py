"""Refuse chat templates that do not print the same text around every answer.

A template is a program that sees the whole conversation. One that looks at the answer, or draws at
random, would lay out each answer in another way, and rewards of answers would not be comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rmaudit.errors import ModelError

# Of different lengths and first letters; no template has a reason to treat one in its own way.
TEST_ANSWERS = (
    "Q",
    "7",
    "it",
    "\u00e9t\u00e9",
    "\u611b",
    "Yes",
    "no, not at all.",
    "love " * 60 + "end",
)
GIVE_ANOTHER = "give another with `template: FILE.jinja` in models.yaml"


def refuse_answer_dependence(
    printed: Sequence[str], answers: Sequence[str], before: str, after: str, *, model: str
) -> None:
    """Raise if a chat template prints anything but `before`, the answer and `after`.

    `printed` has the template's output for each of `answers`. The case of letters is ignored.

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
            f"rewards of different answers cannot be compared; {GIVE_ANOTHER}"
        )
        raise ModelError(message)


def refuse_randomness(template: str, *, model: str) -> None:
    """Raise if a chat template draws at random (by `random` or `lipsum`).

    Equal output twice would not show that it never does.

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
                f"another one each time; {GIVE_ANOTHER}"
            )
            raise ModelError(message)
