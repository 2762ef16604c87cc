"""Runs of a folder side by side: every audit over releases, where each gate first got worse.

A pure function of the runs; `writers.history_page` shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmaudit.errors import ResultsError, SpecError
from rmaudit.report import document, releases
from rmaudit.report.document import AuditedModel, Results
from rmaudit.report.page.titles import place
from rmaudit.report.release_changes import Change, FindingChange
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.outcome import of_run
from rmaudit.verdicts.records import Result, Severity


@dataclass(frozen=True, slots=True)
class Release:
    """A model of one run."""

    model: str
    created: str
    outcome: str
    """Of this model alone."""
    folder: str
    """Of the run's report."""


@dataclass(frozen=True, slots=True)
class Point:
    """One finding of a release, and what became of it since the release before it that has it."""

    finding: Finding | None
    change: FindingChange | None
    regressed: bool
    """Clearly worse than before, or no longer passing."""


@dataclass(frozen=True, slots=True)
class Series:
    """An audit under one prompt, or set of prompts, over the releases: a point for each."""

    audit: str
    prompt: str
    points: tuple[Point, ...]

    @property
    def first(self) -> int | None:
        """The place of the first regression; None where there is none."""
        return next((i for i, point in enumerate(self.points) if point.regressed), None)

    @property
    def measured(self) -> list[Finding]:
        """The findings that have a number."""
        return [p.finding for p in self.points if p.finding and p.finding.estimate]


@dataclass(frozen=True, slots=True)
class Family:
    """Releases of one family of models in the order of their runs.

    Their gates, and what only `informs`: it is shown, and is no regression of the family's.
    """

    name: str
    releases: tuple[Release, ...]
    gates: tuple[Series, ...]
    informs: tuple[Series, ...] = ()

    @property
    def first(self) -> list[Series]:
        """The gates that regressed, those that did so first before the others."""
        return sorted((gate for gate in self.gates if gate.first is not None), key=_first)


def read_all(folder: Path) -> tuple[list[tuple[Results, Path]], list[str]]:
    """All runs below a folder by the time of their start, and why others were passed over.

    Raises:
        SpecError: there is no folder, or no run in it that can be read.
    """
    if not folder.is_dir():
        raise SpecError(f"{folder}: no such folder; give the one that holds a run's reports")
    found, left = [], []
    for path in sorted(folder.rglob("results.json")):
        try:
            found.append((document.read(path), path.parent))
        except ResultsError as error:
            left.append(str(error))
    if not found:
        why = f"; {left[0]}" if left else ""
        message = f"{folder}: no results.json in it or below it that can be read{why}"
        raise SpecError(f"{message}; make some with: pytest audits --rm-report {folder}")
    return sorted(found, key=lambda run: (run[0].run.created, str(run[1]))), left


def families(runs: Iterable[tuple[Results, Path]]) -> list[Family]:
    """The runs' models by family: one base model of one developer, or one name where it has none.

    Models that one run audits are no releases of one another: each is a family by its name.
    A gate regresses where the paired difference from the release before is clearly worse
    (`releases`), or where it passed then and does not now.
    """
    given = list(runs)
    apart: set[str] = set()
    for results, _ in given:
        counts = Counter(map(_family, results.models))
        apart |= {name for name in counts if counts[name] > 1}
    grouped: dict[str, list[tuple[AuditedModel, Results, Path]]] = {}
    for results, folder in given:
        for model in results.models:
            family = _family(model)
            name = model.name if family in apart else family
            grouped.setdefault(name, []).append((model, results, folder))
    return [_told(name, members) for name, members in grouped.items()]


def _family(model: AuditedModel) -> str:
    if not model.base_model:
        return model.name
    return f"{model.base_model} ({model.developer})" if model.developer else model.base_model


def _told(name: str, members: Sequence[tuple[AuditedModel, Results, Path]]) -> Family:
    found, told = [], []
    for model, results, folder in members:
        own = [f for f in results.findings if f.model == model.name]
        outcome = of_run(own, results.run.gaps).outcome
        told.append(Release(model.name, results.run.created, str(outcome), str(folder)))
        found.append(own)
    gates, informs = (_series(found, severity) for severity in (Severity.GATE, Severity.INFO))
    return Family(name, tuple(told), gates, tuple(each for each in informs if each.measured))


def _series(found: Sequence[Sequence[Finding]], severity: Severity) -> tuple[Series, ...]:
    """What the releases have of each audit of this severity."""
    tables = [{(f.audit, f.prompt): f for f in own if f.severity is severity} for own in found]
    keys = dict.fromkeys(key for table in tables for key in table)
    ordered = sorted(keys, key=lambda key: place(key[0]))
    return tuple(
        Series(*key, tuple(_points([table.get(key) for table in tables]))) for key in ordered
    )


def _points(findings: Sequence[Finding | None]) -> Iterable[Point]:
    before: Finding | None = None
    for finding in findings:
        if finding is None or finding.estimate is None:
            yield Point(finding, None, regressed=False)
            continue
        change = releases.finding_change(before, finding) if before else None
        passed = before is not None and before.result is Result.PASS
        lost = passed and finding.result is not Result.PASS
        worse = change is not None and change.change is Change.WORSE
        yield Point(finding, change, regressed=worse or lost)
        before = finding


def _first(gate: Series) -> int:
    return len(gate.points) if gate.first is None else gate.first
