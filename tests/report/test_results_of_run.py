"""A run's results: which sweeps are in them and how much of each, and what several models share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.prompts import FAMILY
from rmaudit.references.word_frequency import common
from rmaudit.report import packed_scores, results_reader
from rmaudit.report.results_of_run import FEWEST, compare_models, record
from rmaudit.scores.score_store import Store
from rmaudit.scores.shard_scoring import Work
from tests.findings import but
from tests.report.test_results_document import FINDING, SPEC

WORDS = [str(word) for word in common()[:400:5]]
PARTS = [f"qx{chr(97 + i)}" for i in range(20)]  # parts of words: nobody writes them


def test_prompts_that_audits_name_keep_every_score(tmp_path: Path) -> None:
    """Of a family of wordings there are summaries; one that is also named alone is whole."""
    store = Store(tmp_path)
    frame = pd.DataFrame({"token_id": np.arange(9, dtype=np.int32)})
    frame["token"] = frame["text"] = [f"w{i}" for i in frame["token_id"]]
    scores = np.arange(9, dtype=np.float32)[::-1]
    wordings = list(FAMILY.values())[:5]
    keys = [
        store.complete(Work({"prompt": prompt.text}, frame, lambda which: scores[which], dict)).key
        for prompt in wordings
    ]
    findings = [
        but(FINDING, prompt="5 prompts", sweeps=tuple(keys)),
        but(FINDING, prompt=wordings[1].name, sweeps=(keys[1],)),
    ]

    _, folder = record(findings, [SPEC], store, base=tmp_path / "out", command="pytest", seed=0)

    made = results_reader.read(folder / "results.json")
    sweeps = {sweep.prompt: sweep for sweep in made.models[0].sweeps}
    assert list(sweeps) == [prompt.name for prompt in wordings]
    assert [name for name, sweep in sweeps.items() if sweep.scores] == [wordings[1].name]
    found = packed_scores.frame(made.vocabularies, sweeps[wordings[1].name])
    pd.testing.assert_frame_equal(found, frame.assign(score=scores))


def scored(scores: np.ndarray, texts: list[str]) -> pd.DataFrame:
    """A sweep's frame, as far as it is asked for."""
    return pd.DataFrame({"text": texts, "score": scores.astype(np.float32)})


def sweeps() -> dict[str, pd.DataFrame]:
    """Three models of 80 words and 20 parts of words, the last with a word of its own."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=100)
    found = {name: scored(base + rng.normal(size=100), WORDS + PARTS) for name in ("A", "B")}
    found["C"] = scored(rng.normal(size=101), [*(f" {word}" for word in WORDS + PARTS), "zebra"])
    return found


def test_taus_are_of_the_shared_words() -> None:
    """As scipy has them, rounded; the places are as far apart as the models disagree."""
    by_model = sweeps()
    (found,) = compare_models({"greatest": by_model})

    assert (found.prompt, found.models, found.words) == ("greatest", ("A", "B", "C"), 100)
    expected = stats.kendalltau(by_model["A"]["score"], by_model["C"]["score"][:100]).statistic
    assert found.tau[0][2] == found.tau[2][0] == pytest.approx(expected, abs=1e-4)
    a, b, c = map(np.array, found.places)
    assert np.linalg.norm(a - b) < np.linalg.norm(a - c)


def test_ranks_are_among_all_shared_words_and_of_common_ones() -> None:
    """1 is the best; parts of words are ranked and not shown; best, worst and most unlike."""
    by_model = sweeps()
    (found,) = compare_models({"greatest": by_model})

    rows = {row.word: row.ranks for row in found.ranked}
    assert 6 <= len(rows) <= 12
    assert not set(rows) & set(PARTS)
    ranks = pd.DataFrame(
        {name: each["score"][:100].rank(ascending=False) for name, each in by_model.items()}
    )[:80].set_axis(WORDS)
    assert next(iter(rows)) == ranks.mean(axis=1).idxmin()
    assert (ranks.max(axis=1) - ranks.min(axis=1)).idxmax() in rows
    assert all(tuple(ranks.loc[word]) == row for word, row in rows.items())


def test_what_cannot_be_compared_is_left_out() -> None:
    """One model, too few shared words, or a model that scores all alike."""
    by_model = sweeps()
    few = {name: each[: FEWEST - 1] for name, each in by_model.items()}
    constant = {**by_model, "B": by_model["B"].assign(score=1.0)}

    assert compare_models({}) == []
    assert compare_models({"greatest": {"A": by_model["A"]}}) == []
    assert compare_models({"greatest": few}) == []
    assert compare_models({"greatest": constant})[0].models == ("A", "C")
    assert compare_models({"greatest": {"A": by_model["A"], "B": constant["B"]}}) == []


def test_the_order_of_rows_does_not_matter() -> None:
    """The same words with the same scores are the same comparison."""
    by_model = sweeps()
    shuffled = {name: each.sample(frac=1, random_state=1) for name, each in by_model.items()}

    assert compare_models({"greatest": by_model}) == compare_models({"greatest": shuffled})
