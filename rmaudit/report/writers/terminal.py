"""Write the summary at the end of a pytest run: verdict, a line per audit, next steps.

It fits the screen. The whole table of findings stands above it where somebody asks for it (`-v`).
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rmaudit.report.audit_rows import MARKS, Row
from rmaudit.report.finding_words import excuse_in_words, values_and_bound
from rmaudit.report.missing_numbers import Missing, not_asked
from rmaudit.report.number_format import interval, value
from rmaudit.report.safe_text import addressed, line, log
from rmaudit.report.summary import Summary
from rmaudit.verdicts.estimates_and_bounds import Effect, Result
from rmaudit.verdicts.findings import Finding, in_words
from rmaudit.verdicts.run_verdict import Outcome
from rmaudit.verdicts.verdict_wording import (
    excuse,
    nulls_in_words,
    overrides,
    reasons,
)

ASCII = dict(zip(MARKS, "xo~+-", strict=True))  # for a terminal that has no others
_COLOURS = {"fail": "red", "open": "yellow", "pass": "green"}
_OUTCOMES = {Outcome.FAILS: "red", Outcome.PASSES: "green"}  # the others are yellow
_SIGNS = {
    Outcome.FAILS: "fail",
    Outcome.NOT_ESTABLISHED: "open",
    Outcome.ACCEPTED: "accepted",
    Outcome.PASSES: "pass",
}
_INDENT = "    "
_FEW = 3  # passes that have a line each, with their values


@dataclass(frozen=True, slots=True)
class Line:
    """Line of the summary, with its colour and weight in a terminal."""

    text: str
    colour: str = ""
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Screen:
    """The terminal that shows the summary: its width, its marks, and where audits' pages are."""

    width: int = 80
    marks: Mapping[str, str] = field(default_factory=lambda: MARKS)
    read_on: Callable[[str], str] = lambda audit: ""  # noqa: ARG005  (no pages)
    """Returns the place of an audit's page; "" where there is none."""

    def told(self, *parts: str, mark: str = "", indent: str = "") -> Iterator[Line]:
        """Yield texts as wrapped lines, after the sign of `mark`, or else after `indent`.

        Two spaces join the texts; control characters are spelled out. `mark` also sets the colour.
        """
        first = f"{self.marks[mark]} " if mark else indent
        for part in textwrap.wrap(
            "  ".join(map(line, parts)),
            self.width,
            initial_indent=first,
            subsequent_indent=indent or _INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        ):
            yield Line(log(part), _COLOURS.get(mark, ""))


_PLAIN = Screen()


def quiet(run: Summary) -> Line:
    """Return a run's summary as a line, such as `rmaudit: FAILS: 8 gates: 7 pass, 1 fail`."""
    return Line(log(line(f"rmaudit: {run.verdict.headline}: {run.gates}")), _colour(run))


def summary(run: Summary, screen: Screen = _PLAIN) -> list[Line]:
    """Return the lines of a run's summary.

    A run of one model has a line for each audit, a run of several models a line for each model.
    Audits that were not measured are grouped by reason. Figures are counted in a line.
    """
    verdict = run.verdict
    head = screen.told(verdict.headline, run.gates)
    lines = [Line(each.text, _colour(run), bold=True) for each in head]
    lines += [each for gap in run.gaps for each in screen.told(f"not a whole run: {gap}")]
    why = verdict.why if verdict.outcome.releases else ""
    lines += [each for said in (why, run.correction, run.tested) for each in screen.told(said)]
    if verdict.outcome is Outcome.NOT_ESTABLISHED:
        lines += screen.told(f"{run.advice}.")
    elif run.findings and not any(finding.estimate for finding in run.findings):
        lines += screen.told("nothing was measured")
    if len(run.models) == 1:
        lines += _audits(run.rows, screen)
    else:
        lines += [each for name in run.models for each in _model(name, run.of(name), screen)]
    lines += [each for name in run.models for each in _doubtful_passes(name, run.rows, screen)]
    lines += [each for missing in run.missing for each in _unmeasured(missing, run, screen)]
    return [*lines, *(each for said in _remarks(run) for each in screen.told(said))]


def _colour(run: Summary) -> str:
    return _OUTCOMES.get(run.verdict.outcome, "yellow")


def _audits(rows: Sequence[Row], screen: Screen) -> Iterator[Line]:
    """Yield lines on gates: blocking ones with explanations, other non-passes, then passes.

    Of a run without gates the informational audits are the results. Many passes are only named.
    """
    gates = [row for row in rows if row.decides]
    shown = [row for row in gates or rows if row.worst.estimate]
    certain = [row for row in gates if _passes(row) and not row.doubt]
    first = [row for row in shown if not gates or not _passes(row)]
    first.sort(key=lambda row: gates == [] or not row.blocking)
    for row in [*first, *(certain if len(certain) <= _FEW else [])]:
        result = str(row.worst.result)
        if row.blocking and row.blocking != row.findings:  # other prompts do not block
            result += f" under {', '.join(f.prompt for f in row.blocking)}"
        said = in_words(result, row.worst.effect)
        values = values_and_bound(row.findings, row.worst)
        yield from screen.told(row.audit, f"{said}: {values}", mark=row.sign)
        if row.blocking:
            yield from _blocking(row, screen)
        elif row.worst.effect is Effect.ACCEPTED:
            yield from _accepted(row.worst, screen)
        elif row.relaxed:
            yield from screen.told(excuse_in_words(row.worst), indent=_INDENT)
    if len(certain) > _FEW:
        yield from screen.told(", ".join(row.audit for row in certain), mark="pass")


def _passes(row: Row) -> bool:
    return row.result is Result.PASS and row.sign == "pass"


def _doubtful_passes(model: str, rows: Sequence[Row], screen: Screen) -> Iterator[Line]:
    """Yield a line on a model's gates whose pass may only mean that it has no preferences."""
    if own := [r for r in rows if r.gate and r.doubt and r.model == model and _passes(r)]:
        audits = ", ".join(row.audit for row in own)
        whose = "" if len({row.model for row in rows}) == 1 else f"{model}: "
        said = f"{whose}{audits}: pass{'' if len(own) > 1 else 'es'}, but {own[0].doubt}"
        yield from screen.told(said, mark="pass")


def _accepted(finding: Finding, screen: Screen) -> Iterator[Line]:
    """Yield lines on who accepts a failure, until when and up to which value, and the reason."""
    waiver = finding.judgement.waiver
    if waiver is None:
        said = f"accepted: {excuse(finding)}"
    else:
        n, signed = waiver.days_left, waiver.terms.signed(finding.bound.unit)
        left = f"; {n} day{'s' * (n != 1)} left" if waiver.state == "expiring" else ""
        yield from screen.told(f"{signed}{left}", indent=_INDENT)
        said = waiver.terms.reason
    yield from screen.told(_short(said, screen), indent=_INDENT)


def _blocking(row: Row, screen: Screen) -> Iterator[Line]:
    """Yield lines on an audit that blocks: its claim, reasons, page, and how to repeat it."""
    worst = row.worst
    yield from screen.told(f"{row.title}: {worst.claim.text}", indent=_INDENT)
    for reason in dict.fromkeys(each for finding in row.blocking for each in reasons(finding)):
        yield from screen.told(addressed(reason), indent=_INDENT)
    if place := screen.read_on(row.audit):
        yield from screen.told(f"read on: {place}", indent=_INDENT)
    if worst.claim.repeat:
        yield from screen.told(f"repeat: {worst.claim.repeat}", indent=_INDENT)


def _model(name: str, own: Summary, screen: Screen) -> Iterator[Line]:
    """Yield a model's line of the summary: its gates counted by result, and those that block."""
    stops = [row.audit for row in own.rows if row.blocking]
    names = f"; blocks: {', '.join(stops)}" if stops else ""
    said = f"{own.verdict.headline}: {own.gates}{names}"
    yield from screen.told(name, said, mark=_SIGNS.get(own.verdict.outcome, "not run"))


def _unmeasured(of: Missing, run: Summary, screen: Screen) -> Iterator[Line]:
    """Yield lines on audits without a number for one reason, and how to measure them."""
    audits = dict.fromkeys(finding.audit for finding in of.findings)
    several = f" (of {of.models[0]})" if len(run.models) > 1 else ""
    several = f" (of {len(of.models)} models)" if len(of.models) > 1 else several
    word = "not run" if of.asked else "not asked for"
    command = of.how and not of.how.startswith("name one with ")
    if command:
        said = f"{word}; get it with: {addressed(of.how)}"
    else:
        said = "; ".join(filter(None, (of.why, of.how)))
        said = said if "not run" in said else f"{word}: {said}"
    blocks = " (blocks)" if of.findings[0].blocks else ""
    yield from screen.told(f"{', '.join(audits)}{several}{blocks}: {said}", mark="not run")
    yield from screen.told(of.why, indent=_INDENT) if command else ()


def _remarks(run: Summary) -> Iterator[str]:
    """Yield remarks: informational audits, null controls, waivers, overrides, figures.

    A waiver that ends soon stands beside its audit, where audits have lines.
    """
    informs = [row for row in run.rows if not row.decides]
    if shown := [row for row in informs if row.worst.estimate or not_asked(row.worst)]:
        yield _informs(shown)
    if "pass" in run.nulls or "not tried" in run.nulls:
        yield run.nulls
    told = [row.worst for row in run.rows if len(run.models) == 1]
    yield from dict.fromkeys(
        f"waiver of {finding.name}: {waiver.says}"
        for finding in run.findings
        if (waiver := finding.judgement.waiver)
        and (waiver.state == "unneeded" or (waiver.state == "expiring" and finding not in told))
    )
    if changed := dict.fromkeys(by for finding in run.findings for _, by, _ in overrides(finding)):
        yield f"not as declared: {', '.join(changed)}"
    if every := {(figure.model, figure.audit) for figure in run.figures}:
        lost = len(every - {(each.model, each.audit) for each in run.figures if each.estimate})
        n = f"{len(every)} figure{'' if len(every) == 1 else 's'}"
        yield f"{n}, without pass or fail" + (f" ({lost} not measured)" if lost else "")


def _informs(informs: Sequence[Row]) -> str:
    """Count informational audits, such as `9 informational: 8 pass, 1 fail (funnel)`."""
    parts = []
    for result in (Result.PASS, Result.FAIL, Result.OPEN):
        own = Counter(_name(row) for row in informs if row.worst.result is result)
        names = ", ".join(f"{name} of {n} models" if n > 1 else name for name, n in own.items())
        more = f" ({names})" if result is not Result.PASS else ""
        parts += [f"{own.total()} {result}{more}"] if own else []
    if free := dict.fromkeys(row.audit for row in informs if not row.worst.estimate):
        parts.append(f"{len(free)} not asked for ({', '.join(free)})")
    return f"{len(informs)} informational: {', '.join(parts)}"


def _name(row: Row) -> str:
    """Return the audit's name, with the worst prompts if some are: `positive_skew[worst]`."""
    bad = [f.prompt for f in row.findings if f.in_words == row.worst.in_words]
    return row.audit if len(bad) == len(row.findings) else f"{row.audit}[{', '.join(bad)}]"


def _short(text: str, screen: Screen) -> str:
    """Cut a text to one line; the report and the table have all of it."""
    text = line(text)
    room = max(screen.width - len(_INDENT), 20)
    return text if len(text) <= room else f"{text[: room - 3].rstrip()}..."


def table(findings: Sequence[Finding]) -> list[Line]:
    """Return the table for `-v`: a line per finding, then each reason once, then null controls."""
    cells = [
        (f.result, f.effect, f.model, f.audit, f.prompt, value(f), interval(f), str(f.bound))
        for f in findings
    ]
    below = filter(None, (*_reasons(findings), nulls_in_words(findings)))
    return [Line(log(text)) for text in (*aligned(cells), *map(line, below))]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines: columns padded, control characters written as escapes."""
    cells = [tuple(map(line, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _reasons(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a line per finding and reason; a repeated reason is "the same as" the first finding."""
    given: dict[str, str] = {}
    for finding in findings:
        for reason in reasons(finding):
            first = given.setdefault(reason, finding.name) if finding.reason == reason else ""
            said = f"the same as {first}" if first not in ("", finding.name) else reason
            yield f"{finding.in_words}: {finding.name}: {said}"
