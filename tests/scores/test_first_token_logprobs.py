"""A base's log-probabilities are kept by what decides them; a policy's are read by token."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import NotRecorded, SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models import loaded_weights
from rmaudit.models.base_language_model import base_of
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.recorded_model import Recorded
from rmaudit.prompts import PROMPTS
from rmaudit.scores.first_token_logprobs import base_logprobs, policy_in
from rmaudit.scores.score_parquet import checksum
from rmaudit.scores.score_store import Store
from tests.scores.lines import written
from tests.toys import toy_checkpoint, toy_language_model

Patch = pytest.MonkeyPatch

GREATEST = PROMPTS["greatest"]
WORDS = Vocabulary(ids=(3, 5, 9), pieces=("a", "b", "c"), texts=("a", "b", "c"))
BEST, WORST = PROMPTS["best"], PROMPTS["worst"]
HALVES = {"prompt": "best", "tokens": ["b", "a", "x"], "logprobs": [math.log(0.7), -1.25, None]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two reward models and a base."""
    folder = tmp_path_factory.mktemp("home")
    toy_language_model(folder / "lm1", seed=1)
    for seed in (1, 2):
        toy_checkpoint(folder / f"rm{seed}", seed=seed)
    return folder


@pytest.mark.slow
def test_they_are_by_token_id_and_read_back(home: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    """What the base gives each id, under what decides it; then for any model with these rows."""
    toy, other = (
        Checkpoint(ModelSpec(rm, str(home / rm), base=str(home / "lm1")), cache=tmp_path)
        for rm in ("rm1", "rm2")
    )

    found = base_logprobs(toy, GREATEST, cache=tmp_path)

    base, prefix = base_of(toy.spec, cache=tmp_path), toy.slot(GREATEST.text).prefix
    expected = base.logprobs(prefix, toy.vocabulary())
    assert tuple(found.by_id.index) == toy.vocabulary().ids
    np.testing.assert_array_equal(found.by_id.to_numpy(), expected)
    assert found.by_id.dtype == np.float32
    stored = Store(tmp_path).read(found.key)
    assert stored is not None
    assert list(stored.frame.columns) == ["id", "token", "score"]  # no `token_id`: no sweep
    assert stored.provenance["base"] == "lm1"
    assert stored.fields == {
        **base.identity,
        "prompt": GREATEST.text,
        "prefix": hashlib.sha256(json.dumps(prefix).encode()).hexdigest(),
        "rows": checksum(stored.frame[["id", "token"]]),
        "protocol": "next-token log-probability",
        "version": "1",
    }
    monkeypatch.setattr(loaded_weights, "load", None)
    again = base_logprobs(other, GREATEST, cache=tmp_path)
    assert again.key == found.key
    assert again.by_id.equals(found.by_id)


def test_of_a_recorded_model_there_are_none(home: Path, tmp_path: Path) -> None:
    """Even where a base is named: there is no tokenizer to render with."""
    toy = Recorded(ModelSpec("Q", "owner/q", base=str(home / "lm1")))

    with pytest.raises(NotRecorded) as caught:
        base_logprobs(toy, GREATEST, cache=tmp_path)

    for named in ("Q: log-probabilities of its base", "pytest audits --model Q"):
        assert named in str(caught.value)


def test_tokens_are_matched_as_they_are_spelled(tmp_path: Path) -> None:
    """In the vocabulary's order, by name or by text; a token that the file does not have is NaN."""
    of_worst = {**HALVES, "prompt": WORST.text, "logprobs": [0.0, None, None]}

    found = policy_in(written(tmp_path / "policy.jsonl", HALVES, of_worst), [WORST, BEST], WORDS)

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
        ({"logprobs": [-1, -(10**400), -1]}, r"logprobs\[1\] is -1000"),
        ({"logprobs": [-1, -1, "x"]}, r"logprobs\[2\] is 'x'"),
        ({"logprobs": [-9, -9, -9]}, "the 2 of 3 tokens .* hold 0.000247 of the probability"),
        ({"logprobs": [0, 0, None]}, "hold 2 of the probability"),
        ({"tokens": ["Ġb", "Ġa", "x"]}, "the 0 of 3 tokens .* from the reward model's tokenizer"),
    ],
)
def test_what_is_no_policy_is_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    """With the file and its line, before there is any number."""
    with pytest.raises(SpecError, match=says):
        policy_in(written(tmp_path / "policy.jsonl", {**HALVES, **change}), [BEST], WORDS)


def test_a_prompt_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    """By its name and by its text it is the same."""
    path = written(tmp_path / "policy.jsonl", HALVES, {**HALVES, "prompt": BEST.text})

    with pytest.raises(SpecError, match=":3: the prompt best again"):
        policy_in(path, [BEST], WORDS)
