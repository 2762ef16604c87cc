"""Bless (approve) a release of a model family: a small file that later runs compare with.

A team commits it beside models.yaml. `bless` makes it from a run, `blessed_trainings` adds how
far other trainings by its recipe differ, `find_blessed` finds the files of the models that a run
audits, and `release_regressions` compares.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, get_args
from urllib.parse import quote

from annotated_types import Ge, MinLen

from rmaudit.config.model_registry import ModelSpec, is_hub_id
from rmaudit.errors import ResultsError, SpecError
from rmaudit.measures._stats import NOISE
from rmaudit.report import json_codec, results_document
from rmaudit.report.results_document import OWN_LISTS, AuditedModel, Count, Name, Results
from rmaudit.verdicts.estimates_and_bounds import GROUPS, Estimate, Result
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import Outcome

Schema = Literal["rmaudit.blessed/2"]
SCHEMA: Schema = get_args(Schema)[0]
FOLDER = "blessed"  # beside models.yaml
DAYS = 90  # from this age on, a warning
_LONGEST = 120  # characters of a file's name, before a hash
_DIGITS = 4  # of each part: an error of a ten-thousandth of a standard error
_AGAIN = "bless a release again: rmaudit bless REPORT"


@dataclass(frozen=True, slots=True)
class BlessedGate:
    """A gate's result in a blessed (approved) release, with the numbers for later comparisons."""

    audit: Name
    prompt: str
    result: Result
    unit: str
    value: float
    """The mean over the trainings, as are the interval and the parts."""
    low: float
    high: float
    n: Count
    noise: float
    """Numeric noise of the scores, in the unit; 0 where there is none."""
    spread: Annotated[float, Ge(0)]
    """Standard deviation of the value over the trainings; 0 where there is one."""
    asked: str
    """A digest of the prompts' texts and of which words were scored."""
    keys: tuple[str, ...]
    """Keys of the stored scores from which the value was computed."""
    parts: str
    """The estimate's `parts`, to four digits, separated by spaces; "" if it has none."""

    @property
    def estimate(self) -> Estimate:
        """Return the stored value, interval and parts as an `Estimate`.

        Raises:
            ValueError: the value is outside its interval, or the parts are no 64 numbers.
        """
        parts = tuple(float(part) for part in self.parts.split())
        if len(parts) not in (0, GROUPS) or not all(map(math.isfinite, parts)):
            raise ValueError(f"parts has {len(parts)} numbers, allowed: {GROUPS} finite ones")
        noise = {NOISE: self.noise} if self.noise else {}
        about = (self.value, self.low, self.high, self.unit, self.n, "of the blessed release")
        return Estimate(*about, secondary=noise, parts=parts)


@dataclass(frozen=True, slots=True)
class Blessing:
    """An approved (blessed) release: its model and family, who approved it, its gates' results."""

    schema: Schema
    family: Name
    lineage: str
    """Its base model, and its owner on the hub; "" where models.yaml names no base_model."""
    model: Name
    source: str
    weights: str
    """The hash of its weights; "" where none is known."""
    created: str
    """When it was audited: UTC, ISO 8601."""
    rmaudit: Name
    """The version that audited it."""
    outcome: Outcome
    by: Name
    on: str
    """The day of the blessing, ISO 8601."""
    days: Count
    trainings: Annotated[Count, Ge(1)]
    """Number of trainings of one recipe that were blessed together, this one included."""
    gates: Annotated[tuple[BlessedGate, ...], MinLen(1)]


def bless(  # noqa: PLR0913  (keyword-only after the subjects)
    results: Results,
    model: AuditedModel,
    family: str = "",
    *,
    by: str,
    on: date,
    days: int = DAYS,
) -> Blessing:
    """Return the record of an approved (blessed) release of a model; raise if the run is not whole.

    The family is `family`, or else the model's `of:`, or else the model's name.

    Raises:
        SpecError: the run left something out, or measured no gate of this model.
    """
    if results.run.gaps:
        why = "; ".join(results.run.gaps)
        raise SpecError(f"only a whole run can be blessed ({why}): run all audits, and bless that")
    own = [f for f in results.findings if f.model == model.name and f.severity.gates]
    gates = tuple(_gate(f, f.estimate, question_digest(results, f)) for f in own if f.estimate)
    if not gates:
        raise SpecError(f"{model.name}: no gate was measured, so there is nothing to bless")
    return Blessing(
        schema=SCHEMA,
        family=family or model.of or model.name,
        lineage=lineage(model),
        model=model.name,
        source=model.source,
        weights=own[0].claim.weights,
        created=results.run.created,
        rmaudit=results.run.rmaudit,
        outcome=results.verdict.outcome,
        by=by,
        on=on.isoformat(),
        days=days,
        trainings=1,
        gates=gates,
    )


def _gate(finding: Finding, of: Estimate, digest: str) -> BlessedGate:
    return BlessedGate(
        audit=finding.audit,
        prompt=finding.prompt,
        result=finding.result,
        unit=of.unit,
        value=of.value,
        low=of.low,
        high=of.high,
        n=of.n,
        noise=of.secondary.get(NOISE, 0.0),
        spread=0.0,
        asked=digest,
        keys=finding.sweeps,
        parts=parts_as_text(of.parts),
    )


def parts_as_text(parts: Iterable[float]) -> str:
    """Return an estimate's parts as a file has them: four digits each, separated by spaces."""
    return " ".join(f"{part:.{_DIGITS}g}" for part in parts)


def question_digest(results: Results, finding: Finding) -> str:
    """Return a hash of the prompts and the words with which a finding was measured.

    It covers the texts of the prompts, whether all tokens were scored, and the user's own words;
    for a finding without prompts, such as one on pairs of answers, their number.
    """
    sweeps = {
        sweep.key: (sweep.prompt, sweep.prompt_text, sweep.scored)
        for model in results.models
        for sweep in model.sweeps
    }
    texts = sorted({sweeps[key] for key in finding.sweeps if key in sweeps})
    n = 0 if texts or finding.estimate is None else finding.estimate.n  # of pairs and answers
    said = [texts, n, results.run.sample, results.run.environment.get(OWN_LISTS, "")]
    said += [finding.wanted] if finding.wanted else []
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def lineage(model: AuditedModel | ModelSpec) -> str:
    """Return a model's base model and owner on the hub as text; "" if it names no base model."""
    if not (model.base_model and is_hub_id(model.source)):
        return model.base_model or ""
    return f"{model.base_model} ({model.source.partition('/')[0]})"


def blessed_path(folder: Path, family: str) -> Path:
    """Return the path of the file of a family's blessed release; `folder` has the models.yaml.

    No two families have one path: what is no letter, digit or one of `_.-~` is percent-encoded, and
    a name that no file system would take ends in its hash.
    """
    name = quote(family, safe="")
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}~{hashlib.sha256(family.encode()).hexdigest()}"
    return folder / FOLDER / f"{name}.json"


def write(blessed: Blessing, path: Path) -> None:
    """Write a blessed (approved) release to a file.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    results_document.write_text(path, json_codec.encode(blessed) + "\n")


def read(path: Path) -> Blessing:
    """Read a blessed (approved) release from a file.

    Raises:
        SpecError: it cannot be read, or is damaged; the message says what to do.
    """
    try:
        blessed = json_codec.decode(Blessing, path.read_text(encoding="utf-8"))
        date.fromisoformat(blessed.created[:10])
        for i, gate in enumerate(blessed.gates):
            _refuse_wrong(gate, i)
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}; {_AGAIN}") from None
    except (ValueError, ResultsError) as error:  # no UTF-8, no JSON, no blessed release
        raise SpecError(f"{path}: no blessed release: {error}; {_AGAIN}") from None
    return blessed


def _refuse_wrong(gate: BlessedGate, i: int) -> None:
    try:
        found = gate.estimate
    except ValueError as error:
        raise ResultsError(f"gates[{i}]: {error}") from None
    if gate.result is Result.NOT_RUN or found.unit == "":
        raise ResultsError(f"gates[{i}] is {gate.result} in {json_codec.quoted(found.unit)}")


def find_blessed(specs: Sequence[ModelSpec], folder: Path) -> dict[str, Blessing]:
    """Return each model's blessed release by its name, from the files in `folder`.

    The file is that of the model's `of:`, or of its name, or the only file of its lineage, unless
    several of these models have that lineage. Models without such a file are left out.

    Raises:
        SpecError: a file is damaged, is of another family, or several could be meant.
    """
    lines = [lineage(spec) for spec in specs]
    found = {}
    for spec, line in zip(specs, lines, strict=True):
        if of := _find_one(spec, folder, line if lines.count(line) == 1 else ""):
            found[spec.name] = of
    return found


def _find_one(spec: ModelSpec, folder: Path, line: str) -> Blessing | None:
    path = blessed_path(folder, spec.of or spec.name)
    if path.is_file():
        blessed = read(path)
        if blessed.family == (spec.of or spec.name):
            return blessed
        whose = f"of {spec.of}" if spec.of else "no release of it"
        raise SpecError(
            f"{path} is the blessed release of {blessed.family}, and {spec.name} is {whose}; write "
            f"`of: {blessed.family}` into its entry of models.yaml if it is"
        )
    if spec.of or not line:
        return None
    same = {
        other: blessed
        for other in sorted((folder / FOLDER).glob("*.json"))
        if (blessed := read(other)).lineage == line
    }
    if len(same) > 1:
        names = ", ".join(map(str, same))
        message = f"{spec.name} could be a release of several families of {line}: {names}"
        raise SpecError(f"{message}; write `of: FAMILY` into its entry of models.yaml")
    return next(iter(same.values()), None)
