"""Compare two results.json: which findings got better or worse, and which tokens moved.

A pure function of the two files; `comparison_lines` words it for the terminal. What is better or
worse is decided by `compare_finding`; tokens decide nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rmaudit.errors import MeasureError, SpecError
from rmaudit.measures import ranking_comparison
from rmaudit.measures._stats import UNMEASURED
from rmaudit.measures.differences_of_estimates import INDEPENDENT, Interval
from rmaudit.report import packed_scores
from rmaudit.report.releases.finding_comparison import (
    Change,
    Measured,
    compare_finding,
    summarize_earlier,
)
from rmaudit.report.results_document import AuditedModel, Results, SweepSummary
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import of_run

WORSE, UNDECIDED, FINE = "worse", "undecided", "none clearly worse"  # outcomes
MOVED = 10  # tokens at either end
_PAIRED = "Intervals of differences are paired: what both runs share, such as the words, cancels."
_UNCORRECTED = "No correction is made for how many audits are compared."
_OPEN = {Change.UNCLEAR, Change.UNMEASURED, Change.INCOMPARABLE}


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
class MovedToken:
    """A token and its ranks in the old and the new sweep; 1 is the best."""

    text: str
    old: float
    new: float


@dataclass(frozen=True, slots=True)
class SweepChange:
    """How alike two sweeps rank their shared tokens, and which tokens moved furthest."""

    prompt: str
    paired_by: str
    tokens: int
    of: dict[str, int]
    """The number of tokens in the old sweep, and in the new one."""
    tau: Interval | None = None
    spearman: float | None = None
    reason: str = ""
    rose: tuple[MovedToken, ...] = ()
    fell: tuple[MovedToken, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A model compared between two runs: changes of its findings and sweeps."""

    old: str
    new: str
    findings: tuple[FindingChange, ...]
    sweeps: tuple[SweepChange, ...]


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
class Releases:
    """The comparison of two runs (releases): changes by model, counts of changes, the outcome."""

    old: Origin
    new: Origin
    margin: float | None
    """Differences up to this do not count; null for a tenth of the old distance to the bound."""
    assumes: str
    models: tuple[ModelChange, ...]
    unpaired: dict[str, list[str]]
    """The models that only the old file has, or the new one, which are therefore not compared."""
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
    model to compare that one with, where it has another name. Random draws take the new file's
    seed.

    Raises:
        SpecError: there are no two models to compare.
        ResultsError: the scores or the vocabulary of a sweep are damaged.
    """
    rng = np.random.default_rng(abs(new.run.seed))
    pairs = tuple(
        ModelChange(
            old=before.name,
            new=after.name,
            findings=tuple(
                _finding_changes(_findings_of(old, before), _findings_of(new, after), margin)
            ),
            sweeps=tuple(_sweep_changes((old, before), (new, after), rng)),
        )
        for before, after in _model_pairs(old.models, new.models, model, other)
    )
    names = {pair.old for pair in pairs}, {pair.new for pair in pairs}
    alone: dict[str, list[str]] = {"old": [], "new": []}
    if model is None:
        alone["old"] = [each.name for each in old.models if each.name not in names[0]]
        alone["new"] = [each.name for each in new.models if each.name not in names[1]]
    findings = [finding for pair in pairs for finding in pair.findings]
    found = Counter(finding.change for finding in findings)
    return Releases(
        old=_origin(old, names[0] if model else None),
        new=_origin(new, names[1] if model else None),
        margin=margin,
        assumes=_assumptions(findings),
        models=pairs,
        unpaired=alone,
        counts={str(change): found[change] for change in Change if found[change]},
        outcome=_outcome(
            findings,
            lost=bool(alone["old"]) or not new.run.complete or _gate_raised_error(new, names[1]),
        ),
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


def _findings_of(results: Results, model: AuditedModel) -> dict[tuple[str, str], Finding]:
    """Return a model's findings, by audit and prompt."""
    return {(f.audit, f.prompt): f for f in results.findings if f.model == model.name}


def _finding_changes(
    old: dict[tuple[str, str], Finding], new: dict[tuple[str, str], Finding], margin: float | None
) -> Iterator[FindingChange]:
    for key in dict.fromkeys([*new, *old]):
        before, after = old.get(key), new.get(key)
        shown = after or old[key]
        earlier = summarize_earlier(before, after) if before else None
        found = compare_finding(earlier, after, margin)
        yield FindingChange(
            audit=shown.audit,
            prompt=shown.prompt,
            severity=str(shown.severity),
            bound=str(shown.bound),
            change=found.change,
            old=_side(before),
            new=_side(after),
            difference=found.difference,
            gain=found.gain,
            paired=earlier is not None and earlier.difference is not None,
            note=_note(before, after),
        )


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


def _assumptions(findings: Sequence[FindingChange]) -> str:
    """Return sentences on how the intervals of differences were computed: paired or independent."""
    found = [each for each in findings if each.difference]
    said = [_PAIRED] if any(each.paired for each in found) else []
    if alone := dict.fromkeys(each.audit for each in found if not each.paired):
        said.append(f"{', '.join(alone)}: {INDEPENDENT}.")
    return " ".join([*said, _UNCORRECTED])


def _gate_raised_error(new: Results, models: set[str]) -> bool:
    """Return whether a gating audit of these models ended in an error."""
    gates = (f for f in new.findings if f.severity is Severity.GATE and f.model in models)
    return any(finding.verdict is Verdict.ERROR for finding in gates)


def _outcome(findings: Sequence[FindingChange], *, lost: bool) -> str:
    """Say whether the gates got worse: worse if one did, undecided if one may have, or neither.

    It is undecided, too, if no gate was compared, or if something is `lost`: a model is missing in
    the new file, a gate ends in an error there, or that run is incomplete.
    """
    changes = {each.change for each in findings if each.severity == Severity.GATE}
    if Change.WORSE in changes:
        return WORSE
    fine = changes & {Change.BETTER, Change.UNCHANGED} and not (lost or changes & _OPEN)
    return FINE if fine else UNDECIDED


def _sweep_changes(
    old: tuple[Results, AuditedModel], new: tuple[Results, AuditedModel], rng: np.random.Generator
) -> Iterator[SweepChange]:
    """Yield, for each prompt and protocol of both releases, how alike their sweeps rank tokens.

    Sweeps without a score per token (only a summary is stored) are left out.
    """
    before = {_question(sweep): sweep for sweep in old[1].sweeps if sweep.scores}
    for after in new[1].sweeps:
        if after.scores and (earlier := before.get(_question(after))):
            yield _sweep_change((old[0], earlier), (new[0], after), rng)


def _question(sweep: SweepSummary) -> tuple[str, str]:
    return sweep.prompt_text, str(sweep.provenance.get("protocol"))


def _sweep_change(
    old: tuple[Results, SweepSummary], new: tuple[Results, SweepSummary], rng: np.random.Generator
) -> SweepChange:
    before, after = old[1], new[1]
    by_id = before.vocabulary == after.vocabulary
    frames = (packed_scores.frame(run.vocabularies, sweep) for run, sweep in (old, new))
    both = ranking_comparison.paired(*map(packed_scores.spelled, frames), by_id=by_id)
    paired_by = "token id" if by_id else "text"
    found = SweepChange(after.prompt, paired_by, len(both), {"old": before.n, "new": after.n})
    try:
        tau = ranking_comparison.correlation(
            both, rng=rng, noise=_noise(after), baseline_noise=_noise(before)
        )
    except MeasureError as error:
        return replace(found, reason=str(error))
    rose, fell = (_moved_tokens(rows) for rows in ranking_comparison.moved(both, MOVED))
    rho = tau.secondary["Spearman's rho"]
    return replace(found, tau=Interval.of(tau), spearman=rho, rose=rose, fell=fell)


def _noise(sweep: SweepSummary) -> float:
    """Return the standard deviation of a sweep's numeric noise; NaN if it was not measured."""
    noise = sweep.provenance.get("noise")
    return float(noise) if isinstance(noise, int | float) else UNMEASURED


def _moved_tokens(rows: pd.DataFrame) -> tuple[MovedToken, ...]:
    columns = (rows[name] for name in ("text", "old", "new"))
    return tuple(
        MovedToken(str(text), float(old), float(new))
        for text, old, new in zip(*columns, strict=True)
    )
