"""Tokens of two releases compared: how sweeps are paired, and what moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rmaudit.report.releases.run_comparison import compare, lines
from rmaudit.report.releases.sweep_comparison import MovedToken
from tests.report.runs import RUN, record, results


def test_sweeps_are_paired_by_id_or_else_by_text() -> None:
    """Of one vocabulary by id, else the texts that both have; tau is scipy's, new against old."""
    rng = np.random.default_rng(5)
    old = rng.normal(size=60).astype(np.float32)
    new = old + rng.normal(scale=0.1, size=60).astype(np.float32)
    new[7], new[9] = old.max() + 1, np.nan
    shifted = record(new).frame.assign(text=[f" w{i}" for i in range(15, 75)])

    by_id, by_text = (
        compare(results(sweeps=[record(old)]), results(sweeps=[record(new, frame=frame)]))
        for frame in (record(new).frame, shifted)
    )

    kept = ~np.isnan(new)
    for said, how, x, y in (
        (by_id, "token id", old[kept], new[kept]),
        (by_text, "text", old[5:][kept[:55]], new[:55][kept[:55]]),
    ):
        (sweep,) = said.models[0].sweeps
        assert (sweep.paired_by, sweep.tokens) == (how, len(x))
        assert sweep.of == {"old": 60, "new": 59}
        assert sweep.tau is not None
        assert sweep.tau.value == pytest.approx(stats.kendalltau(x, y).statistic)
        assert sweep.tau.low < sweep.tau.value < sweep.tau.high
        assert sweep.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
        assert said.outcome == "undecided"  # sweeps say nothing of better or worse
    rank = int(stats.rankdata(-old[kept])[7])
    assert by_id.models[0].sweeps[0].rose[0] == MovedToken(" w17", rank, 1.0)


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
