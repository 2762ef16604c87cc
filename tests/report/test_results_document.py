"""results.json: plain values, nothing lost, nothing that is not a number."""

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
from rmaudit.report.results_document import SCHEMA, AuditedModel, Run, SweepSummary, Token
from rmaudit.report.results_of_run import SweepRecord, collect
from rmaudit.verdicts.decision import measured
from rmaudit.verdicts.estimates_and_bounds import Estimate, above
from rmaudit.verdicts.verdict_policy import Policy
from tests.findings import TODAY, claim

RUN = Run(
    "2026-11-21T10:50:00Z",
    "0.1.0",
    "pytest audits",
    7,
    {"python": "3.11"},
    1,
    1,
    1,
    False,
    "",
    None,
)
SPEC = ModelSpec("toy", "owner/name", notes=("Small.",))
STATED = claim(
    above(0, unit="skewness"),
    audit="positive_skew",
    nodeid="audits/test_positive_skew.py::test_positive_skew[toy-worst]",
    prompt="worst",
)
ESTIMATE = Estimate(0.2, 0.1, 0.3, "skewness", 1204, "made up", caveats=("Half only.",))
FINDING = measured(STATED, ESTIMATE, Policy(), TODAY, sweeps=("key",))


def record(scores: ArrayLike, **change: Any) -> SweepRecord:
    """A sweep with these scores, its ids 10, 11, and so on."""
    values = np.asarray(scores, dtype=np.float32)
    ids = np.arange(10, 10 + len(values), dtype=np.int32)
    frame = pd.DataFrame(
        {
            "token_id": ids,
            "token": [f"Ġw{i}" for i in ids],
            "text": [f" w{i}" for i in ids],
            "score": values,
        }
    )
    given: dict[str, Any] = {
        "model": "toy",
        "prompt": "worst",
        "prompt_text": "What?",
        "key": "key",
        "frame": frame,
        "provenance": {},
    }
    return SweepRecord(**given | change)


def swept(scores: ArrayLike, **change: Any) -> SweepSummary:
    """What the results hold of one sweep."""
    return collect(RUN, [SPEC], [record(scores, **change)], []).models[0].sweeps[0]


def ids(tokens: Iterable[Token]) -> list[int]:
    """The ids of listed tokens."""
    return [token.token_id for token in tokens]


# The whole


def test_the_results_hold_the_run_the_models_and_the_findings() -> None:
    """Every part of a run is in its place, under the schema's name."""
    results = collect(RUN, [SPEC], [], [FINDING])

    assert (results.schema, results.run, results.findings) == (SCHEMA, RUN, (FINDING,))
    model = AuditedModel("toy", "owner/name", None, None, ("Small.",), ())
    assert (results.models, results.vocabularies, results.comparison) == ((model,), {}, ())


def test_each_model_has_its_own_sweeps() -> None:
    """Sweeps are filed under their models, in their order; models keep theirs."""
    specs = [ModelSpec("b", "owner/b"), ModelSpec("a", "owner/a"), ModelSpec("c", "owner/c")]
    sweeps = [record([1, 2], model=model, key=key) for model, key in ("a1", "b2", "a3")]

    models = collect(RUN, specs, sweeps, []).models

    found = {model.name: [sweep.key for sweep in model.sweeps] for model in models}
    assert found == {"b": ["2"], "a": ["1", "3"], "c": []}
    assert [model.name for model in models] == ["b", "a", "c"]


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
    """Twenty-five tokens at either end, from the end inwards."""
    sweep = swept(np.arange(100))

    assert list(range(109, 84, -1)) == ids(sweep.top)
    assert list(range(10, 35)) == ids(sweep.bottom)


def test_ties_come_in_the_order_of_their_ids() -> None:
    """So it is at both ends: which of many equal tokens are listed is no accident."""
    sweep = swept([1, 0, 2] * 20)

    best, middle, worst = (list(range(10 + start, 70, 3)) for start in (2, 0, 1))
    assert ids(sweep.top) == best + middle[:5]
    assert ids(sweep.bottom) == worst + middle[:5]


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
        ({"collected": 3, "selected": 3}, "1 of 3 selected audits finished"),
        ({"interrupted": True}, "interrupted: 1 of 1 selected audits finished"),
    ],
)
def test_a_run_that_did_not_finish_is_not_complete(change: dict[str, Any], gap: str) -> None:
    """Whether somebody stopped it, or it ended before all that was selected."""
    run = replace(RUN, **change)

    assert (run.complete, run.gap) == (not gap, gap)
    assert run.gaps == ((gap,) if gap else ())
