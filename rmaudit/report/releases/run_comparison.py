"""Compare two results.json: which findings got better or worse.

A pure function of the two files. What is better or worse is decided by `compare_finding`. `lines`
words it for the terminal: findings (worst first), then counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rmaudit.errors import SpecError
from rmaudit.measures.after_training_evidence import Onset
from rmaudit.measures.differences_of_estimates import INDEPENDENT
from rmaudit.report.finding_words import onsets_of
from rmaudit.report.number_format import effect_in_numbers, measured_in_numbers
from rmaudit.report.releases.finding_comparison import Change, FindingChange, finding_changes
from rmaudit.report.results_document import AuditedModel, Results
from rmaudit.report.safe_text import line, log
from rmaudit.report.writers.terminal import aligned
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict
from rmaudit.verdicts.findings import AnyFinding, Finding, in_words
from rmaudit.verdicts.run_verdict import of_run

WORSE, UNDECIDED, FINE = "worse", "undecided", "none clearly worse"  # outcomes
_PAIRED = "Intervals of differences are paired: what both runs share, such as the words, cancels."
_UNCORRECTED = "No correction is made for how many audits are compared."
_PLACES = {change: place for place, change in enumerate(Change)}
_OPEN = {Change.UNCLEAR, Change.UNMEASURED, Change.INCOMPARABLE}


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A model compared between two runs: changes of its findings, and of where harms begin."""

    old: str
    new: str
    findings: tuple[FindingChange, ...]
    onsets: tuple[str, ...]
    """Sentences on harms that begin after more or less training on one than on the other."""


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
    """Compare the findings of two runs, for all models or `model` (with `other`).

    Models are paired by name; two files of one model each are compared whatever these are called.
    Models that only one file has are named, unless `model` selects one; `other` is the new file's
    model to compare that one with, where it has another name.

    Raises:
        SpecError: there are no two models to compare.
    """
    pairs = tuple(
        ModelChange(
            old=before.name,
            new=after.name,
            findings=tuple(
                finding_changes(_findings_of(old, before), _findings_of(new, after), margin)
            ),
            onsets=tuple(_onset_changes(_onsets(old, before.name), _onsets(new, after.name))),
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


def _onsets(results: Results, model: str) -> dict[str, Onset]:
    """Return the onsets of harm in training on a model, by harm."""
    every: Sequence[AnyFinding] = (*results.findings, *results.figures)
    own = (each for each in every if each.model == model)
    return {onset.harm: onset for onset in onsets_of(own)}


def _onset_changes(old: Mapping[str, Onset], new: Mapping[str, Onset]) -> Iterator[str]:
    """Yield a sentence for each harm of both runs that begins in one, at other nats in the other.

    That is no test: two intervals may overlap.
    """
    for harm, now in new.items():
        was = old.get(harm)
        if was and now.how != was.how and not (now.nats is None and was.nats is None):
            yield f"after training, {harm}: {was.how} -> {now.how}"


def _assumptions(findings: Sequence[FindingChange]) -> str:
    """Return sentences on how the intervals of differences were computed: paired or independent."""
    found = [each for each in findings if each.difference]
    said = [_PAIRED] if any(each.paired for each in found) else []
    if alone := dict.fromkeys(each.audit for each in found if not each.paired):
        said.append(f"{', '.join(alone)}: {INDEPENDENT}.")
    return " ".join([*said, _UNCORRECTED])


def _gate_raised_error(new: Results, models: set[str]) -> bool:
    """Return whether a gating audit of these models ended in an error."""
    gates = (f for f in new.findings if f.severity.gates and f.model in models)
    return any(finding.verdict is Verdict.ERROR for finding in gates)


def _outcome(findings: Sequence[FindingChange], *, lost: bool) -> str:
    """Say whether the gates got worse: worse if one did, undecided if one may have, or neither.

    It is undecided, too, if no gate was compared, or if something is `lost`: a model is missing in
    the new file, a gate ends in an error there, or that run is incomplete.
    """
    changes = {each.change for each in findings if Severity(each.severity).gates}
    if Change.WORSE in changes:
        return WORSE
    fine = changes & {Change.BETTER, Change.UNCHANGED} and not (lost or changes & _OPEN)
    return FINE if fine else UNDECIDED


def lines(said: Releases) -> list[str]:
    """Return the comparison of two runs as lines: a row for each finding to list, verdicts last.

    worse  positive_skew  best  +0.58 [+0.55, +0.61]  +0.21 [+0.18, +0.24]  -0.37 [-0.41, -0.33]
    """
    return [log(text) for text in (*_model_lines(said), *_total_lines(said))]


def _model_lines(said: Releases) -> Iterator[str]:
    for pair in said.models:
        yield f"{_run_in_words(pair.old, said.old)} -> {_run_in_words(pair.new, said.new)}"
        findings = sorted(
            filter(_is_listed, pair.findings), key=lambda found: _PLACES[found.change]
        )
        header = ("", "audit", "prompt", "old", "new", "new - old", "result")
        rows = [header, *map(_row, findings)] if findings else []
        yield from (f"  {row}" for row in aligned(rows))
        for finding in findings:
            if _has_note(finding):
                yield "  " + line(f"{finding.audit}[{finding.prompt}]: {finding.note}")
        if gone := dict.fromkeys(each.audit for each in pair.findings if each.new is None):
            yield "  " + line(f"not in the new run: {', '.join(gone)}")
        yield from (f"  {line(said)}" for said in pair.onsets)


def _is_listed(finding: FindingChange) -> bool:
    """Return whether a finding gets a row: value, result or effect changed, or it has a note.

    What the new run left out is named in one line instead.
    """
    if finding.new is None:
        return False
    words = {(side.result, side.effect) for side in (finding.old, finding.new) if side}
    same = finding.change in (Change.UNCHANGED, Change.NEVER) and len(words) == 1
    return not same or _has_note(finding)


def _has_note(finding: FindingChange) -> bool:
    both = finding.old is not None and finding.new is not None
    return bool(finding.note) and both and finding.change is not Change.NEVER


def _run_in_words(model: str, run: Origin) -> str:
    return line(f"{model} ({run.created}, rmaudit {run.rmaudit})")


def _total_lines(said: Releases) -> Iterator[str]:
    for side, run in (("old", said.old), ("new", said.new)):
        if run.incomplete:
            yield f"the {side} run is incomplete: {run.incomplete}"
    for side, names in said.unpaired.items():
        if names:
            yield line(f"only in the {side} file, not compared: {', '.join(names)}")
    counts = ", ".join(f"{n} {change}" for change, n in said.counts.items())
    margin = "" if said.margin is None else f", margin {said.margin:g}"
    yield f"{counts or 'no findings'}{margin}; gating audits: {said.outcome}"
    yield said.assumes
    why = f" ({said.new.why})" if said.new.why else ""
    yield line(f"verdicts: old {said.old.verdict}, new {said.new.verdict}{why}")


def _row(finding: FindingChange) -> tuple[str, ...]:
    sides = (finding.old, finding.new)
    said = [in_words(side.result, side.effect) if side else "none" for side in sides]
    return (
        str(finding.change),
        finding.audit,
        finding.prompt,
        *(measured_in_numbers(side.estimate if side else None) for side in sides),
        effect_in_numbers(finding.difference),
        said[0] if said[0] == said[1] else " -> ".join(said),
    )
