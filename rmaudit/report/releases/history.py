"""Follow each gate over the runs of a folder, by time, and find where it first got worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rmaudit.errors import ResultsError, SpecError
from rmaudit.report import number_format, results_reader
from rmaudit.report.releases.blessed_release import lineage
from rmaudit.report.releases.finding_comparison import Changed, compare_findings
from rmaudit.report.results_document import OWN_LISTS, AuditedModel, Results, Run
from rmaudit.report.safe_text import line
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import of_run

APART = (
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

    @property
    def name(self) -> str:
        """Return the model's name and the time of the run."""
        return f"{self.model}, {self.created[:16].replace('T', ' ')}"


@dataclass(frozen=True, slots=True)
class Point:
    """One release's finding of a gate, and its change since the last release that measured it."""

    finding: Finding | None
    before: Finding | None = None
    change: Changed | None = None

    @property
    def measured(self) -> bool:
        """Return whether the release measured the gate."""
        return self.finding is not None and self.finding.estimate is not None

    @property
    def regressed(self) -> bool:
        """Return whether the value is clearly worse than before, or only the result is."""
        return self.change is not None and self.change.change.regressed

    @property
    def moved(self) -> str:
        """Describe the change, as `0.31 to 0.52, +0.21 [+0.18, +0.24]; pass to fail`; or ""."""
        if not (self.finding and self.before and self.change):
            return ""
        said = []
        old, new, off = self.before.estimate, self.finding.estimate, self.change.difference
        if old and new and off:
            values = f"{number_format.value(self.before)} to {number_format.value(self.finding)}"
            said.append(f"{values}, {off.value:+.2f} [{off.low:+.2f}, {off.high:+.2f}]")
        if self.before.result != self.finding.result:
            said.append(f"{self.before.result} to {self.finding.result}")
        return "; ".join(said)


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate's findings over the releases, under one prompt or set of prompts."""

    audit: str
    prompt: str
    points: tuple[Point, ...]

    @property
    def first(self) -> int | None:
        """Return the index of the first release in which it regressed; None if in none."""
        return next((i for i, point in enumerate(self.points) if point.regressed), None)

    @property
    def last(self) -> Finding:
        """Return the finding of the last release that ran the audit."""
        return [point.finding for point in self.points if point.finding][-1]


@dataclass(frozen=True, slots=True)
class ReleaseFamily:
    """Releases of one model family in the order of their runs, and each gate over them."""

    name: str
    by: str
    """Why these releases are one family, in words."""
    releases: tuple[Release, ...]
    gates: tuple[Gate, ...]

    @property
    def regression(self) -> str:
        """Describe the first regression, or say why there is none, with remarks on the runs."""
        return line(" ".join([_regression(self), *_remarks(self)]))

    @property
    def compared(self) -> bool:
        """Return whether at least one gate was measured in two releases, in the same unit."""
        points = [point for gate in self.gates for point in gate.points]
        return any(point.change and point.change.difference for point in points)

    @property
    def unmeasured(self) -> list[Gate]:
        """Return the gates that an earlier release measured and the last one did not."""
        return [
            gate
            for gate in self.gates
            if any(point.measured for point in gate.points) and not gate.points[-1].measured
        ]


def read_all(folder: Path) -> tuple[list[tuple[Results, Path]], list[str]]:
    """Read all runs below a folder, the earliest first; also return why files were passed over.

    A run that was interrupted is no release, whatever it measured before.

    Raises:
        SpecError: there is no folder, or no whole run in it that can be read.
    """
    if not folder.is_dir():
        raise SpecError(f"{folder}: no such folder; give the one that holds a run's reports")
    found, left = [], []
    for path in sorted(folder.rglob("results.json")):
        try:
            results = results_reader.read(path)
        except ResultsError as error:
            left.append(str(error))
            continue
        if results.run.complete:
            found.append((results, path.parent))
        else:
            left.append(f"{path}: {results.run.gap}, so it is no release; run the audits again")
    if not found:
        why = f"; {left[0]}" if left else ""
        message = f"{folder}: no results.json of a whole run in it or below it{why}"
        raise SpecError(f"{message}; make some with: pytest audits --rm-report {folder}")
    return sorted(found, key=lambda run: (run[0].run.created, str(run[1]))), left


def group_families(runs: Sequence[tuple[Results, Path]], joined: str = "") -> list[ReleaseFamily]:
    """Group models into families: all into `joined`, or by `of:`, base and owner, or name.

    Models that one run audits are not releases of each other: each is a family of its own, unless
    models.yaml names the family (`of:`).
    If `joined` names a family, all runs belong to it, whatever their models are called.

    Raises:
        SpecError: a run has several models, of which one at most can be a release of `joined`.
    """
    apart = set[str]()  # families of which one run audited two models
    for results, folder in runs:
        if joined and len(results.models) > 1:
            names = ", ".join(model.name for model in results.models)
            message = f"{folder}: this run audited {names}, of which one at most is a release of"
            raise SpecError(f"{message} {joined}; give a folder whose runs have one model each")
        counts = Counter(_family(model) for model in results.models if not model.of)
        apart |= {name for name in counts if counts[name] > 1}
    grouped: dict[str, list[tuple[AuditedModel, Results, Path]]] = {}
    for results, folder in runs:
        for model in results.models:
            family = _family(model)
            name = joined or (model.name if family in apart and not model.of else family)
            grouped.setdefault(name, []).append((model, results, folder))
    return [_release_family(name, members, joined) for name, members in grouped.items()]


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


def _family(model: AuditedModel) -> str:
    return model.of or lineage(model) or model.name


def _why_family(model: AuditedModel, name: str, joined: str) -> str:
    """Return what puts a model into the family `name`, in words such as `their name`."""
    if joined:
        return "--family"
    if name == model.of:
        return "`of:` of models.yaml"
    return "their base model and owner" if name == lineage(model) else "their name"


def _release_family(
    name: str, members: Sequence[tuple[AuditedModel, Results, Path]], joined: str
) -> ReleaseFamily:
    found, shown = [], []
    for model, results, folder in members:
        own = [f for f in results.findings if f.model == model.name]
        outcome = of_run(own, results.run.gaps).outcome
        run = results.run
        shown.append(Release(model.name, run.created, str(outcome), str(folder), _words_asked(run)))
        found.append({(f.audit, f.prompt): f for f in own if f.severity.gates})
    keys = dict.fromkeys(key for gates in found for key in gates)
    gates = [Gate(*key, tuple(_points(own.get(key) for own in found))) for key in keys]
    by = " and ".join(dict.fromkeys(_why_family(model, name, joined) for model, _, _ in members))
    return ReleaseFamily(name, by, tuple(shown), tuple(sorted(gates, key=lambda g: g.last.title)))


def _words_asked(run: Run) -> str:
    sample = f"a sample of {run.sample:,} token ids" if run.sample else ""
    return ", ".join(filter(None, (sample, run.environment.get(OWN_LISTS, ""))))


def _points(findings: Iterable[Finding | None]) -> Iterator[Point]:
    before: Finding | None = None
    for finding in findings:
        if finding is None or finding.estimate is None or before is None:
            yield Point(finding)
        else:
            change = compare_findings(before, finding)
            yield Point(finding, before, change)
        before = finding if finding and finding.estimate else before


def _regression(family: ReleaseFamily) -> str:
    firsts = [gate.first for gate in family.gates]
    places = sorted((place, i) for i, place in enumerate(firsts) if place is not None)
    if not places:
        return _why_no_regression(family)
    (place, i), *later = places
    gate, release = family.gates[i], family.releases[place]
    also = _titles(family.gates[other] for _, other in later)
    more = f" Also, in this or a later run: {also}." if also else ""
    what = f"{gate.last.title} ({gate.prompt})"
    return f"First regression: {what} at {release.name}: {gate.points[place].moved}.{more}"


def _why_no_regression(family: ReleaseFamily) -> str:
    """Return a sentence: nothing regressed, or why nothing could be compared."""
    if len(family.releases) == 1:
        return "Nothing to compare: there is only one run of it."
    if family.compared:
        which = " that was measured twice" if family.unmeasured else ""
        return f"No gate{which} got clearly worse from one release to the next."
    lost = [
        release.name
        for i, release in enumerate(family.releases)
        if not any(gate.points[i].measured for gate in family.gates)
    ]
    if lost:
        return f"Nothing to compare: no gate was measured in {', '.join(lost)}."
    same = "under the same prompts and in the same unit"
    return f"Nothing to compare: no gate was measured in two releases {same}."


def _remarks(family: ReleaseFamily) -> Iterator[str]:
    """Yield a remark on gates that the last run did not measure, and one if words differed."""
    if family.compared and (gates := family.unmeasured):
        yield f"The last run ({family.releases[-1].name}) did not measure: {_titles(gates)}."
    asked = dict.fromkeys(release.words or "the audits' own words" for release in family.releases)
    if len(asked) > 1:
        yield f"The runs do not rest on the same words: {'; '.join(asked)}."


def _titles(gates: Iterable[Gate]) -> str:
    return ", ".join(dict.fromkeys(gate.last.title for gate in gates))
