"""Answers of a file, samples too: each scored once; bad lines are named.

That rewards are the model's own is in `test_pair_files`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.scorer_functions import ScorerEntry
from rmaudit.errors import NotRecorded
from rmaudit.models.recorded_model import Recorded
from rmaudit.models.text_scorer import TextScorer
from rmaudit.scores.answer_files import read, read_samples, rewards
from rmaudit.scores.shard_scoring import ANSWERS
from tests.scores.lines import assert_refused, written

LINES = [
    {"prompt": "what is it", "response": "love", "subset": "chat"},
    {"prompt": "who", "responses": ["love", "war is", "love"]},
    {"prompt": "what is it", "response": "the war"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of five answers to two prompts, one of them there twice."""
    return written(tmp_path / "answers.jsonl", *LINES)


def test_answers_are_read_in_order(file: Path) -> None:
    """With the lines that they stand in; blank lines count, other fields do not matter."""
    assert read(file).to_dict("list") == {
        "line": [1, 3, 3, 3, 5],
        "prompt": ["what is it", "who", "who", "who", "what is it"],
        "turns": [""] * 5,
        "response": ["love", "love", "war is", "love", "the war"],
    }


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["no answers", "prompt"]),
        ("{}", [":1", "nothing", "`response` or `responses`"]),
        ('{"prompt": "a"}', [":1", "'prompt'"]),
        ('{"prompt": "a", "response": "b", "responses": ["b"]}', [":1", "`response` or"]),
        ('{"prompt": 1, "response": "b"}', [":1", "prompt is 1"]),
        ('{"prompt": "a", "response": null}', [":1", "response is None"]),
        ('{"prompt": "a", "responses": []}', [":1", "responses is []"]),
        ('{"prompt": "a", "responses": "b"}', [":1", "'b'", "list"]),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, names: list[str]) -> None:
    """One line: where, what was found, and what is allowed."""
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")

    assert_refused(read, path, names)
    assert_refused(read, tmp_path, ["cannot be read"])


def test_an_answer_that_is_there_twice_is_asked_once(file: Path, tmp_path: Path) -> None:
    """Both rows have the reward: both were drawn; noise costs a second asking of what is scored."""
    asked: list[tuple[str, str]] = []

    def lengths(prompt: str, responses: list[str]) -> list[float]:
        asked.extend((prompt, response) for response in responses)
        return [float(len(response)) for response in responses]

    toy = TextScorer(ScorerEntry("toy", lengths, None, "1", 10, 0, 1))

    samples, cache = read_samples(file), tmp_path / "cache"
    found = samples.scored(rewards(toy, samples.frame, cache=cache))

    assert found.source.startswith("5 answers to 2 prompts of answers.jsonl")
    assert found.frame["reward"].tolist() == [4, 4, 6, 4, 7]
    assert found.noise == 0.0
    assert len(asked) == 2 * len(set(asked)) == 8
    again = samples.scored(rewards(toy, samples.frame, cache=cache))
    assert again.frame.equals(found.frame)
    assert again.key == found.key
    assert len(asked) == 8


def test_only_what_changed_is_scored_again(tmp_path: Path) -> None:
    """Of many answers one is reworded and one is new; the others have the rewards that they had."""
    asked: list[str] = []

    def drawn(version: str) -> TextScorer:
        def score(prompt: str, responses: list[str]) -> list[float]:
            asked.extend(responses)
            return [len(asked) + len(prompt) / 7 for _ in responses]  # never the same twice

        return TextScorer(ScorerEntry("toy", score, None, version, 10, 0, 1))

    old = pd.DataFrame({"prompt": "who", "response": [f"answer {i}" for i in range(60)]})
    new = pd.DataFrame({"prompt": ["who", "what"], "response": "love"})
    changed = pd.concat([old.drop(7), new])
    before = rewards(drawn("1"), old, cache=tmp_path)
    asked.clear()
    after = rewards(drawn("1"), changed, cache=tmp_path)

    assert after.scores[:-2].tolist() == before.scores[[*range(7), *range(8, 60)]].tolist()
    assert sorted(asked[:2]) == ["love", "love"]
    assert len(asked) == 2 + ANSWERS  # those that measure the noise
    asked.clear()
    rewards(drawn("2"), changed, cache=tmp_path)
    assert len(asked) == len(changed) + ANSWERS


def test_a_recorded_model_has_no_answers_of_a_file(tmp_path: Path) -> None:
    """Its scores are of what was published."""
    model = Recorded(ModelSpec("toy", "owner/name"))
    frame = pd.DataFrame({"prompt": ["a"], "turns": [""], "response": ["b"]})

    with pytest.raises(NotRecorded, match="not recorded"):
        rewards(model, frame, cache=tmp_path)


def test_the_bundled_samples_have_as_many_answers_to_each_prompt() -> None:
    """Forty prompts with 24 answers each, none of them empty."""
    found = read_samples(None)

    assert set(found.frame.groupby("prompt").size()) == {24}
    assert found.frame["prompt"].nunique() == 40
    assert found.frame["response"].str.strip().ne("").all()
    assert found.source.startswith("960 answers to 40 prompts of SmolLM2-135M-Instruct, bundled")
