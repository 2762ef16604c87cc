"""Tokens of two releases compared: how sweeps are paired, and what moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rmaudit.report.releases.run_comparison import compare, lines
from rmaudit.report.releases.sweep_comparison import MovedToken
from tests.report.runs import RUN, record, results


def test_sweeps_of_one_vocabulary_are_paired_by_id() -> None:
    """Tau and rho are scipy's; the tokens that moved are told by rank."""
    rng = np.random.default_rng(5)
    old = rng.normal(size=60)
    new = old + 0.1 * rng.normal(size=60)
    new[7], new[9] = old.max() + 1, np.nan

    said = compare(results(sweeps=[record(old)]), results(sweeps=[record(new)]))

    (sweep,) = said.models[0].sweeps
    kept = ~np.isnan(new)
    x, y = (side[kept].astype(np.float32) for side in (new, old))
    rank = int(stats.rankdata(-y)[7])
    assert (sweep.paired_by, sweep.tokens, sweep.of) == (
        "token id",
        59,
        {"old": 60, "new": 59},
    )
    assert sweep.tau is not None
    assert sweep.tau.value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert sweep.tau.low < sweep.tau.value < sweep.tau.high
    assert sweep.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert sweep.rose[0] == MovedToken(" w17", rank, 1.0)
    assert said.outcome == "undecided"  # sweeps say nothing of better or worse


def test_sweeps_of_two_vocabularies_are_paired_by_text() -> None:
    """The same tokens under other ids, and some that only one side has."""
    rng = np.random.default_rng(6)
    old, new = record(rng.normal(size=50)), record(rng.normal(size=50))
    shifted = new.frame.assign(text=[f" w{i}" for i in range(15, 65)])

    said = compare(results(sweeps=[old]), results(sweeps=[replace(new, frame=shifted)]))

    (sweep,) = said.models[0].sweeps
    x, y = new.frame["score"][:45], old.frame["score"][5:]
    assert (sweep.paired_by, sweep.tokens) == ("text", 45)
    assert sweep.tau is not None
    assert sweep.tau.value == pytest.approx(stats.kendalltau(x, y).statistic)


def test_sweeps_of_other_prompts_or_protocols_are_not_compared() -> None:
    """Nor those of which there is only a summary."""
    scores = np.arange(40.0)
    old = results(sweeps=[record(scores)])
    for other in (
        record(scores, prompt_text="Why?"),
        record(scores, provenance={"protocol": "paper"}),
        record(scores, whole=False),
    ):
        assert compare(old, results(sweeps=[other])).models[0].sweeps == ()


def test_a_comparison_is_deterministic() -> None:
    """The seed is the new file's; noise is drawn by it."""
    rng = np.random.default_rng(8)
    old, new = (
        results(sweeps=[record(rng.normal(size=60), provenance={"noise": 0.05})]) for _ in "ab"
    )

    assert compare(old, new) == compare(old, new)
    assert compare(old, new) != compare(old, replace(new, run=replace(RUN, seed=8)))


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ([1, 2], "2 tokens paired by text (of 3 and 2)"),
        ([1, 2, 3], "3 tokens paired by token id; 3 words are in both"),
    ],
)
def test_a_part_of_a_sweep_is_told(new: list[float], told: str) -> None:
    """How many tokens either side has, where not all are paired; why there is no number."""
    said = compare(results(sweeps=[record([1, 2, 3])]), results(sweeps=[record(new)]))

    assert told in "\n".join(lines(said))
