"""A judge's template in other words: every word is kept, and nothing else is made of it."""

from __future__ import annotations

from collections import Counter

import jinja2
import pytest

from rmaudit.layout.verdict_words import SPACED, SWAPPED, rewordings

PROMPT, ANSWER = "{{ messages[0].content }}", "{{ messages[-1]['content'] }}"
MARKS = ("<|start|>", "<|end|>")
HEAD, ASK = "<|start|>user\nJudge this.\n", "\n\nIs it good?<|end|>\n<|start|>assistant\n\n"


@pytest.mark.parametrize(
    ("template", "swapped"),
    [
        (
            f"{HEAD}Question: {PROMPT}\nAnswer:\n{ANSWER}{ASK}",
            f"{HEAD}Answer:\n{ANSWER}\nQuestion: {PROMPT}{ASK}",
        ),
        (
            f"{HEAD}Question:\n{PROMPT}\n\nAnswer: {ANSWER}{ASK}",
            f"{HEAD}Answer: {ANSWER}\n\nQuestion:\n{PROMPT}{ASK}",
        ),
        (
            f"{HEAD}A: {ANSWER}\nQ: {PROMPT}{ASK}",
            f"{HEAD}Q: {PROMPT}\nA: {ANSWER}{ASK}",
        ),
    ],
)
def test_blocks_change_places_with_their_names(template: str, swapped: str) -> None:
    """The text before and after stays; swapped twice it is the template again."""
    found = rewordings(template, MARKS)
    assert found[SWAPPED] == swapped
    assert rewordings(swapped, MARKS)[SWAPPED] == template
    asked = [{"content": "Why?"}, {"content": "So."}]
    texts = [
        jinja2.Template(each).render(messages=asked)
        for each in (template, found[SWAPPED], found[SPACED])
    ]
    assert Counter(texts[0].split()) == Counter(texts[1].split()) == Counter(texts[2].split())
    assert texts[2].count("\n") == texts[0].count("\n") + 1


@pytest.mark.parametrize(
    "template",
    [
        f"{PROMPT}<|end|>\n<|start|>{ANSWER}\nGood?",
        f"{PROMPT}\n{ANSWER}\n{PROMPT}",
        f"{PROMPT}\nGood?",
        f"Is {ANSWER} good as an answer to {PROMPT}?\n",
        f"{PROMPT} was asked.\nThe answer: {ANSWER}\n",
        f"{{% if true %}}{PROMPT}\n{ANSWER}{{% endif %}}",
        "{% for turn in messages %}{{ turn.content }}\n{% endfor %}",
    ],
)
def test_what_has_an_order_of_its_own_is_left_alone(template: str) -> None:
    """Turns, sentences, conditions, and templates that print one of the two twice or never."""
    assert rewordings(template, MARKS) == {}
