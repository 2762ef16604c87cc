"""A run's results: what of findings and sweeps is in them, and what several models share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats

from rmaudit.config.model_registry import ModelSpec
from rmaudit.prompts import FAMILY
from rmaudit.references.word_frequency import common
from rmaudit.report import packed_scores, results_reader
from rmaudit.report.results_document import SCHEMA, AuditedModel, SweepSummary, Token
from rmaudit.report.results_of_run import FEWEST, collect, compare_models
from rmaudit.report.results_of_run import record as write
from rmaudit.scores.score_store import Store
from rmaudit.scores.shard_scoring import Work
from tests.findings import but
from tests.report.runs import FINDING, RUN, SPEC, record

WORDS = [str(word) for word in common()[:400:5]]
PARTS = [f"qx{chr(97 + i)}" for i in range(20)]  # parts of words: nobody writes them


def swept(scores: ArrayLike, **change: Any) -> SweepSummary:
    """What the results hold of one sweep."""
    return collect(RUN, [SPEC], [record(scores, **change)], []).models[0].sweeps[0]


def ids(tokens: Iterable[Token]) -> list[int]:
    """The ids of listed tokens."""
    return [token.token_id for token in tokens]


# The whole


def test_every_part_of_a_run_is_in_its_place() -> None:
    """Run, findings and models; sweeps are filed under their models, in their order."""
    specs = [ModelSpec("b", "owner/b"), ModelSpec("a", "owner/a"), ModelSpec("c", "owner/c")]
    sweeps = [record([1, 2], model=model, key=key) for model, key in ("a1", "b2", "a3")]

    results = collect(RUN, specs, sweeps, [FINDING])

    assert (results.schema, results.run, results.findings) == (SCHEMA, RUN, (FINDING,))
    models = {each.name: [sweep.key for sweep in each.sweeps] for each in results.models}
    assert models == {"b": ["2"], "a": ["1", "3"], "c": []}
    assert list(models) == ["b", "a", "c"]
    assert collect(RUN, [SPEC], [], []).models == (
        AuditedModel("toy", "owner/name", None, None, ("Small.",), ()),
    )


# A sweep


def test_the_moments_are_those_of_numpy_and_scipy() -> None:
    """In double precision, whatever the sweep is kept in."""
    scores = np.random.default_rng(0).gamma(2, size=1000).astype(np.float32)
    sweep, exact = swept(scores), scores.astype(float)

    found = [sweep.n, sweep.mean, sweep.sd, sweep.skewness]
    assert found == pytest.approx([1000, exact.mean(), exact.std(), stats.skew(exact)])


@given(scores=st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=60))
def test_the_histogram_counts_every_score(scores: list[float]) -> None:
    """Eighty bins from the least to the greatest score, which lose none."""
    sweep = swept([*scores, -1e5, 1e5])

    histogram = sweep.histogram
    assert len(scores) + 2 == sweep.n == sum(histogram.counts)
    assert (len(histogram.counts), len(histogram.edges)) == (80, 81)
    assert [*histogram.edges] == sorted(histogram.edges)
    assert (histogram.edges[0], histogram.edges[-1]) == (-1e5, 1e5)


def test_the_best_come_first_at_the_top_and_the_worst_at_the_bottom() -> None:
    """Twenty-five tokens at either end, from the end inwards; ties in the order of their ids."""
    sweep, tied = swept(np.arange(100)), swept([1, 0, 2] * 20)

    assert (ids(sweep.top), ids(sweep.bottom)) == ([*range(109, 84, -1)], [*range(10, 35)])
    best, middle, worst = (list(range(10 + start, 70, 3)) for start in (2, 0, 1))
    assert (ids(tied.top), ids(tied.bottom)) == (best + middle[:5], worst + middle[:5])


def test_a_token_is_listed_with_its_standing() -> None:
    """Its id, piece, text and score, and the distance from the mean in sd."""
    # scores 0, 1, 2: mean 1, sd √(2/3)
    first = swept([0, 1, 2]).top[0]
    assert replace(first, z=0.0) == Token(12, "Ġw12", " w12", 2.0, 0.0)
    assert first.z == pytest.approx(math.sqrt(3 / 2))


def test_unscored_tokens_are_left_out() -> None:
    """A NaN is in no number, no bin and no list."""
    with_nan, without = swept([3, math.nan, 1, math.nan]), swept([3, 1])

    numbers = ("n", "mean", "sd", "skewness", "histogram")
    assert [getattr(with_nan, n) for n in numbers] == [getattr(without, n) for n in numbers]
    assert ids(with_nan.top) == [10, 12]
    assert ids(with_nan.bottom) == [12, 10]


@pytest.mark.parametrize("score", [0.0, 0.1, -1e4])
def test_equal_scores_have_no_shape(score: float) -> None:
    """A constant model has sd 0, and zeros rather than NaN in place of skewness and z."""
    sweep = swept([score] * 1001)

    assert (sweep.sd, sweep.skewness) == (0.0, 0.0)
    assert {token.z for token in sweep.top + sweep.bottom} == {0.0}
    assert sum(sweep.histogram.counts) == 1001


def test_the_provenance_is_plain_values() -> None:
    """Texts, numbers and flags stay; anything else, NaN included, becomes its text."""
    provenance = {"a": "x", "b": 1, "c": 0.5, "d": True, "e": math.nan, "f": None, "g": Path("p")}

    found = swept([1, 2], provenance=provenance).provenance

    expected = {"a": "x", "b": 1, "c": 0.5, "d": True, "e": "nan", "f": "None", "g": "p"}
    assert found == expected


@pytest.mark.parametrize(
    ("change", "gap"),
    [
        ({}, ""),
        ({"collected": 3, "selected": 3}, "the run did not finish"),
        ({"interrupted": True}, "the run did not finish"),
    ],
)
def test_a_run_that_did_not_finish_is_not_complete(change: dict[str, Any], gap: str) -> None:
    """Whether somebody stopped it, or it ended before all that was selected."""
    run = replace(RUN, **change)

    assert (run.complete, run.gap) == (not gap, gap)
    assert run.gaps == ((gap,) if gap else ())


# What audits rest on


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

    run = replace(RUN, collected=2, selected=2, finished=2)
    _, folder = write(findings, [SPEC], store, run, base=tmp_path / "out")

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
