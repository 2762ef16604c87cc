"""Stored findings decided again under another policy: which verdicts flip. Nothing is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from rmaudit.report.document import as_json, findings_of
from rmaudit.report.safe_text import line, log
from rmaudit.report.writers.terminal import effect
from rmaudit.verdicts.explain import reasons
from rmaudit.verdicts.findings import Finding, counts
from rmaudit.verdicts.judge import decide
from rmaudit.verdicts.policy import Policy
from rmaudit.verdicts.records import Verdict

PASSED, FAILED, UNDECIDED, BROKEN = "pass", "fail", "inconclusive", "error"  # outcomes


def replay(results: Mapping[str, Any], policy: Policy, today: date) -> dict[str, Any]:
    """The results with their findings as the policy has them on this day (UTC)."""
    findings = decide(_findings(results), policy, today)
    return {**results, "findings": [as_json(finding) for finding in findings]}


def outcome(results: Mapping[str, Any]) -> str:
    """What the findings that block a run come to: fail before error before inconclusive.

    Inconclusive also stands for a gating audit that should have been measured and was not, and
    for results in which nothing was.
    """
    findings = _findings(results)
    verdicts = {finding.verdict for finding in findings if finding.blocks}
    if verdicts & {Verdict.FAIL, Verdict.PASS}:  # a pass that blocks was expected to fail
        return FAILED
    if Verdict.ERROR in verdicts:
        return BROKEN
    measured = any(finding.estimate is not None for finding in findings)
    return UNDECIDED if verdicts or not measured else PASSED


def flips(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The findings that stand elsewhere than before, or block the run and did not, or no longer."""
    pairs = zip(_findings(old), _findings(new), strict=True)
    return [
        {
            **_place(after),
            "old": str(before.standing),
            "new": str(after.standing),
            "blocked": before.blocks,
            "blocks": after.blocks,
            "why": "; ".join(reasons(after)),
        }
        for before, after in pairs
        if (before.standing, before.blocks) != (after.standing, after.blocks)
    ]


def blocking(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The findings that keep the run from being green."""
    return [
        {**_place(finding), "standing": str(finding.standing), "why": "; ".join(reasons(finding))}
        for finding in _findings(results)
        if finding.blocks
    ]


def unmatched(results: Mapping[str, Any], policy: Policy) -> list[str]:
    """What the policy says of audits and prompts of which there is no finding: it does nothing."""
    findings = _findings(results)
    there = {finding.audit for finding in findings}
    there |= {f"{finding.audit}[{finding.prompt}]" for finding in findings}
    return [
        f"{policy.file}:{named.line}: {named.label}{named.audit}: there is no finding of it here: "
        "it decides nothing"
        for named in policy.named
        if named.audit not in there
    ]


def foreign(results: Mapping[str, Any], policy: Policy) -> list[str]:
    """The models of which the policy speaks under a name that is another model's here."""
    sources = {finding.model: finding.claim.model_source for finding in _findings(results)}
    return [
        f"{policy.file}: {name}: its rules are not applied: they are of {policy.sources[name]}, "
        f"and these results are of {source}; give that run's models.yaml, or correct its source"
        for name, source in sources.items()
        if name in policy.models and policy.sources.get(name, source) != source
    ]


def lines(said: Mapping[str, Any]) -> list[str]:
    """For the terminal, what `rmaudit replay --json` gives as JSON; a reason is told once."""
    turned = [f"{_turn(flip)}: {_named(flip)}{_why(flip)}" for flip in said["flips"]]
    told = [_named(flip) for flip in said["flips"]]
    keep = [
        f"blocks: {stop['standing']}: {name}{'' if name in told else _why(stop)}"
        for stop in said["blocking"]
        if (name := _named(stop))
    ]
    total = ", ".join(f"{n} {name}" for name, n in said["counts"].items())
    flipped = f"; {len(turned)} stand elsewhere" if said["policy"] else ""
    counted = f"{sum(said['counts'].values())} findings: {total}{flipped}; {said['outcome']}"
    return [log(line(text)) for text in (*turned, *keep, counted)]


def said(old: Mapping[str, Any], new: Mapping[str, Any], policy: Policy | None) -> dict[str, Any]:
    """What a replay has to tell, as JSON values."""
    return {
        "policy": policy.file if policy else None,
        "outcome": outcome(new),
        "counts": counts(_findings(new)),
        "flips": flips(old, new),
        "blocking": blocking(new),
        "foreign": foreign(old, policy) if policy else [],
        "unmatched": unmatched(old, policy) if policy else [],
    }


def _findings(results: Mapping[str, Any]) -> Sequence[Finding]:
    return findings_of(results)


def _turn(flip: Mapping[str, Any]) -> str:
    if flip["old"] != flip["new"]:
        return f"{flip['old']} -> {flip['new']}"
    return f"{flip['new']} {'blocks now' if flip['blocks'] else 'blocks no longer'}"


def _place(finding: Finding) -> dict[str, Any]:
    """Which finding, what was measured, and what it is held against."""
    measured = finding.estimate
    return {
        "model": finding.model,
        "audit": finding.audit,
        "prompt": finding.prompt,
        "bound": str(finding.bound),
        "estimate": {key: getattr(measured, key) for key in ("value", "low", "high", "unit")}
        if measured
        else None,
    }


def _named(said: Mapping[str, Any]) -> str:
    return f"{said['audit']}[{said['model']}-{said['prompt']}]"


def _why(said: Mapping[str, Any]) -> str:
    """For example `: +0.49 [+0.46, +0.52], bound above 0.55 skewness: its waiver expired`."""
    parts = []
    if of := said["estimate"]:
        shown = " ".join(effect(of["value"], of["low"], of["high"]))
        parts = [f"{shown}, bound {said['bound']}"]
    return "".join(f": {part}" for part in (*parts, said["why"]) if part)
