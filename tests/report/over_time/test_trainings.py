"""Trainings by one recipe: what they differ by is chance, and no regression."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rmaudit.errors import SpecError
from rmaudit.report import json_codec
from rmaudit.report.contradictions import contradiction
from rmaudit.report.over_time.blessed import Blessing
from rmaudit.report.over_time.regressions import with_blessed
from rmaudit.report.over_time.trainings import LEAST, with_trainings
from rmaudit.report.results_document import Results
from rmaudit.verdicts.outcome import Outcome
from tests.findings import but, gap
from tests.report.over_time.test_blessed import blessed, gate, run_of
from tests.report.test_results_document import SPEC


def training(number: int, value: float) -> Results:
    """A run of one training: two gates, of which the second is always alike."""
    first = but(gate(0, value, own=0.0), weights=f"w{number}")
    return run_of(first, but(gate(1, own=0.0), weights=f"w{number}"))


def trained(values: Sequence[float]) -> Blessing:
    """A training of value 1, blessed beside others of these values."""
    first = replace(blessed(training(0, 1.0)), weights="w0")
    others = [training(1 + i, value) for i, value in enumerate(values)]
    return with_trainings(first, others) if others else first


def test_the_spread_is_that_of_all_trainings() -> None:
    """The blessed release is one of them."""
    made = trained([0.8, 1.3, 1.1])

    assert made.trainings == 4
    assert [gate.spread for gate in made.gates] == [statistics.stdev([1.0, 0.8, 1.3, 1.1]), 0.0]


@pytest.mark.parametrize(
    ("values", "now", "outcome"),
    [
        ([0.7, 1.3, 1.1, 0.9], 0.6, Outcome.PASSES),  # as far as trainings differ
        ([], 0.6, Outcome.FAILS),  # nothing is known of chance: the same loss blocks
        ([0.95, 1.05, 1.02, 0.98], 0.5, Outcome.FAILS),  # inside its bound, and no chance
        ([0.999, 1.001, 1.0], 0.85, Outcome.FAILS),  # less than a quarter, and no chance
        ([0.999, 1.001, 1.0], 0.95, Outcome.PASSES),  # less than a tenth matters to nobody
    ],
)
def test_a_release_is_held_against_chance(
    values: list[float], now: float, outcome: Outcome
) -> None:
    """What trainings differ by does not block; what they do not differ by blocks earlier."""
    results = with_blessed(training(9, now), {SPEC.name: trained(values)})

    assert results.verdict.outcome is outcome
    assert contradiction(json_codec.decode(Results, json_codec.encode(results))) == ""


def test_what_is_no_other_training_is_refused() -> None:
    """Each with what was found and what to do."""
    first = replace(blessed(training(0, 1.0)), weights="w0")
    good = [training(1 + i, 1.0) for i in range(LEAST)]
    unlike = training(8, 1.0)
    gone = gap(audit="gate_0", model=SPEC.name, model_source=SPEC.source, weights="w8")
    missing = replace(unlike, findings=(gone, unlike.findings[1]))
    stranger = replace(unlike, models=(replace(unlike.models[0], base_model="Another"),))
    sampled = replace(unlike, run=replace(unlike.run, sample=300))

    for others, words in (
        (good[1:], "2 other trainings"),
        ([*good, training(0, 1.0)], "weights that are there already"),
        ([*good, good[0]], "weights that are there already"),
        ([*good, missing], r"did not measure gate_0\[best\]"),
        ([*good, sampled], "is not whole"),
        ([*good, replace(unlike, models=unlike.models * 2)], "2 models"),
        ([*good, stranger], "a model of Another, the blessed one of no base model"),
    ):
        with pytest.raises(SpecError, match=words):
            with_trainings(first, others)
