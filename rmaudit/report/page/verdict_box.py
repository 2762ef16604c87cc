"""Build the box at the top of the page: verdict, blocking, accepted and missing audits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rmaudit.report.page.number_format import (
    bound_in_words,
    decimals,
    distance_beyond,
    fixed,
    interval,
    standard_errors_beyond,
    value,
)
from rmaudit.report.results_document import Results, Run
from rmaudit.report.summary import Missing, Row, count_gates, missing
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Verdict
from rmaudit.verdicts.findings import Finding, slipped
from rmaudit.verdicts.run_verdict import Outcome, what_gates_tested
from rmaudit.verdicts.verdict_wording import COMPETENCE, OUTDATED, advice, excuse

WORDS = {
    Outcome.FAILS: ("✗", "Does not pass"),
    Outcome.INCOMPLETE: ("…", "Incomplete: no verdict yet"),
    Outcome.NOT_ESTABLISHED: ("?", "Not established"),
    Outcome.PASSES: ("✓", "Passes"),
}

_LONGEST = 300  # characters of an example; the chart has the whole
_END = re.compile(r"(?<=[^.])\. (?=[A-Z])|; ")  # of a sentence, or of its first part


@dataclass(frozen=True, slots=True)
class Failure:
    """Line of the verdict box: an audit that blocks or is accepted, its values, who accepts it."""

    row: Row
    says: list[tuple[str, str]]
    """Each such finding: the name of its prompt, and what was measured."""
    excuses: list[str]
    example: str
    """Example of what was found, such as `“X” ranks 3 of 3,747; people rank it 3,500`, or ""."""


@dataclass(frozen=True, slots=True)
class Box:
    """Contents of the verdict box at the top of the page."""

    outcome: Outcome
    mark: str
    words: str
    means: str
    gates: str
    what_gates_tested: str
    """What the gates looked at, and what none can tell; "" where nothing was measured."""
    blocking: list[Failure]
    accepted: list[Failure]
    undecided: list[Row]
    """Rows of gates whose data show neither harm nor its absence."""
    informs: list[Row]
    """Rows that fail and block nothing, for they inform."""
    gaps: list[str]
    missing: list[Missing]
    doubted: list[Row]
    """Rows whose pass may mean that the model prefers nothing."""
    competence: list[str]
    """Titles of the gates that would show that it prefers something."""


def verdict(results: Results, rows: Sequence[Row]) -> Box:
    """Return the verdict box of a run, from the rows of all its models."""
    outcome = results.verdict.outcome
    mark, words = in_words(outcome, rows)
    return Box(
        outcome,
        mark,
        words,
        advice(outcome, results.findings, lambda finding: finding.title),
        count_gates(rows),
        what_gates_tested(results.findings),
        _failures(rows, Effect.BLOCKS),
        _failures(rows, Effect.ACCEPTED),
        [row for row in rows if row.decides and row.result is Result.NOT_DECIDED],
        [row for row in rows if not row.decides and row.result is Result.FAIL],
        list(results.run.gaps),
        missing(f for row in rows if row.decides for f in row.findings if not f.blocks),
        [row for row in rows if row.doubt and row.decides],
        list(dict.fromkeys(row.title for row in rows if row.audit in COMPETENCE)),
    )


def _failures(rows: Sequence[Row], effect: Effect) -> list[Failure]:
    """Return a line for each row with findings of `effect`, such as blocks; the clearest first."""
    own = [(row, [f for f in row.findings if f.effect is effect]) for row in rows]
    failing = sorted(
        (each for each in own if each[1]), key=lambda each: min(map(_clearest, each[1]))
    )
    return [_line(row, findings, effect) for row, findings in failing]


def _clearest(finding: Finding) -> tuple[int, float]:
    """Return a sort key that puts the failures first that their data show most clearly.

    First come those whose whole interval lies outside the bound, then those whose interval crosses
    it, then those inside it (a regression, say, or a pass that a null control takes away), at last
    what was not measured. Within each the furthest beyond its bound comes first, in units of its
    interval's half width: units of audits differ, so how large two failures are cannot be compared.
    """
    if finding.estimate is None:
        return 3, 0.0
    lies = finding.bound.judge_interval(finding.estimate.low, finding.estimate.high)
    side = [Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS].index(lies)
    return side, -standard_errors_beyond(finding)


def _line(row: Row, findings: Sequence[Finding], effect: Effect) -> Failure:
    shown = [f.estimate.evidence for f in findings if f.estimate and f.estimate.evidence]
    example = next(filter(None, (each.example() for each in shown)), "")
    if len(example) > _LONGEST:
        example = f"{example[:_LONGEST]}…"
    return Failure(
        row,
        [(finding.prompt, _measured_and_why(finding, effect)) for finding in findings],
        list(dict.fromkeys(filter(None, map(_excuse, findings)))),
        example,
    )


def _measured_and_why(finding: Finding, effect: Effect) -> str:
    if effect is Effect.BLOCKS and (worse := finding.judgement.regressed):
        return f"{_measured_in_words(finding)}; {worse}"
    if effect is Effect.BLOCKS and finding.result is Result.PASS:
        return f"{_measured_in_words(finding)}: it {OUTDATED}"
    return _measured_in_words(finding)


def _excuse(finding: Finding) -> str:
    """Return who accepts a failure, until when and why, or why its waiver no longer holds; or "".

    For a known flaw of the bundled model, this is the first sentence of the reason.
    """
    waiver = finding.judgement.waiver
    if finding.effect is not Effect.ACCEPTED:
        lapsed = waiver is not None and waiver.state in ("expired", "reopened")
        return f"Not accepted: {_first_sentence(waiver.says)}" if waiver and lapsed else ""
    if waiver is None:
        return f"Known flaw of the bundled model: {_first_sentence(excuse(finding))}"
    signed = waiver.terms.signed(finding.bound.unit)
    return f"{signed[0].upper()}{signed[1:]}: {waiver.terms.reason.rstrip('.')}."


def _first_sentence(text: str) -> str:
    """Return a text up to the end of its first sentence or to its first semicolon.

    The audit's section shows all of it.
    """
    return _END.split(text, maxsplit=1)[0].rstrip(".") + "."


def _measured_in_words(finding: Finding) -> str:
    """Describe a finding, such as `0.75 [0.71, 0.79] sd, must be below 0.67: 0.08 too high`.

    A finding without a number is described by its reason.
    """
    if finding.estimate is None:
        return finding.reason
    over, unit = distance_beyond(finding), finding.estimate.unit
    numbers = f"{value(finding)} {interval(finding)}".strip() + f" {unit}"
    if finding.result is Result.UNSURE:
        return f"{numbers}, {bound_in_words(finding)}: {_unsure(finding)}"
    if finding.result is Result.FAIL and over >= 0:
        way = "high" if finding.estimate.value >= finding.bound.ends[1] else "low"
        return f"{numbers}, {bound_in_words(finding)}: {fixed(over, decimals(finding))} too {way}"
    return f"{value(finding)} {unit}, {bound_in_words(finding)}"


def _unsure(finding: Finding) -> str:
    """Return in a few words why a finding is unsure; the audit's section has the full reason."""
    if slipped(finding.controls, finding.estimate, finding.bound):
        return "a null control passes, so a pass shows nothing"
    estimate = finding.estimate
    crosses = estimate and finding.bound.judge_interval(estimate.low, estimate.high)
    if crosses is Verdict.INCONCLUSIVE:
        return "the interval crosses the bound"
    return "outside, but with so many gates that may be chance (Holm)"


def in_words(outcome: Outcome, rows: Sequence[Row]) -> tuple[str, str]:
    """Return the verdict as a sign and words, such as `Passes, with 2 accepted exceptions`."""
    mark, words = WORDS[outcome]
    n = sum(row.effect is Effect.ACCEPTED for row in rows)
    if outcome is Outcome.PASSES and n:
        words += f", with {n} accepted exception{'' if n == 1 else 's'}"
    return mark, words


def ran(run: Run) -> str:
    """Say how many checks of the run finished, or that all did."""
    if run.finished >= run.collected:
        return f"all {run.collected:,} checks finished"
    return f"{run.finished:,} of {run.collected:,} checks finished"


def day(created: str) -> str:
    """Format an ISO date, such as `22 Nov 2026, 09:45 UTC`; return any other text unchanged."""
    try:
        when = datetime.fromisoformat(created)
    except ValueError:
        return created
    return f"{when.day} {when:%b %Y, %H:%M} UTC"
