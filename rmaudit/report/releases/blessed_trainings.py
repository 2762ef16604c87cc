"""Add to a blessed release how far other trainings by its recipe differ: by chance alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rmaudit.errors import SpecError
from rmaudit.report.releases.blessed_release import (
    BlessedGate,
    Blessing,
    lineage,
    parts_as_text,
    question_digest,
)
from rmaudit.report.results_document import Results
from rmaudit.verdicts.estimates_and_bounds import Estimate

LEAST = 3  # other trainings: a standard deviation of fewer values says next to nothing


def with_trainings(blessed: Blessing, others: Sequence[Results]) -> Blessing:
    """Return the blessed release with each gate's mean and spread over it and the `others`.

    `others` are whole runs, each of one other training. Over all trainings, the blessed one
    included, each gate has the mean of the values, intervals and parts, and the values' standard
    deviation as its `spread`. The verdicts stay those of the blessed run. A paired interval says
    how much other words would change a difference, and not how much another seed or order of the
    data would: only other trainings show that, and chance moves their mean less than any of them.

    Raises:
        SpecError: the others are too few, are no whole runs of one model, have another base model
            or owner, have weights that are there already, or did not measure a gate as the
            blessed run did.
    """
    if len(others) < LEAST:
        raise SpecError(f"{len(others)} other trainings say too little of chance: give {LEAST}")
    weights = {blessed.weights}
    for other in others:
        _refuse_unlike(other, blessed)
        found = other.findings[0].claim.weights
        if found and found in weights:
            raise SpecError(f"{_run_name(other)} has weights that are there already: train it anew")
        weights.add(found)
    measured = [_estimates(other, blessed.gates) for other in others]
    gates = (
        _over_trainings(gate, [gate.estimate, *(own[i] for own in measured)])
        for i, gate in enumerate(blessed.gates)
    )
    return replace(blessed, trainings=1 + len(others), gates=tuple(gates))


def _over_trainings(gate: BlessedGate, all_of: Sequence[Estimate]) -> BlessedGate:
    """Return a gate with the mean and the standard deviation of its estimates over trainings."""
    all_parts = [of.parts for of in all_of]
    return replace(
        gate,
        value=statistics.fmean(of.value for of in all_of),
        low=statistics.fmean(of.low for of in all_of),
        high=statistics.fmean(of.high for of in all_of),
        parts=parts_as_text(np.mean(all_parts, axis=0)) if all(all_parts) else "",
        spread=statistics.stdev(of.value for of in all_of),
    )


def _refuse_unlike(other: Results, blessed: Blessing) -> None:
    """Raise unless a run is a whole one of one model, with the blessed release's base and owner.

    Differences between kinds of models would count as chance, and hide regressions.
    """
    if len(other.models) != 1:
        raise SpecError(f"a run of {len(other.models)} models; give runs of one training each")
    if other.run.gaps:
        raise SpecError(f"{_run_name(other)} is not whole ({'; '.join(other.run.gaps)})")
    if (found := lineage(other.models[0])) != blessed.lineage:
        kinds = [kind or "no base model" for kind in (found, blessed.lineage)]
        message = f"{_run_name(other)} is a model of {kinds[0]}, the blessed one of {kinds[1]}"
        raise SpecError(f"{message}; give trainings by the same recipe")


def _estimates(other: Results, gates: Sequence[BlessedGate]) -> list[Estimate]:
    """Return the estimates of these gates, in order, from the run on another training's model."""
    found = {(finding.audit, finding.prompt): finding for finding in other.findings}
    estimates = []
    for gate in gates:
        finding = found.get((gate.audit, gate.prompt))
        if finding is None or finding.estimate is None:
            why = "did not measure"
        elif finding.estimate.unit != gate.unit or question_digest(other, finding) != gate.asked:
            why = "asked other prompts or words in"
        else:
            estimates.append(finding.estimate)
            continue
        message = f"{_run_name(other)} {why} {gate.audit}[{gate.prompt}], unlike the blessed run"
        raise SpecError(f"{message}; run it again with the same audits, options and references")
    return estimates


def _run_name(other: Results) -> str:
    return f"{other.models[0].name} of {other.run.created}"
