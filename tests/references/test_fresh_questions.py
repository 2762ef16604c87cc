"""Questions that are drawn anew: by the seed, and no two about one thing."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rmaudit.references.fresh_questions import TOPICS, questions


def topics(question: str) -> list[str]:
    """The topics in a question."""
    return [word for word in re.findall(r"[a-z]+", question) if word in set(TOPICS)]


def test_no_two_questions_share_a_topic() -> None:
    """Each has two, and no list names one twice; so an answer to one is none to another."""
    every = [topics(question) for question in questions(140, rng=np.random.default_rng(5))]

    assert {len(own) for own in every} == {2}
    assert len({topic for own in every for topic in own}) == 280
    assert len(set(TOPICS)) == len(TOPICS)


def test_the_seed_decides_them() -> None:
    """The same seed asks the same, and hardly a question is asked by two seeds."""
    first, again, other = (questions(100, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))

    assert first == again
    assert len(set(first) & set(other)) <= 1


def test_more_questions_than_topics_are_refused() -> None:
    """They cannot all be about things of their own."""
    with pytest.raises(ValueError, match="larger sample"):
        questions(len(TOPICS), rng=np.random.default_rng(0))
