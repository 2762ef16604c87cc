"""Build the box at the top of the page: verdict, blocking, accepted and missing audits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rmaudit.report.page.failures import Failure, lines
from rmaudit.report.page.scorecard import Missing, ScorecardRow, missing
from rmaudit.report.results_document import Results, Run
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity
from rmaudit.verdicts.run_verdict import REGRESSED, Outcome, blocked_as, what_gates_tested
from rmaudit.verdicts.verdict_wording import COMPETENCE, advice

WORDS = {
    Outcome.FAILS: ("✗", "Does not pass"),
    Outcome.INCOMPLETE: ("…", "Incomplete: no verdict yet"),
    Outcome.NOT_ESTABLISHED: ("?", "Not established"),
    Outcome.PASSES: ("✓", "Passes"),
}


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
        what_gates_tested(results.findings),
        lines(rows, Effect.BLOCKS),
        lines(rows, Effect.ACCEPTED),
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
    every = [row for row in rows if row.findings[0].severity is Severity.GATE]
    gates = [row for row in every if row.asked]
    counts = Counter(_status(row) for row in gates)
    if not gates:
        return "No gate was asked for" if every else "No audit gates"
    said = {
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
        if counts[each]
    ]
    first = f"{counts['pass']} of {len(gates)} gates {'passes' if counts['pass'] == 1 else 'pass'}"
    free = len(every) - len(gates)
    more = f"; {free} more {'was' if free == 1 else 'were'} not asked for" if free else ""
    return ", ".join([first, *parts]) + more


def _status(row: ScorecardRow) -> str:
    if any(f.blocks and blocked_as(f) == REGRESSED for f in row.findings):
        return str(row.result) if row.result is Result.FAIL else REGRESSED
    return "accepted" if row.effect is Effect.ACCEPTED else str(row.result)


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
