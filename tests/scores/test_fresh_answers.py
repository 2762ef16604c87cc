"""Fresh answers: drawn once, and paired with equally long ones to other questions."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import NotAsked
from rmaudit.models.base_language_model import base_of
from rmaudit.scores.answer_files import Samples, read_samples
from rmaudit.scores.fresh_answers import (
    ANSWERS,
    BUNDLED,
    FRESH,
    QUESTIONS,
    WITHIN,
    drawn_from,
    fresh_pairs,
    matched,
)
from tests.models.loaded import checkpoint
from tests.toys import toy_checkpoint, toy_language_model


def words(texts: pd.Series[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How many words each text has."""
    return texts.str.count(r"\S+").to_numpy(np.int64)


@pytest.fixture(scope="module")
def bundled() -> pd.DataFrame:
    """Two bundled answers to each question."""
    frame = read_samples(None).frame
    return frame.groupby("prompt", sort=False).head(2).reset_index(drop=True)


def test_two_answers_of_a_match_are_as_long_and_each_is_asked_both_questions(
    bundled: pd.DataFrame,
) -> None:
    """So a scorer that reads no question wins exactly half of the pairs."""
    made = matched(bundled, seed=0)
    own, other = made[0::2], made[1::2]

    assert own["chosen"].all()
    assert not other["chosen"].any()
    assert (own["prompt"].to_numpy() == other["prompt"].to_numpy()).all()
    assert not own["response"].duplicated().any()
    one, two = words(own["response"]), words(other["response"])
    assert (np.abs(one - two) <= WITHIN * np.maximum(one, two)).all()
    asked = dict(zip(bundled["response"], bundled["prompt"], strict=True))
    assert (own["response"].map(asked) == own["prompt"]).all()
    assert (other["response"].map(asked) != other["prompt"]).all()
    assert len(own) > 0.8 * len(bundled)
    blind = made["response"].map(lambda text: hash(text) % 1000).to_numpy()
    assert ((np.sign(blind[0::2] - blind[1::2]) + 1) / 2).mean() == 0.5


def test_the_bundled_answers_stand_beside_the_fresh_ones(tmp_path: Path) -> None:
    """Of a long file a few dozen questions are drawn, by the seed."""
    lines = [
        {"prompt": f"{prompt} ({part})", "response": text}
        for part in range(2)
        for prompt, text in read_samples(None).frame[["prompt", "response"]].to_numpy()
    ]
    file = tmp_path / "own.jsonl"
    pd.DataFrame(lines).to_json(file, orient="records", lines=True)
    own = read_samples(file)

    found = fresh_pairs(own, seed=1).frame

    pairs = found.groupby("line")
    assert (pairs["subset"].min() == pairs["subset"].max()).all()
    assert {*found["subset"]} == {FRESH, BUNDLED}
    fresh = found[found["subset"] == FRESH]
    assert 0.8 * QUESTIONS < fresh["prompt"].nunique() <= QUESTIONS
    assert fresh["chosen"].sum() <= QUESTIONS * ANSWERS
    assert {*fresh["prompt"]} <= {*own.frame["prompt"]}
    other = fresh_pairs(own, seed=2).frame
    assert {*other[other["subset"] == FRESH]["prompt"]} != {*fresh["prompt"]}


def test_answers_that_are_not_about_the_question_measure_nothing(bundled: pd.DataFrame) -> None:
    """Such as those of a policy that answers something else; nor do those of few questions."""
    strange = bundled.assign(response=np.roll(bundled["response"].to_numpy(), 2))

    with pytest.raises(NotAsked, match="have more of the question's words than the other"):
        fresh_pairs(Samples(strange, "answers of a bad policy"), seed=0)
    with pytest.raises(NotAsked, match=r"few: \d+ questions have an answer"):
        fresh_pairs(Samples(bundled[:20], "few"), seed=0)


@pytest.mark.slow
def test_answers_are_drawn_once(tmp_path: Path) -> None:
    """A second run reads them, also if the policy could not run any more; another seed draws."""
    model = checkpoint(toy_checkpoint(tmp_path / "toy"))
    lm = toy_language_model(tmp_path / "lm")
    policy = base_of(ModelSpec("Toy", "a/b", base=str(lm)), cache=tmp_path / "cache")

    first = drawn_from(policy, model, seed=3)
    (lm / "model.safetensors").write_bytes(b"")
    again = drawn_from(policy, model, seed=3)

    assert len(first.frame) == QUESTIONS * ANSWERS
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert re.fullmatch(rf"{QUESTIONS * ANSWERS} answers drawn from lm, \w{{12}}", first.source)
    with pytest.raises(Exception, match=r"changed|model\.safetensors"):
        drawn_from(policy, model, seed=4)
