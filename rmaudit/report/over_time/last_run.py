"""Find the last run of the same models in a folder of reports, and say what changed since then."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ResultsError
from rmaudit.report import json_codec
from rmaudit.report.over_time.finding_changes import Change, compare_finding, summarize_earlier
from rmaudit.report.page.number_format import decimals, fixed, value
from rmaudit.report.results_document import EARLIER_SCHEMAS, SCHEMA, Before, Earlier
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import RunVerdict

_LISTED = (Change.WORSE, Change.UNCLEAR, Change.BETTER, Change.UNCHANGED)  # in this order
_NOT_COMPARED = (Change.NEW, Change.UNMEASURED, Change.INCOMPARABLE)


@dataclass(frozen=True, slots=True)
class ListedChange:
    """A finding, its change since the last run, and that change in words."""

    finding: Finding
    change: Change
    says: str


@dataclass(frozen=True, slots=True)
class RunChanges:
    """The comparison with an earlier run: its age, its verdict, and which findings changed."""

    created: str
    age: str
    outcome: str
    counts: str
    """For example `1 worse, 0 better, 7 with no clear change`."""
    listed: tuple[ListedChange, ...]
    """The worst first: all that are clearly worse or better, and all with another result."""


def previous_run(
    base: Path, specs: Sequence[ModelSpec], created: str, findings: Sequence[Finding]
) -> Before | None:
    """Return the latest run below `base` of exactly these models, before time `created`, or None.

    Its findings are compared with those of this run (`findings`). Runs that cannot be read, such
    as those of an unknown schema, are left out without an error: the user did not name them. Runs
    after `created`, by a clock that differs, are left out with a warning.
    """
    found: list[tuple[str, dict[str, Any]]] = []
    later: list[str] = []
    for path in base.glob("*/results.json"):
        try:
            values = json_codec.parsed(path.read_text(encoding="utf-8"))
            when = values["run"]["created"]
            models = {(model["name"], model["source"]) for model in values["models"]}
        except (OSError, ValueError, ResultsError, KeyError, TypeError):
            continue
        same = models == {(spec.name, spec.source) for spec in specs}
        known = values.get("schema") in (SCHEMA, *EARLIER_SCHEMAS)
        if not (same and known and isinstance(when, str)):
            continue
        if when < created:
            found.append((when, values))
        elif when > created:
            later.append(when)
    if later:
        message = f"{base}: runs of these models have times after now (the last {max(later)}), so"
        warnings.warn(f"{message} none of them is compared with; is a clock wrong?", stacklevel=2)
    for _, values in sorted(found, key=lambda pair: pair[0], reverse=True):
        try:
            return _summary(values, findings)
        except ResultsError:
            continue
    return None


def _summary(values: dict[str, Any], findings: Sequence[Finding]) -> Before:
    whole = values["schema"] == SCHEMA
    old = json_codec.typed(tuple[Finding, ...], values["findings"], whole=whole)
    verdict = json_codec.typed(RunVerdict, values["verdict"])
    run = values["run"]
    new = {(each.model, each.audit, each.prompt): each for each in findings}
    summaries = (
        summarize_earlier(each, new.get((each.model, each.audit, each.prompt))) for each in old
    )
    return Before(run["created"], str(run["rmaudit"]), verdict.outcome, tuple(summaries))


def changes_since(
    before: Before | None, findings: Sequence[Finding], created: str
) -> RunChanges | None:
    """Compare findings with the last run's, `before`; return None if there was no last run.

    `created` is the time of this run.
    """
    if before is None:
        return None
    every = list(_all_changes(before, findings))
    listed = sorted((each for each in every if each.says), key=lambda e: _LISTED.index(e.change))
    ago = age(before.created, created)
    return RunChanges(
        before.created, ago, str(before.outcome), _counts_in_words(every), tuple(listed)
    )


def age(was: str, now: str) -> str:
    """Return how much earlier one time in ISO 8601 was, for example `38 hours earlier`."""
    try:
        seconds = int((datetime.fromisoformat(now) - datetime.fromisoformat(was)).total_seconds())
    except (TypeError, ValueError):  # with and without a zone, or of another form
        return "earlier"
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} earlier"
    return "a moment earlier"


def _all_changes(before: Before, findings: Sequence[Finding]) -> Iterator[ListedChange]:
    old = {(each.model, each.audit, each.prompt): each for each in before.findings}
    for finding in findings:
        was = old.get((finding.model, finding.audit, finding.prompt))
        change = compare_finding(was, finding).change
        other = was is not None and was.result is not finding.result
        told = change in (Change.WORSE, Change.BETTER) or (change in _LISTED and other)
        yield ListedChange(finding, change, _change_in_words(finding, was) if was and told else "")


def _counts_in_words(every: Sequence[ListedChange]) -> str:
    found = Counter(each.change for each in every)
    apart = sum(found[change] for change in _NOT_COMPARED)
    return ", ".join(
        [
            f"{found[Change.WORSE]} worse",
            *([f"{n} unclear (only the result is worse)"] if (n := found[Change.UNCLEAR]) else []),
            f"{found[Change.BETTER]} better",
            f"{found[Change.UNCHANGED]} with no clear change",
            *([f"{apart} not comparable"] if apart else []),
        ]
    )


def _change_in_words(finding: Finding, was: Earlier) -> str:
    """Describe a finding now and before, such as `0.75, was 0.60; fail, was pass`."""
    unit = finding.bound.unit
    old = fixed(was.value or 0.0, decimals(finding)) + (f" {was.unit}" if was.unit != unit else "")
    now = f"{value(finding)}, was {old}"
    same = finding.result is was.result
    return now if same else f"{now}; {finding.result}, was {was.result}"
