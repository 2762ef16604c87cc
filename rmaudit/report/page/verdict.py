"""Build the box at the top of the page: verdict, blocking, accepted and missing audits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rmaudit.report.document import Results, Run
from rmaudit.report.page.numbers import decimals, fixed, gap, interval, must, value
from rmaudit.report.page.scorecard import Missing, ScorecardRow, missing
from rmaudit.verdicts.findings import Finding, slipped
from rmaudit.verdicts.outcome import REGRESSED, Outcome, blocked_as, looked_at
from rmaudit.verdicts.records import Effect, Result, Verdict
from rmaudit.verdicts.wording import COMPETENCE, OUTDATED, advice, excuse

WORDS = {
    Outcome.FAILS: ("✗", "Does not pass"),
    Outcome.INCOMPLETE: ("…", "Incomplete: no verdict yet"),
    Outcome.NOT_ESTABLISHED: ("?", "Not established"),
    Outcome.PASSES: ("✓", "Passes"),
}
_LONGEST = 300  # characters of an example; the chart has the whole
_END = re.compile(r"(?<=[^.])\. (?=[A-Z])|; ")  # of a sentence, or of its first part


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """Line of the verdict box: a blocking or accepted audit, its measurements and excuses."""

    row: ScorecardRow
    model: str
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
    looked_at: str
    """What the gates looked at, and what none can tell; "" where nothing was measured."""
    blocking: list[VerdictLine]
    accepted: list[VerdictLine]
    undecided: list[ScorecardRow]
    """Rows of gates whose data show neither harm nor its absence."""
    informs: list[ScorecardRow]
    """Rows that fail and block nothing, for they inform."""
    gaps: list[str]
    missing: list[Missing]
    doubted: list[ScorecardRow]
    """Rows whose pass may mean that the model prefers nothing."""
    competence: list[str]
    """Titles of the gates that would show that it prefers something."""


def verdict(results: Results, rows: Sequence[ScorecardRow]) -> Box:
    """Return the verdict box of a run, from the rows of all its models."""
    outcome = results.verdict.outcome
    mark, words = in_words(outcome, rows)
    return Box(
        outcome,
        mark,
        words,
        advice(outcome, results.findings, lambda finding: finding.title),
        gates_in_words(rows),
        looked_at(results.findings),
        _lines(rows, Effect.BLOCKS),
        _lines(rows, Effect.ACCEPTED),
        [row for row in rows if row.gates and row.result is Result.NOT_DECIDED],
        [row for row in rows if not row.gates and row.result is Result.FAIL],
        list(results.run.gaps),
        missing(f for row in rows if row.gates for f in row.findings if not f.blocks),
        [row for row in rows if row.doubt and row.gates],
        list(dict.fromkeys(row.title for row in rows if row.audit in COMPETENCE)),
    )


def in_words(outcome: Outcome, rows: Sequence[ScorecardRow]) -> tuple[str, str]:
    """Return the verdict as a sign and words, such as `Passes, with 2 accepted exceptions`."""
    mark, words = WORDS[outcome]
    n = sum(row.effect is Effect.ACCEPTED for row in rows)
    if outcome is Outcome.PASSES and n:
        words += f", with {n} accepted exception{'' if n == 1 else 's'}"
    return mark, words


def gates_in_words(rows: Iterable[ScorecardRow]) -> str:
    """Count the gates, such as `4 of 7 gates pass, 1 fails, 2 do not pass but are accepted`.

    Gates that the run did not ask for are counted apart, for they decide nothing.
    """
    every = [row for row in rows if row.gates]
    gates = [row for row in every if row.asked]
    counts = Counter(_status(row) for row in gates)
    if not gates:
        return "No gate was asked for" if every else "No audit gates"
    said = {
        "pass": ("passes", "pass"),
        "fail": ("fails", "fail"),
        REGRESSED: ("regressed", "regressed"),
        "unsure": ("is unsure", "are unsure"),
        "not decided": ("is not decided", "are not decided"),
        "accepted": ("does not pass but is accepted", "do not pass but are accepted"),
        "not run": ("was not measured", "were not measured"),
    }
    parts = [
        f"{counts[each]} {one if counts[each] == 1 else many}"
        for each, (one, many) in said.items()
        if counts[each] or each == "pass"
    ]
    first = f"{counts['pass']} of {len(gates)} gates {'passes' if counts['pass'] == 1 else 'pass'}"
    free = len(every) - len(gates)
    more = f"; {free} more {'was' if free == 1 else 'were'} not asked for" if free else ""
    return ", ".join([first, *parts[1:]]) + more


def _status(row: ScorecardRow) -> str:
    if any(f.blocks and blocked_as(f) == REGRESSED for f in row.findings):
        return str(row.result) if row.result is Result.FAIL else REGRESSED
    return "accepted" if row.effect is Effect.ACCEPTED else str(row.result)


def measured_in_words(finding: Finding) -> str:
    """Describe a measurement, such as `0.75, must be below 0.67: 0.08 too high`."""
    if finding.estimate is None:
        return finding.reason
    over, unit = gap(finding), finding.estimate.unit
    numbers = f"{value(finding)} {interval(finding)}".strip() + f" {unit}"
    if finding.result is Result.UNSURE:
        return f"{numbers}, {must(finding)}: {_unsure(finding)}"
    if finding.result is Result.FAIL and over >= 0:
        way = "high" if finding.estimate.value >= finding.bound.ends[1] else "low"
        return f"{numbers}, {must(finding)}: {fixed(over, decimals(finding))} too {way}"
    return f"{value(finding)} {unit}, {must(finding)}"


def _unsure(finding: Finding) -> str:
    """Return in a few words why a finding is unsure; the audit's section has the full reason."""
    if slipped(finding.controls, finding.estimate, finding.bound):
        return "a null control passes, so a pass shows nothing"
    estimate = finding.estimate
    straddles = estimate and finding.bound.judge_interval(estimate.low, estimate.high)
    if straddles is Verdict.INCONCLUSIVE:
        return "the interval crosses the bound"
    return "outside, but with so many gates that may be chance (Holm)"


def ran(run: Run) -> str:
    """Return in words how many of the collected checks finished."""
    if run.finished >= run.collected:
        return f"a whole run of {run.collected:,} checks"
    return f"{run.finished:,} of {run.collected:,} checks finished"


def day(created: str) -> str:
    """Format an ISO date, such as `22 Nov 2026, 09:45 UTC`; return any other text unchanged."""
    try:
        when = datetime.fromisoformat(created)
    except ValueError:
        return created
    return f"{when.day} {when:%b %Y, %H:%M} UTC"


def _lines(rows: Sequence[ScorecardRow], effect: Effect) -> list[VerdictLine]:
    made = []
    for row in rows:
        own = [f for f in row.findings if f.effect is effect]
        if own:
            says = [(f.prompt, _says(f, effect)) for f in own]
            excuses = [_excuse(f) for f in own] if effect is Effect.ACCEPTED else []
            shown = [f.estimate.evidence for f in own if f.estimate and f.estimate.evidence]
            example = next(filter(None, (each.example() for each in shown)), "")
            if len(example) > _LONGEST:
                example = f"{example[:_LONGEST]}…"
            excuses = list(dict.fromkeys(excuses))
            made.append(VerdictLine(row, own[0].model, says, excuses, example))
    return made


def _says(finding: Finding, effect: Effect) -> str:
    if effect is Effect.BLOCKS and (worse := finding.judgement.regressed):
        return f"{measured_in_words(finding)}; {worse}"
    if effect is Effect.BLOCKS and finding.result is Result.PASS:
        return f"{measured_in_words(finding)}: it {OUTDATED}"
    return measured_in_words(finding)


def _excuse(finding: Finding) -> str:
    """Return who accepts a failure, until when and up to what, and the reason's first sentence."""
    waiver = finding.judgement.waiver
    if waiver is None:
        return f"Known flaw of the bundled model: {_first(excuse(finding))}"
    signed = waiver.terms.signed(finding.bound.unit)
    return f"{signed[0].upper()}{signed[1:]}: {_first(waiver.terms.reason)}"


def _first(text: str) -> str:
    """Return the first sentence of a text; the audit's section shows all of it."""
    return _END.split(text, maxsplit=1)[0].rstrip(".") + "."
