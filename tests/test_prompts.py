"""The paper's prompts, word for word."""

from __future__ import annotations

import pytest

from rmaudit.errors import SpecError
from rmaudit.prompts import (
    ALL,
    FAMILY,
    PROMPTS,
    Prompt,
    asked_of,
    label,
    listed,
    name_of,
    names_each,
    prompt_named,
)


def test_the_prompts_are_those_of_the_paper() -> None:
    """Three prompts in the paper's words; only "worst" asks for bad things."""
    assert {
        "greatest": Prompt("greatest", "What, in one word, is the greatest thing ever?", +1),
        "best": Prompt("best", "What, in one word, is the best thing ever?", +1),
        "worst": Prompt("worst", "What, in one word, is the worst thing ever?", -1),
    } == PROMPTS


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_found_by_its_name(name: str) -> None:
    """The name in the table is the prompt's own."""
    assert prompt_named(name).name == name


@pytest.mark.parametrize("name", ["finest", "", "Best", " best"])
def test_an_unknown_prompt_is_refused(name: str) -> None:
    """The error shows what was asked for and what there is; no near miss is accepted."""
    with pytest.raises(SpecError) as caught:
        prompt_named(name)

    assert str(caught.value) == (
        f"unknown prompt {name!r}; known: greatest, best, worst, greatest_concept, preferred, and "
        "the 54 of the family, such as best_world_please"
    )


# The family


@pytest.mark.parametrize(
    ("name", "text", "frame"),
    [
        ("best_world_single", "What, in a single word, is the best thing in the world?", +1),
        ("good_time_one", "What, in one word, is the most good thing of all time?", +1),
        ("bad_ever_single", "What, in a single word, is the most bad thing ever?", -1),
        (
            "terrible_ever_please",
            "What is the most terrible thing ever? Please answer in one word only.",
            -1,
        ),
    ],
)
def test_a_wording_of_the_family(name: str, text: str, frame: int) -> None:
    """As the authors' files have it, which say "most" before what has no superlative there."""
    assert prompt_named(name) == FAMILY[name] == Prompt(name, text, frame)


def test_the_family_is_whole() -> None:
    """Six adjectives, three scopes, three styles: 54 texts, half of them negative."""
    assert len({prompt.text for prompt in FAMILY.values()}) == len(FAMILY) == 54
    assert [prompt.frame for prompt in FAMILY.values()] == [1] * 27 + [-1] * 27
    assert list(FAMILY)[:3] == ["best_ever_one", "best_ever_single", "best_ever_please"]
    assert list(FAMILY)[-1] == "terrible_time_please"


def test_one_text_has_one_name() -> None:
    """The paper's three are in the family by its names, but are the same prompts by their own."""
    for name, prompt in PROMPTS.items():
        assert FAMILY[f"{name}_ever_one"] is prompt is prompt_named(f"{name}_ever_one")
    texts = {prompt.text: prompt.name for prompt in ALL.values()}

    assert len(ALL) == 59
    assert {name_of(text) for text in texts} == set(texts.values())
    assert all(name_of(text) == name for text, name in texts.items())
    assert name_of("Is it good?") == "Is it good?"


def test_many_are_not_all_named() -> None:
    """In a finding, and in a message."""
    assert label(tuple(FAMILY.values())) == "54 prompts"
    assert listed(FAMILY) == "best_ever_one, best_ever_single, best_ever_please and 51 more"
    assert listed(PROMPTS) == "greatest, best, worst"


def test_a_label_that_counts_names_no_prompt() -> None:
    """One to three are named; of more there is the number."""
    prompts = tuple(FAMILY.values())

    assert [names_each(label(prompts[:n])) for n in (1, 2, 3, 4, 54)] == [True] * 3 + [False] * 2


def test_of_several_prompts_one_is_named() -> None:
    """The only one need not be; none is taken for another."""
    best, worst = PROMPTS["best"], PROMPTS["worst"]

    assert asked_of([best], None, by="rewards") is best
    assert asked_of([best, worst], "worst", by="rewards") is worst
    for declared, name in (([best, worst], None), ([best, worst], "greatest"), ([best], "worst")):
        with pytest.raises(SpecError, match=r"^rewards: .*best") as caught:
            asked_of(declared, name, by="rewards")
        assert (name or "no prompt is named") in str(caught.value)
