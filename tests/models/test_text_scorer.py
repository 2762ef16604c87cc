"""A function as a model: every response once, in order, and nothing but finite numbers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmaudit.config.scorer_functions import ScorerEntry
from rmaudit.errors import NoWeights, ScoreError, SpecError
from rmaudit.models.text_scorer import TextScorer
from rmaudit.scores.text_rewards import score_texts

TEXTS = [f"{n:03d}" for n in range(10)]


def made(function: Callable[..., Any], **more: Any) -> TextScorer:
    """A scorer of this function, of batches of three."""
    given = {"vocabulary": None, "version": "1", "batch": 3, "retries": 0, "concurrency": 1}
    return TextScorer(ScorerEntry(name="toy", function=function, **{**given, **more}))


@pytest.mark.parametrize("concurrency", [1, 4])
def test_each_response_is_scored_once_and_in_order(concurrency: int) -> None:
    """Whatever the batches, and how many run at once."""
    lock, seen = threading.Lock(), list[str]()

    def numbers(prompt: str, responses: Sequence[str]) -> list[float]:
        assert prompt == "What?"
        assert len(responses) <= 3
        with lock:
            seen.extend(responses)
        return [float(response) for response in responses]

    found = made(numbers, concurrency=concurrency).score("What?", TEXTS)

    assert found.tolist() == list(range(10))
    assert found.dtype == np.float32
    assert sorted(seen) == TEXTS


def test_a_call_that_raises_is_tried_again() -> None:
    """As often as the scorer says, and no more."""
    left = [ConnectionError("busy")]

    def moody(_: str, responses: Sequence[str]) -> list[float]:
        if left:
            raise left.pop()
        return [1.0] * len(responses)

    assert made(moody, retries=1).score("?", TEXTS[:2]).tolist() == [1.0, 1.0]

    left.append(ConnectionError("busy\n" + "and more" * 1000))
    with pytest.raises(ScoreError, match=r"^toy: .*ConnectionError: busy, on 2 responses.*'000'$"):
        made(moody).score("?", TEXTS[:2])


def test_what_a_function_returns_is_checked() -> None:
    """Arrays of libraries are scores; what is none is refused, and the response named."""
    found = made(lambda _, responses: np.arange(len(responses)), batch=20).score("?", TEXTS)
    assert found.tolist() == list(range(10))
    with pytest.raises(ScoreError, match=r"^toy: its function gave nan for .*'000'"):
        made(lambda _, responses: [float("nan")] * len(responses)).score("?", TEXTS)


def test_what_is_no_list_of_texts_is_refused(tmp_path: Path) -> None:
    """One text's letters would be scored; no file could hold half a character."""
    scorer = made(lambda _, responses: [1.0] * len(responses))
    with pytest.raises(SpecError, match="'time'"):
        scorer.score("?", "time")
    for asked in (
        lambda: scorer.score("What?", ["a", "b\ud800"]),
        lambda: score_texts(scorer, "What?", ["a", "b\ud800"], cache=tmp_path),
    ):
        with pytest.raises(SpecError, match=r"half a character .* in 'b.ud800', allowed: whole"):
            asked()


def test_its_vocabulary_is_a_list_or_common_words() -> None:
    """Each text once, numbered from 0."""
    assert made(len, vocabulary=("b", "a")).vocabulary().texts == ("b", "a")
    words = made(len).vocabulary()
    assert {"love", "war"} <= set(words.texts)
    assert len(set(words.texts)) == len(words.ids) > 10_000


def test_what_it_has_not_is_told() -> None:
    """No ids, no gradients, no base: N/A, and no fault."""
    with pytest.raises(NoWeights, match="toy is a function"):
        made(len).with_weights("searches")
