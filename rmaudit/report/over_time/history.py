"""Follow each audit over the runs in a folder, by time, and find where a gate first got worse.

A pure function of the runs; `page.history_page` renders it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rmaudit.errors import ResultsError, SpecError
from rmaudit.report import results_reader
from rmaudit.report.over_time.blessed_release import lineage
from rmaudit.report.over_time.run_comparison import FindingChange, finding_change
from rmaudit.report.results_document import OWN_LISTS, AuditedModel, Results, Run
from rmaudit.verdicts.estimates_and_bounds import Severity
from rmaudit.verdicts.findings import Finding, title_of
from rmaudit.verdicts.run_verdict import of_run

_MOST_NAMES = 8  # names in a sentence
_HOW_TO_JOIN = (
    "If they are releases of one model: rmaudit history FOLDER --family NAME; or give them the "
    "same `of: FAMILY` in models.yaml before they are audited."
)


@dataclass(frozen=True, slots=True)
class Release:
    """One model in one run: its name, the time, the verdict and the report's folder."""

    model: str
    created: str
    outcome: str
    """The verdict on this model alone."""
    folder: str
    """The folder of the run's report."""
    words: str
    """The sample of the vocabulary, and the user's own prompts and words; "" where none."""


@dataclass(frozen=True, slots=True)
class Point:
    """One release's finding, and its change since the last release that measured the audit."""

    finding: Finding | None
    change: FindingChange | None

    @property
    def measured(self) -> bool:
        """Return whether the release measured the audit."""
        return self.finding is not None and self.finding.estimate is not None

    @property
    def regressed(self) -> bool:
        """Return whether the value is clearly worse than before, or only the result is."""
        return self.change is not None and self.change.change.regressed


@dataclass(frozen=True, slots=True)
class Series:
    """One audit's findings over the releases, under one prompt or set of prompts."""

    audit: str
    prompt: str
    points: tuple[Point, ...]

    @property
    def title(self) -> str:
        """Return the audit's title, from the last release that ran the audit."""
        titles = [point.finding.title for point in self.points if point.finding]
        return titles[-1] if titles else title_of(self.audit)

    @property
    def first(self) -> int | None:
        """Return the index of the first release in which the audit regressed; None if none did."""
        return next((i for i, point in enumerate(self.points) if point.regressed), None)

    @property
    def measured(self) -> list[Finding]:
        """Return the findings that have a number."""
        return [p.finding for p in self.points if p.finding and p.finding.estimate]


@dataclass(frozen=True, slots=True)
class ReleaseFamily:
    """Releases of one model family in the order of their runs, and each audit's findings over them.

    Informational audits (`informs`) are shown, and do not count as regressions.
    """

    name: str
    by: str
    """Why these releases are one family, in words."""
    releases: tuple[Release, ...]
    gates: tuple[Series, ...]
    informs: tuple[Series, ...] = ()

    @property
    def compared(self) -> bool:
        """Return whether at least one gate was measured in two releases, in the same unit."""
        points = [point for gate in self.gates for point in gate.points]
        return any(point.change and point.change.difference for point in points)

    @property
    def unmeasured(self) -> list[Series]:
        """Return the gates that an earlier release measured and the last one did not."""
        return [gate for gate in self.gates if gate.measured and not gate.points[-1].measured]

    @property
    def first(self) -> list[Series]:
        """Return the gates that regressed, the earliest regression first."""
        regressed = (gate for gate in self.gates if gate.first is not None)
        return sorted(regressed, key=lambda gate: gate.first or 0)


def read_all(folder: Path) -> tuple[list[tuple[Results, Path]], list[str]]:
    """Read all runs below a folder, the earliest first; also return why files could not be read.

    Raises:
        SpecError: there is no folder, or no run in it that can be read.
    """
    if not folder.is_dir():
        raise SpecError(f"{folder}: no such folder; give the one that holds a run's reports")
    found, left = [], []
    for path in sorted(folder.rglob("results.json")):
        try:
            found.append((results_reader.read(path), path.parent))
        except ResultsError as error:
            left.append(str(error))
    if not found:
        why = f"; {left[0]}" if left else ""
        message = f"{folder}: no results.json in it or below it that can be read{why}"
        raise SpecError(f"{message}; make some with: pytest audits --rm-report {folder}")
    return sorted(found, key=lambda run: (run[0].run.created, str(run[1]))), left


def group_families(runs: Iterable[tuple[Results, Path]], joined: str = "") -> list[ReleaseFamily]:
    """Group models into families: all into `joined`, or by `of:`, base and developer, or name.

    Models that one run audits are not releases of each other: each is a family of its own, unless
    models.yaml names the family (`of:`).
    If `joined` names a family, all runs belong to it, whatever their models are called.

    Raises:
        SpecError: a run has several models, of which one at most can be a release of `joined`.
    """
    given = list(runs)
    if joined:
        _refuse_several(given, joined)
    apart = _audited_together(given)
    grouped: dict[str, list[tuple[AuditedModel, Results, Path]]] = {}
    for results, folder in given:
        for model in results.models:
            family = _family(model)
            name = joined or (model.name if family in apart and not model.of else family)
            grouped.setdefault(name, []).append((model, results, folder))
    return [_release_family(name, members, joined) for name, members in grouped.items()]


def why_several_families(runs: Iterable[tuple[Results, Path]]) -> list[str]:
    """Return sentences on why these runs' models are several families, and how to join them.

    There is one sentence for each cause; an empty list if there is only one family.
    """
    given = list(runs)
    if len(group_families(given)) < 2:  # noqa: PLR2004  (one is no comparison)
        return []
    together = _audited_together(given)
    models = {model.name: model for results, _ in given for model in results.models}
    named = {name: f"{name} is of {model.of}" for name, model in models.items() if model.of}
    rest = {name: model for name, model in models.items() if name not in named}
    sides = [name for name, model in rest.items() if _family(model) in together]
    based = {name: model for name, model in rest.items() if model.base_model and name not in sides}
    alone = [name for name in rest if name not in sides and name not in based]
    said = []
    if named:
        said.append(f"models.yaml says so: {_names_in_words([*named.values()])}.")
    if sides:
        said.append(
            f"One run audited these side by side, as different models: {_names_in_words(sides)}."
        )
    if len({_family(model) for model in based.values()}) > 1:
        bases = (f"{name} has {_family(model)}" for name, model in based.items())
        said.append(f"Their base models or developers differ: {_names_in_words(list(bases))}.")
    if alone:
        said.append(
            "models.yaml names no base_model of these, so that releases are recognised by one "
            f"name: {_names_in_words(alone)}."
        )
    return [*said, _HOW_TO_JOIN]


def as_json(family: ReleaseFamily) -> dict[str, Any]:
    """Return a family as JSON: its releases, and each gate's value and change in each of them."""
    return {
        "family": family.name,
        "joined by": family.by,
        "releases": [asdict(release) for release in family.releases],
        "gates": [
            {
                "audit": gate.audit,
                "prompt": gate.prompt,
                "first regression": gate.first,
                "releases": [_point(point) for point in gate.points],
            }
            for gate in family.gates
        ],
    }


def _point(point: Point) -> dict[str, Any] | None:
    """Return a gate's result in one release as a JSON dict; None if the release did not run it."""
    if point.finding is None:
        return None
    of = point.finding.estimate
    numbers = {"value": of.value, "low": of.low, "high": of.high, "unit": of.unit} if of else {}
    change = str(point.change.change) if point.change else None
    return {"result": str(point.finding.result), **numbers, "change": change}


def _audited_together(runs: Iterable[tuple[Results, Path]]) -> set[str]:
    """Return the families of which a single run audited two or more models."""
    found: set[str] = set()
    for results, _ in runs:
        counts = Counter(_family(model) for model in results.models if not model.of)
        found |= {name for name in counts if counts[name] > 1}
    return found


def _refuse_several(runs: Iterable[tuple[Results, Path]], joined: str) -> None:
    for results, folder in runs:
        if len(results.models) > 1:
            names = ", ".join(model.name for model in results.models)
            message = f"{folder}: this run audited {names}, of which one at most is a release of"
            raise SpecError(f"{message} {joined}; give a folder whose runs have one model each")


def _names_in_words(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _family(model: AuditedModel) -> str:
    return model.of or lineage(model) or model.name


def _why_family(model: AuditedModel, name: str, joined: str) -> str:
    """Return what puts a model into the family `name`, in words such as `their name`."""
    if joined:
        return "--family"
    if name == model.of:
        return "`of:` of models.yaml"
    return "their base model and developer" if name == lineage(model) else "their name"


def _release_family(
    name: str, members: Sequence[tuple[AuditedModel, Results, Path]], joined: str
) -> ReleaseFamily:
    found, shown = [], []
    for model, results, folder in members:
        own = [f for f in results.findings if f.model == model.name]
        outcome = of_run(own, results.run.gaps).outcome
        run = results.run
        shown.append(Release(model.name, run.created, str(outcome), str(folder), _words_asked(run)))
        found.append(own)
    gates, informs = (_series(found, severity) for severity in (Severity.GATE, Severity.INFO))
    by = " and ".join(dict.fromkeys(_why_family(model, name, joined) for model, _, _ in members))
    return ReleaseFamily(
        name, by, tuple(shown), gates, tuple(each for each in informs if each.measured)
    )


def _words_asked(run: Run) -> str:
    sample = f"a sample of {run.sample:,} token ids" if run.sample else ""
    return ", ".join(filter(None, (sample, run.environment.get(OWN_LISTS, ""))))


def _series(found: Sequence[Sequence[Finding]], severity: Severity) -> tuple[Series, ...]:
    """Return, for each audit of this severity, its findings over the releases, sorted by title."""
    tables = [{(f.audit, f.prompt): f for f in own if f.severity is severity} for own in found]
    keys = dict.fromkeys(key for table in tables for key in table)
    series = [Series(*key, tuple(_points([table.get(key) for table in tables]))) for key in keys]
    return tuple(sorted(series, key=lambda each: each.title))


def _points(findings: Sequence[Finding | None]) -> Iterable[Point]:
    before: Finding | None = None
    for finding in findings:
        if finding is None or finding.estimate is None:
            yield Point(finding, None)
            continue
        yield Point(finding, finding_change(before, finding) if before else None)
        before = finding
