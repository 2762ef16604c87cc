"""The run before this one: the last of the same models in the same folder of reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ResultsError
from rmaudit.report import codec
from rmaudit.report.document import EARLIER_SCHEMAS, SCHEMA, Before
from rmaudit.report.over_time.changes import earlier
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.outcome import RunVerdict


def last(
    base: Path, specs: Sequence[ModelSpec], created: str, findings: Sequence[Finding]
) -> Before | None:
    """Return the latest run below `base` of just these models and sources, before `created`.

    Its findings are compared with those of this run (`findings`) while both are at hand. Runs that
    cannot be read, such as those of an unknown schema, are passed over: the user did not name them.
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
        known = values.get("schema") in (SCHEMA, *EARLIER_SCHEMAS)
        if same and known and isinstance(when, str) and when < created:
            found.append((when, values))
    for _, values in sorted(found, key=lambda pair: pair[0], reverse=True):
        try:
            return _summary(values, findings)
        except ResultsError:
            continue
    return None


def _summary(values: dict[str, Any], findings: Sequence[Finding]) -> Before:
    whole = values["schema"] == SCHEMA
    old = codec.typed(tuple[Finding, ...], values["findings"], whole=whole)
    verdict = codec.typed(RunVerdict, values["verdict"])
    run = values["run"]
    new = {(each.model, each.audit, each.prompt): each for each in findings}
    summaries = (earlier(each, new.get((each.model, each.audit, each.prompt))) for each in old)
    return Before(run["created"], str(run["rmaudit"]), verdict.outcome, tuple(summaries))
