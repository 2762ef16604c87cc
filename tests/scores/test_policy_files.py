"""A policy's log-probabilities from a file: matched by token, and never a part of the truth."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmaudit.errors import SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.prompts import PROMPTS
from rmaudit.scores.policy_files import policy_in

WORDS = Vocabulary(ids=(3, 5, 9), pieces=("a", "b", "c"), texts=("a", "b", "c"))
BEST, WORST = PROMPTS["best"], PROMPTS["worst"]
HALVES = {"prompt": "best", "tokens": ["b", "a", "x"], "logprobs": [math.log(0.7), -1.25, None]}


def written(folder: Path, *lines: dict[str, Any]) -> Path:
    """A file of these lines."""
    path = folder / "policy.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_tokens_are_matched_as_they_are_spelled(tmp_path: Path) -> None:
    """In the vocabulary's order, by name or by text; a token that the file does not have is NaN."""
    of_worst = {**HALVES, "prompt": WORST.text, "logprobs": [0.0, None, None]}

    found = policy_in(written(tmp_path, HALVES, of_worst), [WORST, BEST], WORDS)

    best, worst = found["best"], found["worst"]
    assert best.index.tolist() == worst.index.tolist() == [3, 5, 9]
    assert best.tolist()[:2] == pytest.approx([-1.25, math.log(0.7)])
    assert worst.tolist()[:2] == [-math.inf, 0.0]
    assert np.isnan(best.iloc[2])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prompt": "worst"}, "has no line for the prompt best"),
        ({"prompt": 3}, ":1: prompt is 3"),
        ({"tokens": "ab"}, ":1: tokens is 'ab'"),
        ({"logprobs": [-1.0]}, "3 tokens and 1 logprobs"),
        ({"tokens": ["a", "a", "b"]}, "one twice"),
        ({"tokens": ["a", "b", 7]}, "no text"),
        ({"logprobs": [0.5, -1, -1]}, r"logprobs\[0\] is 0.5"),
        ({"logprobs": [-1, True, -1]}, r"logprobs\[1\] is True"),
        ({"logprobs": [-1, -1, "x"]}, r"logprobs\[2\] is 'x'"),
        ({"logprobs": [-9, -9, -9]}, "the 2 of 3 tokens .* hold 0.000247 of the probability"),
        ({"logprobs": [0, 0, None]}, "hold 2 of the probability"),
        ({"tokens": ["Ġb", "Ġa", "x"]}, "the 0 of 3 tokens .* from the reward model's tokenizer"),
    ],
)
def test_what_is_no_policy_is_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    """With the file and its line, before there is any number."""
    with pytest.raises(SpecError, match=says):
        policy_in(written(tmp_path, {**HALVES, **change}), [BEST], WORDS)


def test_a_prompt_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    """By its name and by its text it is the same."""
    with pytest.raises(SpecError, match=":2: the prompt best again"):
        policy_in(written(tmp_path, HALVES, {**HALVES, "prompt": BEST.text}), [BEST], WORDS)
