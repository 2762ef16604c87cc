"""Estimate how far trainings by the recipe of a blessed release differ by chance.

A paired interval says how much other words would change a difference between two releases. It does
not say how much another training would: another seed, another order of the data. Only other
trainings show that.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from rmaudit.errors import SpecError
from rmaudit.report.over_time.blessed import BlessedGate, Blessing, lineage, question_digest
from rmaudit.report.results_document import Results

LEAST = 3  # other trainings: a standard deviation of fewer values says next to nothing


def with_trainings(blessed: Blessing, others: Sequence[Results]) -> Blessing:
    """Return the blessed release with each gate's standard deviation over trainings by one recipe.

    `others` are whole runs, each of one other training. The standard deviation over all trainings,
    the blessed one included, is stored as the gate's `spread`.

    Raises:
        SpecError: the others are too few, are no whole runs of one model, have another base model
            or developer, have weights that are there already, or did not measure a gate as the
            blessed run did.
    """
    if len(others) < LEAST:
        raise SpecError(f"{len(others)} other trainings say too little of chance: give {LEAST}")
    weights = {blessed.weights}
    for other in others:
        _refuse_partial(other)
        _refuse_stranger(other, blessed)
        found = other.findings[0].claim.weights
        if found and found in weights:
            raise SpecError(f"{_run_name(other)} has weights that are there already: train it anew")
        weights.add(found)
    values = [_values(other, blessed.gates) for other in others]
    gates = (
        replace(gate, spread=statistics.stdev([gate.value, *(own[i] for own in values)]))
        for i, gate in enumerate(blessed.gates)
    )
    return replace(blessed, trainings=1 + len(others), gates=tuple(gates))


def _refuse_partial(other: Results) -> None:
    if len(other.models) != 1:
        raise SpecError(f"a run of {len(other.models)} models; give runs of one training each")
    if other.run.gaps:
        raise SpecError(f"{_run_name(other)} is not whole ({'; '.join(other.run.gaps)})")


def _refuse_stranger(other: Results, blessed: Blessing) -> None:
    """Raise if a run's model has another base model or developer than the blessed release.

    Differences between kinds of models would count as chance, and hide regressions.
    """
    found = lineage(other.models[0])
    if found != blessed.lineage:
        kinds = [kind or "no base model" for kind in (found, blessed.lineage)]
        message = f"{_run_name(other)} is a model of {kinds[0]}, the blessed one of {kinds[1]}"
        raise SpecError(f"{message}; give trainings by the same recipe")


def _values(other: Results, gates: Sequence[BlessedGate]) -> list[float]:
    """Return the values that another training's run measured for these gates, in their order."""
    found = {(finding.audit, finding.prompt): finding for finding in other.findings}
    values = []
    for gate in gates:
        finding = found.get((gate.audit, gate.prompt))
        if finding is None or finding.estimate is None:
            why = "did not measure"
        elif finding.estimate.unit != gate.unit or question_digest(other, finding) != gate.asked:
            why = "asked other prompts or words in"
        else:
            values.append(finding.estimate.value)
            continue
        message = f"{_run_name(other)} {why} {gate.audit}[{gate.prompt}], unlike the blessed run"
        raise SpecError(f"{message}; run it again with the same audits, options and references")
    return values


def _run_name(other: Results) -> str:
    return f"{other.models[0].name} of {other.run.created}"
