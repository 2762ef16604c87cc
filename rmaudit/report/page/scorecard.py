"""Build what a page is of: the verdict box at its top, and the rows of the scorecard.

Also what a reader is told beside the rows: prompts by name and text, and the caveats that audits
share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rmaudit import prompts
from rmaudit.report.charts.finding_strips import Scale
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
from rmaudit.report.summary import Missing, Row, count_gates, missing, summarize
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Verdict
from rmaudit.verdicts.findings import AnyFinding, Finding, slipped
from rmaudit.verdicts.run_verdict import Outcome, what_gates_tested
from rmaudit.verdicts.verdict_wording import COMPETENCE, OUTDATED, advice, excuse

_WORDS = {
    Outcome.FAILS: ("✗", "Does not pass"),
    Outcome.INCOMPLETE: ("…", "Incomplete: no verdict yet"),
    Outcome.NOT_ESTABLISHED: ("?", "Not established"),
    Outcome.PASSES: ("✓", "Passes"),
}
_LONGEST = 300  # characters of an example; the chart has the whole
_END = re.compile(r"(?<=[^.])\. (?=[A-Z])|; ")  # of a sentence, or of its first part
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


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
    missing: list[Missing]
    doubted: list[Row]
    """Rows whose pass may mean that the model prefers nothing."""
    competence: list[str]
    """Titles of the gates that would show that it prefers something."""


def verdict(results: Results, rows: Sequence[Row]) -> Box:
    """Return the verdict box of a run, from the rows of all its models."""
    outcome = results.verdict.outcome
    return Box(
        outcome,
        *in_words(outcome, rows),
        advice(outcome, results.findings, lambda finding: finding.title),
        count_gates(rows),
        what_gates_tested(results.findings),
        _failures(rows, Effect.BLOCKS),
        _failures(rows, Effect.ACCEPTED),
        [row for row in rows if row.decides and row.result is Result.NOT_DECIDED],
        [row for row in rows if not row.decides and row.result is Result.FAIL],
        missing(f for row in rows if row.decides for f in row.findings if not f.blocks),
        [row for row in rows if row.doubt and row.decides],
        list(dict.fromkeys(row.title for row in rows if row.audit in COMPETENCE)),
    )


def in_words(outcome: Outcome, rows: Sequence[Row]) -> tuple[str, str]:
    """Return the verdict as a sign and words, such as `Passes, with 2 accepted exceptions`."""
    mark, words = _WORDS[outcome]
    n = sum(row.effect is Effect.ACCEPTED for row in rows)
    if outcome is Outcome.PASSES and n:
        words += f", with {n} accepted exception{'' if n == 1 else 's'}"
    return mark, words


def _failures(rows: Sequence[Row], effect: Effect) -> list[Failure]:
    """Return a line for each row with findings of `effect`, such as blocks; the clearest first."""
    own = [(row, [f for f in row.findings if f.effect is effect]) for row in rows]
    failing = [(row, found) for row, found in own if found]
    failing.sort(key=lambda each: min(map(_clearest, each[1])))
    return [_line(row, found) for row, found in failing]


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


def _line(row: Row, findings: Sequence[Finding]) -> Failure:
    shown = [f.estimate.evidence for f in findings if f.estimate and f.estimate.evidence]
    example = next(filter(None, (each.example() for each in shown)), "")
    if len(example) > _LONGEST:
        example = f"{example[:_LONGEST]}…"
    return Failure(
        row,
        [(finding.prompt, _measured_and_why(finding)) for finding in findings],
        list(dict.fromkeys(filter(None, map(_excuse, findings)))),
        example,
    )


def _measured_and_why(finding: Finding) -> str:
    """Say what was measured, and what else than a failure blocks."""
    said = _measured_in_words(finding)
    if finding.blocks and (worse := finding.judgement.regressed):
        return f"{said}; {worse}"
    return f"{said}: it {OUTDATED}" if finding.result is Result.PASS else said


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
    estimate = finding.estimate
    if slipped(finding.controls, estimate, finding.bound):
        return "a null control passes, so a pass shows nothing"
    crosses = estimate and finding.bound.judge_interval(estimate.low, estimate.high)
    if crosses is Verdict.INCONCLUSIVE:
        return "the interval crosses the bound"
    return "outside, but with so many gates that may be chance (Holm)"


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


def ran(run: Run) -> str:
    """Say how many checks of the run finished, or that all did."""
    if run.finished >= run.collected:
        return f"all {run.collected:,} checks finished"
    return f"{run.finished:,} of {run.collected:,} checks finished"


def rows(
    findings: Sequence[Finding], anchors: Mapping[tuple[str, str], str], scales: Mapping[str, Scale]
) -> list[Row]:
    """Return one model's rows: blocking gates, other gates, then the rest, each by title."""
    made = (
        replace(row, anchor=anchors[row.model, row.audit], scale=scales.get(row.audit))
        for row in summarize(findings)
    )
    return sorted(
        made, key=lambda row: (not row.decides, row.effect is not Effect.BLOCKS, row.title)
    )


def anchors(
    findings: Iterable[AnyFinding], used: set[str], *, several: bool
) -> dict[tuple[str, str], str]:
    """Return an HTML id for each (model, audit), added to `used`; `several` models are named."""
    return {
        (model, audit): unused(f"{audit}--{model}" if several else audit, used)
        for model, audit in dict.fromkeys((each.model, each.audit) for each in findings)
    }


def unused(name: str, used: set[str]) -> str:
    """Turn `name` into an HTML id that is not in `used`, and add the id to `used`."""
    plain = _UNSAFE.sub("-", name)[:80] or "audit"
    found, n = plain, 1
    while found in used:
        n += 1
        found = f"{plain}-{n}"
    used.add(found)
    return found


def columns(rows: Iterable[Row]) -> list[Row]:
    """Return the first row of each audit, sorted by title: the columns of a table of models."""
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row.audit, row)
    return sorted(first.values(), key=lambda row: row.title)


def full(label: str) -> str:
    """Return the name and text of each prompt in a finding's label, such as `best+worst`."""
    known = prompts.ALL
    names = label.split("+")
    return "; ".join(f"{name}: {known[name].text}" if name in known else name for name in names)


def short(label: str) -> str:
    """Return a short form of a finding's label of prompts: `best`, `3 prompts` or `54 prompts`."""
    n = label.count("+")
    return f"{n + 1} prompts" if n else label


def caveats(findings: Sequence[AnyFinding]) -> tuple[list[str], dict[str, list[str]]]:
    """Return a model's caveats without repeats: those that audits share, and the rest by audit.

    Caveats with the same words up to a colon are one, whose ends are listed: `Judged on half: 1 of
    2 words` and `Judged on half: 2 of 4 items` are `Judged on half: 1 of 2 words, 2 of 4 items`.
    Where a colon is followed by sentences there is no list to add to.
    """
    ends: dict[str, dict[str, None]] = {}
    audits: dict[str, dict[str, None]] = {}
    alone: dict[str, dict[str, str]] = {finding.audit: {} for finding in findings}
    for finding in findings:
        for caveat in finding.estimate.caveats if finding.estimate else ():
            head, end = _beginning_and_list(caveat)
            # At the commas that are not inside numbers: `4,912 of 9,912 words, 1 of 2 items.`
            listed = end.removesuffix(".").split(", ") if end else []
            ends.setdefault(head, {}).update(dict.fromkeys(listed))
            audits.setdefault(head, {})[finding.audit] = None
            alone[finding.audit][caveat] = head
    common = [head for head, own in audits.items() if len(own) > 1]
    return (
        [f"{head}: {', '.join(ends[head])}." if ends[head] else head for head in common],
        {a: [said for said, head in own.items() if head not in common] for a, own in alone.items()},
    )


def _beginning_and_list(caveat: str) -> tuple[str, str]:
    """Split a caveat at its colon into (beginning, list); return (caveat, "") if it has no list.

    It has none if there is no colon, or if another sentence begins after it.
    """
    head, _, end = caveat.partition(": ")
    return (caveat, "") if ". " in end else (head, end)
