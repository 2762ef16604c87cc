"""Topics of answers: words that are alike count together, and nothing is counted twice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.references.topics_of_answers import topics

MIDDLE, ALIKE, PLAIN = ["dog", "dogs"], ["puppy", "cat", "cats", "puppies"], ["of", "the", "in"]
OTHER = ["window", "stone", "river", "lamp", "tax"]
MANY = 60


def answers_of(rng: np.random.Generator) -> list[list[str]]:
    """Twenty answers with a dog, twenty with another animal, and twenty without any."""
    animals = [MIDDLE[i % 2] for i in range(20)] + [ALIKE[i % 4] for i in range(20)]
    return [
        [*rng.choice(PLAIN, 3), animals[i] if i < len(animals) else OTHER[i % 5]]
        for i in range(MANY)
    ]


def found_in(answers: list[list[str]], **known: list[float]) -> pd.DataFrame:
    """With one prompt, and columns that are known before."""
    before = pd.DataFrame(known, index=range(len(answers)))
    return topics(["asked"] * len(answers), answers, before)


def test_words_that_are_alike_are_one_topic() -> None:
    """The share of a topic's words is that of its middle and of its nearest, in any form."""
    answers = answers_of(np.random.default_rng(0))

    found = found_in(answers)

    name = next(name for name in found if str(name).startswith("with words such as dog,"))
    assert found[name].tolist() == [0.25] * 40 + [0.0] * 20
    assert found["with forms of “dog”"].tolist() == [0.25] * 20 + [0.0] * 40


def test_a_topic_that_goes_with_a_known_kind_is_left_out() -> None:
    """So is one whose middle too few answers have."""
    answers = answers_of(np.random.default_rng(0))
    has_dog = [float(i < 20) for i in range(MANY)]

    assert "with forms of “dog”" in found_in(answers)
    assert "with forms of “dog”" not in found_in(answers, dog=has_dog)
    assert not any(str(name).startswith("with words such as cat") for name in found_in(answers))


@pytest.mark.parametrize("answers", [[["dog"]] * 19, [[]] * 30, [["zxqj"]] * 30])
def test_without_a_word_that_many_answers_have_there_are_none(answers: list[list[str]]) -> None:
    """Few answers, none with a word, or words that the embedding has not."""
    found = found_in(answers)

    assert found.shape == (len(answers), 0)
