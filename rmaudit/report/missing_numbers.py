"""Group what was not measured by its reason, across models, with how to measure it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rmaudit.report.safe_text import addressed
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import Finding

_REMEDY = re.compile(r"[;,] (?:get it with: |(?=name one with ))")
_ANY = "\0"  # in a reason, for the name of a model
_NO_MORE = "published scores are too few for these"


@dataclass(frozen=True, slots=True)
class Missing:
    """Reason why some findings have no number, and how to measure them; "" where that is unknown.

    If they are of several models, `NAME` stands in both for a model's name.
    """

    why: str
    how: str
    findings: tuple[Finding, ...]
    models: list[str]
    titles: list[str]
    asked: bool
    """True if any of them was asked for: the others do not count."""


def missing(findings: Iterable[Finding], *, recorded: bool = False) -> list[Missing]:
    """Group findings that were not measured by reason, across models; those that block first.

    Where all is `recorded`, what published scores are too few for is one reason, before others; it
    is not that of a model without any.
    """
    findings = list(findings)
    published = {finding.model for finding in findings if finding.estimate} if recorded else set()
    groups: dict[tuple[int, str, str], list[Finding]] = {}
    for finding in findings:
        if finding.model in published and finding.verdict is Verdict.SKIPPED:
            groups.setdefault((0, _NO_MORE, ""), []).append(finding)
        elif finding.estimate is None:
            place = 2 - finding.blocks
            groups.setdefault((place, *_cause_and_remedy(finding)), []).append(finding)
    made = []
    for (_, *reason), own in sorted(groups.items(), key=lambda each: each[0][0]):
        models = list(dict.fromkeys(finding.model for finding in own))
        titles = list(dict.fromkeys(finding.title for finding in own))
        asked = any(finding.verdict is not Verdict.NA for finding in own)
        name = models[0] if len(models) == 1 else "NAME"
        why, how = (text.replace(_ANY, name) for text in reason)
        made.append(Missing(why, how, tuple(own), models, titles, asked))
    return made


def not_asked(finding: Finding) -> bool:
    """Return whether the finding is of an informational audit that the run did not ask for."""
    return finding.verdict is Verdict.NA and not finding.severity.gates


def _cause_and_remedy(finding: Finding) -> tuple[str, str]:
    """Split the reason why nothing was measured into cause and remedy.

    `_ANY` stands for the model's name in both, so that equal reasons of models are equal.
    """
    reason = finding.reason.removeprefix(f"{finding.model}: ")
    named = re.sub(rf"(?<![\w.-]){re.escape(finding.model)}(?![\w.-])", _ANY, reason)
    why, *how = _REMEDY.split(named)
    return addressed(why), "; ".join(how)
