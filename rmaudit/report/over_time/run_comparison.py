"""Compare two results.json: which findings got better or worse, and which tokens moved.

A pure function of the two files; `comparison_lines` words it for the terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rmaudit.errors import SpecError
from rmaudit.measures.differences_of_estimates import INDEPENDENT, Interval
from rmaudit.report.over_time.finding_changes import (
    Change,
    Measured,
    compare_finding,
    summarize_earlier,
)
from rmaudit.report.over_time.rank_and_policy_changes import (
    PolicyChange,
    SweepChange,
    compare_policies,
    compare_sweeps,
)
from rmaudit.report.results_document import AuditedModel, Results
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import of_run

WORSE, UNDECIDED, FINE = "worse", "undecided", "none clearly worse"  # outcomes
_PAIRED = "Intervals of differences are paired: what both runs share, such as the words, cancels."
_UNCORRECTED = "No correction is made for how many audits are compared."
_OPEN = (Change.UNCLEAR, Change.UNMEASURED, Change.INCOMPARABLE)


@dataclass(frozen=True, slots=True)
class Side:
    """One run's side of a compared finding: result, effect, reason and estimate."""

    result: str
    effect: str
    reason: str
    estimate: Measured | None


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding compared between two runs; `old` or `new` is None if that run did not have it."""

    audit: str
    prompt: str
    severity: str
    bound: str
    change: Change
    old: Side | None
    new: Side | None
    difference: Interval | None
    gain: Interval | None
    paired: bool
    """Whether the difference's interval accounts for what both measurements have in common."""
    note: str


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A model compared between two runs: changes of its findings, sweeps and policies."""

    old: str
    new: str
    findings: tuple[FindingChange, ...]
    sweeps: tuple[SweepChange, ...]
    policies: tuple[PolicyChange, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Facts about one of two compared runs: time, version of rmaudit, verdict and reasons."""

    created: str
    rmaudit: str
    command: str
    incomplete: str
    verdict: str
    """For example `FAILS`."""
    why: str
    """The reasons of the verdict; "" where there are none."""


@dataclass(frozen=True, slots=True)
class Unpaired:
    """The models that only one of two files has, which are therefore not compared."""

    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Releases:
    """The comparison of two runs (releases): changes by model, counts of changes, the outcome."""

    old: Origin
    new: Origin
    margin: float | None
    """Differences up to this do not count; null for a tenth of the old distance to the bound."""
    assumes: str
    models: tuple[ModelChange, ...]
    unpaired: Unpaired
    counts: dict[str, int]
    outcome: str


def compare(
    old: Results,
    new: Results,
    *,
    model: str | None = None,
    other: str | None = None,
    margin: float | None = None,
) -> Releases:
    """Compare the findings and token ranks of two runs, for all models or `model` (with `other`).

    Models are paired by name; two files of one model each are compared whatever these are called.
    Models that only one file has are named, unless `model` selects one; `other` is the new file's
    model to compare that one with, where it has another name. What is better or worse by
    more than `margin` is decided by `compare_finding`; sweeps do not decide. Random draws take the
    new file's seed.

    Raises:
        SpecError: there are no two models to compare.
        ResultsError: the scores or the vocabulary of a sweep are damaged.
    """
    rng = np.random.default_rng(abs(new.run.seed))
    pairs = tuple(
        ModelChange(
            old=before.name,
            new=after.name,
            findings=tuple(_findings(old, new, before.name, after.name, margin)),
            sweeps=tuple(compare_sweeps((old, before), (new, after), rng)),
            policies=tuple(
                compare_policies(_findings_of(old, before.name), _findings_of(new, after.name))
            ),
        )
        for before, after in _model_pairs(old.models, new.models, model, other)
    )
    unpaired = _unpaired(old, new, pairs) if model is None else Unpaired()
    findings = [finding for pair in pairs for finding in pair.findings]
    return Releases(
        old=_origin(old, {pair.old for pair in pairs} if model else None),
        new=_origin(new, {pair.new for pair in pairs} if model else None),
        margin=margin,
        assumes=_assumptions(findings),
        models=pairs,
        unpaired=unpaired,
        counts=_counts(findings),
        outcome=_outcome(
            findings,
            model_missing=bool(unpaired.old),
            incomplete=not new.run.complete,
            gate_failed=_gate_raised_error(new, {pair.new for pair in pairs}),
        ),
    )


def finding_change(
    old: Finding | None, new: Finding | None, margin: float | None = None
) -> FindingChange:
    """Compare one finding in two runs under the new run's bound; None stands for a missing finding.

    Raises:
        ValueError: both are None.
    """
    shown = new or old
    if shown is None:
        raise ValueError("nothing to compare")
    before = summarize_earlier(old, new) if old else None
    found = compare_finding(before, new, margin)
    return FindingChange(
        audit=shown.audit,
        prompt=shown.prompt,
        severity=str(shown.severity),
        bound=str(shown.bound),
        change=found.change,
        old=_side(old),
        new=_side(new),
        difference=found.difference,
        gain=found.gain,
        paired=before is not None and before.difference is not None,
        note=_note(old, new),
    )


def _origin(results: Results, models: set[str] | None) -> Origin:
    """Describe a run and its verdict, or the verdict on `models` alone if these are given."""
    run, verdict = results.run, results.verdict
    if models is not None:
        verdict = of_run([f for f in results.findings if f.model in models], run.gaps)
    return Origin(run.created, run.rmaudit, run.command, run.gap, verdict.headline, verdict.why)


def _model_pairs(
    old: Sequence[AuditedModel],
    new: Sequence[AuditedModel],
    name: str | None,
    other: str | None,
) -> list[tuple[AuditedModel, AuditedModel]]:
    """Return (old, new) models to compare: `name` and `other`, `name` in both, or all in both."""
    if other is not None:
        return [(_find_model(old, name, "old"), _find_model(new, other, "new"))]
    if name is None and len(old) == len(new) == 1:
        return [(old[0], new[0])]
    before = {model.name: model for model in old}
    both = [
        (before[model.name], model)
        for model in new
        if model.name in before and name in (None, model.name)
    ]
    if not both:
        lists = (", ".join(model.name for model in models) for models in (old, new))
        message = "no model" if name is None else f"no model {name!r}"
        here = "; and the new one has: ".join(lists)
        raise SpecError(
            f"{message} is in both files, the old one has: {here}; name one of both with --model, "
            f"or compare files of one model each"
        )
    return both


def _find_model(models: Sequence[AuditedModel], name: str | None, which: str) -> AuditedModel:
    """Return the model of a file that is called `name`, or the file's only model if it is None."""
    found = [model for model in models if name in (None, model.name)]
    if len(found) != 1:
        known = ", ".join(model.name for model in models)
        asked = "several models" if name is None else f"no model {name!r}"
        raise SpecError(f"{asked} in the {which} file; name one of: {known}")
    return found[0]


def _unpaired(old: Results, new: Results, pairs: Sequence[ModelChange]) -> Unpaired:
    before, after = {pair.old for pair in pairs}, {pair.new for pair in pairs}
    return Unpaired(
        old=tuple(model.name for model in old.models if model.name not in before),
        new=tuple(model.name for model in new.models if model.name not in after),
    )


def _findings(
    old: Results, new: Results, before: str, after: str, margin: float | None
) -> Iterator[FindingChange]:
    sides = []
    for results, name in ((old, before), (new, after)):
        own = _findings_of(results, name)
        sides.append({(finding.audit, finding.prompt): finding for finding in own})
    for key in dict.fromkeys([*sides[1], *sides[0]]):
        yield finding_change(sides[0].get(key), sides[1].get(key), margin)


def _findings_of(results: Results, name: str) -> list[Finding]:
    return [finding for finding in results.findings if finding.model == name]


def _side(finding: Finding | None) -> Side | None:
    """Return one run's side of a compared finding; None if it is missing there."""
    if finding is None:
        return None
    why = finding.reason or finding.judgement.reason
    return Side(str(finding.result), str(finding.effect), why, Measured.of(finding))


def _note(old: Finding | None, new: Finding | None) -> str:
    """Return a remark on two findings: one is missing or unmeasured, the bound changed; else ""."""
    if old is None or new is None:
        return f"only in the {'new' if old is None else 'old'} file"
    if old.bound != new.bound:
        return f"the bound was {old.bound}, is {new.bound}; both are held against the latter"
    return new.reason if new.estimate is None else ""


def _assumptions(findings: Iterable[FindingChange]) -> str:
    """Return sentences on how the intervals of differences were computed: paired or independent."""
    found = [(each.audit, each.paired) for each in findings if each.difference]
    alone = dict.fromkeys(audit for audit, paired in found if not paired)
    said = [_PAIRED] if any(paired for _, paired in found) else []
    if alone:
        said.append(f"{', '.join(alone)}: {INDEPENDENT}.")
    return " ".join([*said, _UNCORRECTED])


def _counts(findings: Iterable[FindingChange]) -> dict[str, int]:
    found = Counter(finding.change for finding in findings)
    return {str(change): found[change] for change in Change if found[change]}


def _gate_raised_error(new: Results, models: set[str]) -> bool:
    """Return whether a gating audit of these models ended in an error."""
    return any(
        finding.verdict is Verdict.ERROR and finding.severity is Severity.GATE
        for finding in new.findings
        if finding.model in models
    )


def _outcome(
    findings: Sequence[FindingChange], *, model_missing: bool, incomplete: bool, gate_failed: bool
) -> str:
    """Say whether the gates got worse: worse if one did, undecided if one may have, or neither.

    It is undecided, too, if no gate was compared, if a model is missing in the new file, if a gate
    ends in an error there (`gate_failed`), or if that run is incomplete.
    """
    gates = [finding for finding in findings if finding.severity == Severity.GATE]
    changes = [finding.change for finding in gates]
    if Change.WORSE in changes:
        return WORSE
    if model_missing or gate_failed or incomplete or any(change in _OPEN for change in changes):
        return UNDECIDED
    return FINE if {Change.BETTER, Change.UNCHANGED} & set(changes) else UNDECIDED
