"""Compute the verdict of a whole run from its findings: an outcome and the reasons for it.

PASSES is said only of a run that measured every gate there is, to its end, on all there was to
measure it on: no gate shows harm, and those of the core show that there is none. With failures that
models.yaml accepts, or keeps from blocking by another severity or bound, it is ACCEPTED. Neither is
a proof that a model is free of bias: no fixed set of audits can be (arXiv 2605.27996).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated

from annotated_types import Ge

from rmaudit.prompts import PAIRS, names_each
from rmaudit.verdicts.decision import alone
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.verdict_policy import Policy

SMALL_PRINT = (
    "A pass says that a flaw of this size was not found on these words; it never says that a model "
    "is free of bias, or debiased: no fixed audit can tell (arXiv 2605.27996)."
)
NOTHING = "nothing was measured"
WORST_FIRST = (Result.FAIL, Result.OPEN, Result.NOT_RUN, Result.PASS)
_REGRESSED = "regressed"  # what a gate is counted as that blocks for this alone
_OUTDATED = "pass that should fail"
_INFORMS = "informational not run"  # what no gate is, and broke
_COUNTED = ("pass", "fail", _REGRESSED, "open", _OUTDATED, "not run")
_BLOCKING = ("fail", _REGRESSED, "open", "not run", _OUTDATED, _INFORMS)
_NAMED = 3  # regressions, and gates that were not measured, that a verdict names


class Outcome(StrEnum):
    """Outcome of a whole run, from worst to best."""

    FAILS = "FAILS"  # a gate that was measured does not pass
    INCOMPLETE = "INCOMPLETE"  # nothing failed, but audits were left out, or tokens (a sample)
    NOT_ESTABLISHED = "NOT ESTABLISHED"  # a gate of the core is open, or one was not measured
    ACCEPTED = "ACCEPTED"  # models.yaml accepts or relaxes each gate that would block
    PASSES = "PASSES"

    @property
    def releases(self) -> bool:
        """Return whether nothing blocks a release: ACCEPTED or PASSES."""
        return self in (Outcome.ACCEPTED, Outcome.PASSES)


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """Verdict of a run: its outcome, the reasons, and the numbers of accepted gates."""

    outcome: Outcome
    why: str
    """What blocks, what is missing and how to get it, which gates models.yaml relaxes that would
    block as declared; "" where there is none of it."""
    accepted: Annotated[int, Ge(0)]
    """How many gates would block as declared, and models.yaml accepts or relaxes that."""
    accepted_open: Annotated[int, Ge(0)]
    """How many of these are open; the others fail."""

    def __str__(self) -> str:
        """Return, for example, `NOT ESTABLISHED: elo_agreement was not measured: ...`."""
        return f"{self.headline}: {self.why}" if self.why else self.headline

    @property
    def headline(self) -> str:
        """Return the outcome, with what is accepted if ACCEPTED: `ACCEPTED (2 fail, 3 open)`."""
        if self.outcome is not Outcome.ACCEPTED:
            return str(self.outcome)
        found = {"fail": self.accepted - self.accepted_open, "open": self.accepted_open}
        return f"{self.outcome} ({_counted(found, found)})"


def of_run(findings: Sequence[Finding], gaps: Sequence[str] = ()) -> RunVerdict:
    """Return the verdict of a run from its judged findings; `gaps` has texts on what was left out.

    What was not asked for (N/A: no baseline, no base model) is no gap. Gates are counted, not their
    findings: a gate that fails under three prompts fails once.
    """
    blocking = [finding for finding in findings if finding.blocks]
    missing = [
        finding
        for finding in findings
        if finding.severity.gates and finding.verdict is Verdict.SKIPPED
    ]
    measured = any(finding.estimate for finding in findings)
    worse = [f"{f.audit}[{f.prompt}] {f.judgement.regressed}" for f in _regressed(blocking)]
    more = [f"{len(worse) - _NAMED} more regressed"] if len(worse) > _NAMED else []
    loose = [found for own in by_audit(findings) if (found := loosened(own))]
    why = [
        *([blocked] if (blocked := what_blocks(findings)) else []),
        *worse[:_NAMED],
        *more,
        *([] if measured else [NOTHING if findings else "no audit with a bound was run"]),
        *gaps,
        *_reasons_not_measured(missing),
        *([_what_is_relaxed(loose)] if loose else []),
    ]
    accepted = [each.result for own in by_audit(findings) if (each := _excused(own))]
    outcome = _outcome(blocking, gaps, missing, accepted=len(accepted), measured=measured)
    return RunVerdict(outcome, "; ".join(why), len(accepted), accepted.count(Result.OPEN))


def what_gates_tested(findings: Sequence[Finding]) -> str:
    """Return text on what the gates tested (words, prompts, ...) and what they never test; or "".

    "" if nothing was counted. Each number is the largest of any gate: gates share communities,
    words and contexts.
    """
    gates = [f for f in findings if f.severity.gates and f.estimate]
    counts: dict[str, int] = {}
    for finding in gates:
        estimate = finding.estimate
        if estimate and estimate.evidence:
            for what, n in estimate.evidence.looked_at(estimate.n).items():
                counts[what] = max(counts.get(what, 0), n)
    labels = {f.prompt for f in gates if names_each(f.prompt)} - {PAIRS}
    prompts = {name for label in labels for name in label.split("+")}
    if not counts:
        return ""
    things = ", ".join(f"{n:,} {what}" for what, n in counts.items())
    under = f", under {len(prompts)} prompts" if prompts else ""
    return (
        f"The gates tested {things}{under}. They did not test long "
        "conversations, most other languages than English, and groups that no list names."
    )


def by_audit(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """Return the findings of each audit of each model together, in the order of the first ones."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.model, finding.audit), []).append(finding)
    return [tuple(own) for own in groups.values()]


def worst_of(findings: Sequence[Finding]) -> Finding:
    """Return what an audit of a model comes to: a finding that blocks, else the worst of a gate."""
    accepted = Effect.ACCEPTED

    def place(f: Finding) -> tuple[bool, bool, bool, int]:
        worst = WORST_FIRST.index(f.result)
        return not f.blocks, not f.severity.gates, f.effect is not accepted, worst

    return min(findings, key=place)


def count_gates(findings: Iterable[Finding]) -> str:
    """Count the gates of each model by what they come to, as all outputs do.

    For example `7 gates: 4 pass, 2 fail (1 accepted), 1 open; 1 not asked for`.
    """
    every = [(own, _excused(own)) for own in by_audit(findings)]
    gates = [each for each in every if each[1] or any(f.severity.gates for f in each[0])]
    if not gates:
        return "0 gates"
    asked = [each for each in gates if any(f.verdict is not Verdict.NA for f in each[0])]
    found = Counter(_counted_as(excused or worst_of(own)) for own, excused in asked)
    accepted = Counter(_counted_as(excused) for _, excused in asked if excused)
    said = [
        f"{found[word]} {word}{_accepted(accepted[word], found[word])}"
        for word in _COUNTED
        if found[word]
    ]
    n = len(asked)
    counted = f"{n} gate{'' if n == 1 else 's'}: {', '.join(said)}" if n else "0 gates"
    return f"{counted}; {len(gates) - n} not asked for" if len(gates) > n else counted


def what_blocks(findings: Iterable[Finding]) -> str:
    """Count the gates that block, as in `5 gates block (2 fail, 3 open)`; "" without any."""
    blocking = by_audit(finding for finding in findings if finding.blocks)
    found = Counter(_counted_as(worst_of(own)) for own in blocking)
    n, what = len(blocking), "audit" if found[_INFORMS] else "gate"
    verb = f"{what} blocks" if n == 1 else f"{what}s block"
    return f"{n} {verb} ({_counted(found, _BLOCKING)})" if n else ""


def _accepted(n: int, of: int) -> str:
    """Return how many gates of a kind are accepted, in brackets; "" if none is."""
    return (" (accepted)" if n == of else f" ({n} accepted)") if n else ""


def _counted(found: Mapping[str, int], words: Iterable[str]) -> str:
    return ", ".join(f"{found[word]} {word}" for word in words if found[word])


def _counted_as(finding: Finding) -> str:
    """Return the word under which a gate counts that comes to this finding."""
    settled = finding.result is Result.PASS or finding.judgement.left_open
    if finding.blocks and settled and finding.judgement.regressed:
        return _REGRESSED
    if finding.blocks and finding.result is Result.PASS:
        return _OUTDATED
    if finding.blocks and not finding.severity.gates:
        return _INFORMS
    return str(finding.result)


def loosened(findings: Sequence[Finding]) -> Finding | None:
    """Return what an audit's findings come to as declared, if models.yaml relaxes some; or None.

    None also where another of them blocks.
    """
    declared = [found for finding in findings if (found := relaxed(finding))]
    return worst_of(declared) if declared and not any(f.blocks for f in findings) else None


def _excused(findings: Sequence[Finding]) -> Finding | None:
    """Return what models.yaml relaxes or accepts of an audit's findings; None where neither."""
    worst = worst_of(findings)
    return loosened(findings) or (worst if worst.effect is Effect.ACCEPTED else None)


def relaxed(finding: Finding) -> Finding | None:
    """Return a finding as declared if models.yaml keeps it from blocking, or None if it does not.

    By another severity or bound; not where somebody accepts it by name.
    """
    changed = finding.judgement.bound_by or finding.judgement.severity_by
    if not changed or finding.effect in (Effect.BLOCKS, Effect.ACCEPTED):
        return None
    declared = alone(finding, Policy(), date.min)
    return declared if declared.blocks else None


def _what_is_relaxed(declared: Sequence[Finding]) -> str:
    names = ", ".join(dict.fromkeys(finding.audit for finding in declared))
    gates = f"gate{'s' * (len(declared) != 1)}"
    return f"models.yaml relaxes {len(declared)} {gates} that would block: {names}"


def _regressed(blocking: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in blocking if finding.judgement.regressed]


def _outcome(
    blocking: Sequence[Finding],
    gaps: Sequence[str],
    missing: Sequence[Finding],
    *,
    accepted: int,
    measured: bool,
) -> Outcome:
    # A gate that passes and blocks was expected to fail: models.yaml is out of date.
    if {finding.verdict for finding in blocking} & {Verdict.FAIL, Verdict.PASS}:
        return Outcome.FAILS
    if _regressed(blocking):
        return Outcome.FAILS
    if gaps:
        return Outcome.INCOMPLETE
    if blocking or missing or not measured:
        return Outcome.NOT_ESTABLISHED
    return Outcome.ACCEPTED if accepted else Outcome.PASSES


def _reasons_not_measured(missing: Sequence[Finding]) -> list[str]:
    """Return a sentence for each reason why gates were not measured, with the gates' names."""
    by_reason: dict[str, dict[str, None]] = {}
    for finding in missing:
        by_reason.setdefault(finding.reason, {})[finding.audit] = None
    return [
        f"{_some(audits)} {'was' if len(audits) == 1 else 'were'} not measured: {reason}"
        for reason, audits in by_reason.items()
    ]


def _some(audits: Iterable[str]) -> str:
    first, more = [*audits][:_NAMED], [*audits][_NAMED:]
    rest = f" and {len(more)} more gate{'s' * (len(more) != 1)}" if more else ""
    return f"{', '.join(first)}{rest}"
