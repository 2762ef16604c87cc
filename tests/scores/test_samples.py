"""Samples: the bundled ones are whole, a file of the user's is named, equal draws both count."""

from __future__ import annotations

import json
from pathlib import Path

from rmaudit.config.scorers import ScorerEntry
from rmaudit.models.text_scorer import TextScorer
from rmaudit.scores.answer_files import rewarded
from rmaudit.scores.samples import read


def test_the_bundled_samples_have_as_many_answers_to_each_prompt() -> None:
    """Forty prompts with 24 answers each, none of them empty."""
    found = read(None)

    assert set(found.frame.groupby("prompt").size()) == {24}
    assert found.frame["prompt"].nunique() == 40
    assert found.frame["response"].str.strip().ne("").all()
    assert found.source.startswith("960 answers to 40 prompts of SmolLM2-135M-Instruct, bundled")


def test_an_answer_that_was_drawn_twice_counts_twice(tmp_path: Path) -> None:
    """It is scored once, and both rows have the reward."""
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"prompt": "p", "responses": ["aa", "b", "aa"]}), encoding="utf-8")
    asked: list[str] = []

    def length(prompt: str, responses: list[str]) -> list[float]:
        asked.extend(responses)
        return [float(len(response)) for response in responses]

    toy = TextScorer(ScorerEntry("toy", length, None, "1", 100, 0, 1))
    found = rewarded(toy, read(file), cache=tmp_path)

    assert found.frame["reward"].tolist() == [2.0, 1.0, 2.0]
    assert found.source.startswith("3 answers to 1 prompt of mine.jsonl")
    assert set(asked) == {"aa", "b"}
