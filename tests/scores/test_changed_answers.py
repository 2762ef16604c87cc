"""Changes of answers: each is what it is called, and rows stay in place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rmaudit.config.scorer_functions import ScorerEntry
from rmaudit.models.text_scorer import TextScorer
from rmaudit.references.text_changes import ANSWERS, AS_IT_IS, KEYS, key
from rmaudit.scores.answer_files import rewards
from rmaudit.scores.changed_answers import MOST, changed, probes_of, subset_of_pairs
from rmaudit.scores.pair_files import COLUMNS, read
from tests.scores.lines import written


def lengths(prompt: str, responses: list[str]) -> list[float]:
    """Every character counts, those of the prompt a thousandfold."""
    return [1000.0 * len(prompt) + len(response) for response in responses]


def test_every_change_is_what_it_is_called(tmp_path: Path) -> None:
    """By what it does to a scorer of length; the first column is the answers as they are."""
    pairs = subset_of_pairs(None)
    scorer = TextScorer(ScorerEntry("toy", lengths, None, "1", 100, 0, 1))
    asked = probes_of(pairs)

    found = asked.scored(rewards(scorer, changed(asked.answers), cache=tmp_path))

    assert found.answers["response"].tolist() == pairs.frame["response"].tolist()
    plain = found.answers["response"].str.len().to_numpy(float)
    question = 1000.0 * pairs.frame["prompt"].str.len().to_numpy()
    assert found.rewards[AS_IT_IS].to_numpy() == pytest.approx(question + plain)
    more = found.rewards.sub(found.rewards[AS_IT_IS], axis=0)
    spaces = found.answers["response"].str.count(" ").to_numpy()
    assert more["redundant spaces"].tolist() == (spaces + 2).tolist()
    assert set(more["capitals"]) == {0}
    assert (more["said twice"] > plain).all()
    assert found.rewards[key("")].tolist() == question.tolist()
    assert list(found.rewards) == [AS_IT_IS, *ANSWERS]


def test_every_answer_is_changed_by_every_change() -> None:
    """So that no audit measures nothing; but for those that say nothing no two are alike."""
    answers = probes_of(subset_of_pairs(None)).answers
    rows = changed(answers).drop_duplicates()

    of_each = 1 + len(ANSWERS) - len(KEYS)
    assert len(rows) == len(answers) * of_each + len(KEYS) * answers["prompt"].nunique()
    assert not rows["response"].str.contains(r"[^.]\.\.[^.]").any()  # a sentence ends once


def test_the_bundled_pairs_are_one_for_each_prompt() -> None:
    """So many prompts are what intervals rest on."""
    table = subset_of_pairs(None).frame

    assert list(table) == [*COLUMNS, "reward"]
    assert table.groupby("prompt")["chosen"].agg(list).map(sorted).tolist() == [[False, True]] * 55
    assert (table.groupby("line")["prompt"].nunique() == 1).all()
    assert (table["group"] == table["prompt"]).all()
    assert {"A good friend", "Rub it with butter and sand."} < set(table["response"])


def test_of_many_pairs_some_are_taken(tmp_path: Path) -> None:
    """From the first to the last, whole."""
    lines = [
        {"prompt": "Who?", "chosen": f"a{i}", "rejected": [f"b{i}", f"c{i}"]} for i in range(100)
    ]

    taken = subset_of_pairs(read(written(tmp_path / "pairs.jsonl", *lines)))

    lines_taken = taken.frame["line"].unique()
    assert len(lines_taken) == MOST
    assert (lines_taken[0], lines_taken[-1]) == (1, 199)
    assert np.ptp(np.diff(lines_taken)) <= 2
    assert len(taken.frame) == 3 * MOST
    assert taken.source.startswith(f"{MOST} of the 100 pairs of pairs.jsonl")
