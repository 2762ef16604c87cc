"""The run before this one: the last of the same models in the same folder of reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ResultsError
from rmaudit.report import codec
from rmaudit.report.document import SCHEMA, Before, Earlier
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.outcome import RunVerdict


def last(base: Path, specs: Sequence[ModelSpec], created: str) -> Before | None:
    """The latest run below `base` that was `created` before, of just these models and sources.

    Runs that cannot be read, such as those of another schema, are passed over: they are nothing
    that this run was asked about.
    """
    found: list[tuple[str, dict[str, Any]]] = []
    for path in base.glob("*/results.json"):
        try:
            values = codec.parsed(path.read_text(encoding="utf-8"))
            when = values["run"]["created"]
            models = {(model["name"], model["source"]) for model in values["models"]}
        except (OSError, ValueError, ResultsError, KeyError, TypeError):
            continue
        same = models == {(spec.name, spec.source) for spec in specs}
        if same and values.get("schema") == SCHEMA and isinstance(when, str) and when < created:
            found.append((when, values))
    for _, values in sorted(found, key=lambda pair: pair[0], reverse=True):
        try:
            return _summary(values)
        except ResultsError:
            continue
    return None


def _summary(values: dict[str, Any]) -> Before:
    findings = codec.typed(tuple[Finding, ...], values["findings"])
    verdict = codec.typed(RunVerdict, values["verdict"])
    run = values["run"]
    return Before(run["created"], str(run["rmaudit"]), verdict.outcome, tuple(map(_of, findings)))


def _of(finding: Finding) -> Earlier:
    about = (finding.model, finding.audit, finding.prompt, finding.result)
    if (estimate := finding.estimate) is None:
        return Earlier(*about, "", None, None, None)
    return Earlier(*about, estimate.unit, estimate.value, estimate.low, estimate.high)
