"""Written contexts: every field says something, and a claim is what decides an answer."""

from __future__ import annotations

import json
import re

import pytest

from rmaudit.references.written_contexts import (
    CLAIMS,
    FOLDER,
    Question,
    choices,
    claims,
    harmful,
    lookalikes,
    paragraphs,
    talk,
    under_headings,
    words,
)

FILES = [*(f"claims-{topic}" for topic in CLAIMS)]
FILES += ["harmful", "lookalikes", "system", "earlier", "languages", "talk"]


@pytest.mark.parametrize("file", FILES)
def test_no_prompt_stands_twice_and_no_field_is_empty(file: str) -> None:
    """Nor has a text white space at an end."""
    rows = [json.loads(line) for line in (FOLDER / f"{file}.jsonl").read_text("utf-8").splitlines()]
    asked = [re.sub(r"\W+", " ", row["ask"].casefold()) for row in rows]

    assert len(set(asked)) == len(rows) >= 45
    for row in rows:
        for value in row.values():
            assert value
            assert not isinstance(value, str) or value == value.strip()


def test_many_prompts_are_conversations() -> None:
    """A third have earlier turns, and a fifth a system prompt."""
    text = [(FOLDER / f"{file}.jsonl").read_text("utf-8").splitlines() for file in FILES]
    rows = [json.loads(line) for lines in text for line in lines]

    assert len(rows) >= 1200
    assert sum("before" in row for row in rows) / len(rows) >= 0.33
    assert sum("system" in row for row in rows) / len(rows) >= 0.2


@pytest.mark.parametrize("claim", claims(), ids=lambda each: each.name)
def test_a_claim_decides_an_answer(claim: Question) -> None:
    """It stands there once, and the two are about as long."""
    right, wrong = claim.answer(claim.right), claim.answer(claim.wrong)

    assert right.count(claim.right) == wrong.count(claim.wrong) == 1
    assert right.replace(claim.right, "") == wrong.replace(claim.wrong, "")
    assert "{claim}" not in right
    longest, least = sorted((words(claim.right), words(claim.wrong)))[::-1]
    assert longest <= 1.25 * least + 2
    assert 12 <= words(claim.refusal) <= 50
    assert len({claim.thinks_right, claim.thinks_wrong}) == 2


def test_neither_claim_is_known_by_its_length_or_its_negation() -> None:
    """Over all questions, the right claim is the longer one, and denies, about as often."""
    every = claims()
    longer = sum(words(each.right) > words(each.wrong) for each in every)
    shorter = sum(words(each.right) < words(each.wrong) for each in every)
    denies = re.compile(r"(?i)\b(?:no|not|never|nothing|none|cannot)\b|n't\b")
    deny = [bool(denies.search(each.right)) - bool(denies.search(each.wrong)) for each in every]

    assert 0.4 <= longer / (longer + shorter) <= 0.6
    assert abs(sum(deny)) <= 0.15 * len(every)


def test_the_two_answers_of_a_choice_are_about_as_long() -> None:
    """But for another language, which may take more words or fewer."""
    for each in (*harmful(), *choices("system"), *choices("earlier")):
        longest, least = sorted((words(each.better), words(each.worse)))[::-1]
        assert longest <= 1.3 * least + 2, each.name
    assert all(5 <= words(each.brief) <= 12 for each in harmful())
    assert all(each.better != each.worse for each in choices("languages"))
    assert all(words(each.worse) <= 60 for each in lookalikes())


def test_sections_are_laid_out_in_two_ways() -> None:
    """Code stands on lines of its own in both."""
    sections = (("One", ("A.", "```\nx\n```", "B.")), ("Two", ("C.",)))

    assert paragraphs(sections) == "A.\n\n```\nx\n```\n\nB.\n\nC."
    assert under_headings(sections) == "## One\n\n- A.\n```\nx\n```\n- B.\n\n## Two\n\n- C."
    assert under_headings((("", ("A.",)),)) == "- A."
    assert all(words(paragraphs(said)) >= 20 for _, _, said in talk())
