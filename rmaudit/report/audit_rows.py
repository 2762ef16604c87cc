"""Group a run's findings into rows: an audit of a model each, with the sign of what it comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rmaudit.report.number_format import distance_beyond
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import WORST_FIRST, by_audit, loosened, worst_of
from rmaudit.verdicts.verdict_wording import doubt

MARKS = {  # a sign means one thing, in all outputs; for readers who do not see colours
    "fail": "✗",
    "open": "○",
    "accepted": "~",
    "pass": "✓",
    "not run": "–",
}
_GRAVEST_FIRST = (Effect.BLOCKS, Effect.ACCEPTED, Effect.INFO, Effect.NONE)


@dataclass(frozen=True, slots=True)
class Row:
    """Findings of one audit of one model, one for each prompt or set of prompts."""

    findings: tuple[Finding, ...]
    model: str
    audit: str
    title: str
    question: str
    """What the audit answers, or the claim if no question is given."""
    gate: bool
    """Whether the audit is a gate here, under any prompt: a failure would block."""
    decides: bool
    """Whether it is a gate, also if by its declaration only, or blocks for another reason."""
    asked: bool
    """Whether the audit was asked for, and applies, under any prompt."""
    blocking: tuple[Finding, ...]
    measured: tuple[Finding, ...]
    worst: Finding
    """What the row comes to: a finding that blocks, else the worst of a gate."""
    shown: Finding | None
    """The measured finding whose result is worst; of several, the worst value."""
    result: Result
    effect: Effect
    """The gravest among the findings."""
    sign: str
    """The key of its sign in `MARKS`."""
    relaxed: Finding | None
    """What would block as declared, of an audit that models.yaml keeps from blocking."""
    doubt: str
    """Why its pass may mean that the model prefers nothing; "" where it does not."""

    @property
    def regressed(self) -> bool:
        """Return whether it blocks only because it is worse than the blessed release."""
        alone = self.sign == "fail" and self.result is not Result.FAIL
        return alone and bool(self.worst.judgement.regressed)

    @property
    def mark(self) -> str:
        """Return the sign, such as ✓."""
        return MARKS[self.sign]


def rows_of(findings: Iterable[Finding], failed: Mapping[str, tuple[str, ...]]) -> list[Row]:
    """Return a row for each audit of each model, in the order of the findings.

    `failed` has the gates of competence that a model does not pass (`verdict_wording.incompetent`).
    """
    return [_row(own, failed) for own in by_audit(findings)]


def _row(findings: tuple[Finding, ...], failed: Mapping[str, tuple[str, ...]]) -> Row:
    first = findings[0]
    gate = any(f.severity.gates for f in findings)
    blocking = tuple(f for f in findings if f.blocks)
    measured = tuple(f for f in findings if f.estimate)
    said = [doubt(f, failed) for f in measured]
    worst = worst_of(findings)
    loose = loosened(findings)
    return Row(
        findings=findings,
        model=first.model,
        audit=first.audit,
        title=first.title,
        question=first.claim.question or first.claim.text,
        gate=gate,
        decides=gate or bool(blocking) or loose is not None,
        asked=any(f.verdict is not Verdict.NA for f in findings),
        blocking=blocking,
        measured=measured,
        worst=worst,
        shown=min(measured, key=_place, default=None),
        result=worst.result,
        effect=min((f.effect for f in findings), key=_GRAVEST_FIRST.index),
        sign="accepted" if loose else sign_of(worst),
        relaxed=loose,
        doubt=said[0] if said and all(said) else "",
    )


def _place(finding: Finding) -> tuple[int, float]:
    return WORST_FIRST.index(finding.result), -distance_beyond(finding)


def sign_of(finding: Finding) -> str:
    """Return the key in `MARKS` of a finding's sign; one that should fail, or regressed, is ✗."""
    if finding.effect is Effect.ACCEPTED:
        return "accepted"
    settled = finding.result is Result.PASS or finding.judgement.left_open
    return "fail" if finding.blocks and settled else str(finding.result)
