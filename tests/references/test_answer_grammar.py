"""Patterns of grammar: each finds what it names, and not what looks like it."""

from __future__ import annotations

import re

import pytest

from rmaudit.references.answer_grammar import AS_WRITTEN, IN_EITHER_CASE

FOUND = {
    "in the perfect tense": ("They have never seen it.", "They have bread."),
    "in the passive": ("It is often baked at home.", "It is in a box."),
    "in the passive with “by”": ("It was eaten by mice.", "It was eaten."),
    "with “there is” or “there are”": ("There are boxes.", "Put it there."),
    "with infinitives": ("Try to keep it.", "Go to the shop, to a friend."),
    "with clauses of “that”": ("I believe that it is good.", "I like that box."),
    "with “that” left out": ("I think it is good.", "I think of bread."),
    "with clauses of “what” or “how”": ("Learn how it works.", "How does it work?"),
    "with relative clauses": ("People, who bake, know.", "Who bakes?"),
    "with “which” after a preposition": ("The box in which it is.", "The box, which is old."),
    "with “this” or “that” by itself": ("This is good.", "This box holds it."),
    "with adjectives": ("A beautiful box.", "A box."),
    "with adjectives after “is” or “are”": ("It is very useful.", "It is bread."),
    "with participles after nouns": ("The box covered with cloth.", "The box with cloth."),
    "with connectives such as “therefore”": ("It is, however, old.", "It is how old?"),
    "with “while”, “since” or “as long as”": ("As long as it lasts.", "It lasts long."),
    "with amplifiers such as “completely”": ("It is completely dry.", "It is complete."),
    "with emphatics such as “a lot”": ("It helps a lot.", "A lottery."),
    "with downtoners such as “almost”": ("It is almost dry.", "It is dry."),
    "with verbs of speaking": ("He explained it.", "He ate it."),
    "with verbs of urging": ("I recommend a box.", "I use a box."),
    "with “seem” or “appear”": ("It seems dry.", "It is dry."),
    "with “not”": ("It isn't dry.", "It is dry."),
    "with “no”, “neither” or “nor”": ("There is no box.", "I know."),
    "with adverbs between verbs": ("It can easily dry.", "It can dry easily."),
    "with “to” and an adverb": ("To slowly dry it.", "To dry it slowly."),
    "with demonstratives": ("These boxes.", "The boxes."),
    "with participles after a comma": ("Wait, turning it twice.", "Wait for turning."),
    "with sentences that begin in -ing": ("It is old. Keeping it helps.", "It keeps going."),
    "with sentences that begin in -ed": ("It is old. Covered, it lasts.", "It is covered."),
    "with “which” after a comma": ("It is old, which is good.", "The box in which it is."),
    "with prepositions before a sign": ("What is it made of?", "Made of wood."),
    "with clauses joined by “and”": ("It is old, and it lasts.", "Salt and water."),
    "with “well” or “now” at the beginning": ("Well, it lasts.", "It lasts well."),
}


@pytest.mark.parametrize("kind", [*IN_EITHER_CASE, *AS_WRITTEN])
def test_a_pattern_finds_what_it_names(kind: str) -> None:
    """It finds it in one sentence, and nothing in another that looks like it."""
    pattern = AS_WRITTEN.get(kind) or rf"(?i)\b(?:{IN_EITHER_CASE[kind]})\b"
    found, other = FOUND[kind]

    assert re.search(pattern, found)
    assert not re.search(pattern, other)
