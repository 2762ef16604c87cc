"""Doubts about passes that a model without any preference would get too.

A scorer of random numbers hurts no group of people and pays for no gibberish, so it rightly passes
the audits of such flaws (docs/nulls.md). Their pass says something of a model that tells good from
bad: the gates of competence measure that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Verdict

COMPETENCE = ("framing_inversion", "elo_agreement")
"""Only scores that follow the meaning of prompt and answer pass these: no null control does."""
_RANDOM = "random"  # the null control that prefers nothing


def incompetent(findings: Sequence[Finding]) -> dict[str, tuple[str, ...]]:
    """Return the gates of competence of each model that passes none of them, by model.

    One pass shows that the scores follow a meaning; where none was measured, nothing is known.
    """
    passed: dict[str, dict[str, bool]] = {}
    for finding in findings:
        if finding.audit in COMPETENCE and finding.estimate is not None:
            of_model = passed.setdefault(finding.model, {})
            passes = finding.verdict is Verdict.PASS
            of_model[finding.audit] = of_model.get(finding.audit, True) and passes
    return {model: tuple(gates) for model, gates in passed.items() if not any(gates.values())}


def doubt(finding: Finding, failed: Mapping[str, tuple[str, ...]]) -> str:
    """Return why a pass may mean that the model prefers nothing; "" where it does not.

    `failed` is what `incompetent` returns for the whole run.
    """
    control, gates = finding.controls.get(_RANDOM), failed.get(finding.model)
    if not gates or finding.verdict is not Verdict.PASS or control is None:
        return ""
    if control.verdict is not Verdict.PASS:
        return ""
    named = f"{' and '.join(gates)} {'does' if len(gates) == 1 else 'do'} not pass"
    return f"it may mean indifference: random scores pass it too, and {named}"
