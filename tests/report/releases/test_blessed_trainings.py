"""Trainings by one recipe: what they differ by is chance, and no regression."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rmaudit.errors import SpecError
from rmaudit.report import json_codec
from rmaudit.report.releases.blessed_release import Blessing
from rmaudit.report.releases.blessed_trainings import LEAST, with_trainings
from rmaudit.report.releases.release_regressions import with_blessed
from rmaudit.report.results_document import Results
from rmaudit.report.results_reader import contradiction
from rmaudit.verdicts.run_verdict import Outcome
from tests.findings import but, gap
from tests.report.releases.test_blessed_release import blessed, gate, run_of
from tests.report.runs import SPEC


def training(number: int, value: float) -> Results:
    """A run of one training: two gates, of which the second is always alike."""
    first = but(gate(0, value, own=0.0), weights=f"w{number}")
    return run_of(first, but(gate(1, own=0.0), weights=f"w{number}"))


def trained(values: Sequence[float]) -> Blessing:
    """A training of value 1, blessed beside others of these values."""
    first = replace(blessed(training(0, 1.0)), weights="w0")
    others = [training(1 + i, value) for i, value in enumerate(values)]
    return with_trainings(first, others) if others else first


def test_mean_and_spread_are_those_of_all_trainings() -> None:
    """The blessed release is one of them; its `parts` are averaged as its value is."""
    values = [1.0, 0.8, 1.3, 1.1]
    others = [training(1 + i, value) for i, value in enumerate(values[1:])]
    first = replace(blessed(training(0, 1.0)), weights="w0")

    made = with_trainings(first, others)

    assert made.trainings == 4
    assert [gate.spread for gate in made.gates] == [statistics.stdev(values), 0.0]
    gate = made.gates[0]
    assert gate.value == pytest.approx(1.05)
    assert gate.high - gate.low == pytest.approx(first.gates[0].high - first.gates[0].low)
    every = [training(0, 1.0), *others]
    parts = [f.estimate.parts for run in every for f in run.findings[:1] if f.estimate]
    assert gate.estimate.parts == pytest.approx(np.mean(parts, axis=0), rel=1e-3, abs=1e-6)


@pytest.mark.slow
def test_an_unlucky_draw_blocks_as_often_as_it_should() -> None:
    """Of trainings that are alike, one in twenty at most regresses, if the spread is all there is.

    The oracle is the draw itself: trainings of a normal value, six blessed and a seventh audited.
    """
    rng = np.random.default_rng(0)
    draws, blocked = 200, 0
    for _ in range(draws):
        first, *others, new = (1 + 0.2 * rng.standard_normal(7)).tolist()
        runs = [training(1 + i, value) for i, value in enumerate(others)]
        own = with_trainings(replace(blessed(training(0, first)), weights="w0"), runs)
        results = with_blessed(training(9, new), {SPEC.name: own})
        blocked += any(finding.judgement.regressed for finding in results.findings)
    assert blocked <= 0.05 * draws + 3 * (0.05 * 0.95 * draws) ** 0.5


@pytest.mark.parametrize(
    ("values", "now", "outcome"),
    [
        ([0.7, 1.3, 1.1, 0.9], 0.6, Outcome.PASSES),  # as far as trainings differ
        ([0.6, 0.7, 0.65, 0.62, 0.66], 0.62, Outcome.PASSES),  # the first was high by chance
        ([], 0.62, Outcome.FAILS),  # nothing is known of chance: the same loss blocks
        ([0.95, 1.05, 1.02, 0.98], 0.5, Outcome.FAILS),  # inside its bound, and no chance
        ([0.95, 1.05, 1.02, 0.98], 0.75, Outcome.FAILS),  # nor at half of that, as five say
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
        ([*good, stranger], r"a model of Another \(owner\), the blessed one of no base model"),
    ):
        with pytest.raises(SpecError, match=words):
            with_trainings(first, others)
