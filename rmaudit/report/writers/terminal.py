"""Write the summary at the end of a pytest run: verdict, a line per audit, next steps.

It fits the screen. The whole table of findings stands above it where somebody asks for it (`-v`).
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rmaudit.report.page.number_format import bound_in_words, interval, value
from rmaudit.report.safe_text import addressed, line, log
from rmaudit.report.summary import MARKS, Row, count_gates, missing, summarize
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict
from rmaudit.verdicts.findings import Figure, Finding
from rmaudit.verdicts.run_verdict import Outcome, RunVerdict, what_gates_tested
from rmaudit.verdicts.verdict_wording import (
    advice,
    excuse,
    nulls_in_words,
    overrides,
    reasons,
    tallied,
)

ASCII = dict(zip(MARKS, "x?~+o-", strict=True))  # for a terminal that has no others
_COLOURS = {"fail": "red", "unsure": "yellow", "pass": "green"}
_OUTCOMES = {Outcome.FAILS: "red", Outcome.PASSES: "green"}  # the others are yellow
_INDENT = "    "


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


def quiet(findings: Sequence[Finding], verdict: RunVerdict) -> Line:
    """Summarize a run in a line, such as `rmaudit: FAILS: 8 gates: 7 pass, 1 fail (blocks)`."""
    said = f"rmaudit: {verdict.headline}: {count_gates(summarize(findings))}"
    return Line(log(line(said)), _OUTCOMES.get(verdict.outcome, "yellow"))


def summary(
    findings: Sequence[Finding],
    verdict: RunVerdict,
    gaps: Sequence[str] = (),
    screen: Screen | None = None,
    *,
    figures: Sequence[Figure] = (),
) -> list[Line]:
    """Return the lines of a run's summary; `gaps` says what the run left out.

    A run of one model has a line for each audit, a run of several models a line for each model.
    Audits that were not measured are grouped by reason. `figures` are counted in a line.
    """
    screen, every = screen or Screen(), summarize(findings)
    models = list(dict.fromkeys(finding.model for finding in findings))
    colour = _OUTCOMES.get(verdict.outcome, "yellow")
    head = screen.told(verdict.headline, count_gates(every))
    lines = [Line(each.text, colour, bold=True) for each in head]
    lines += [each for gap in gaps for each in screen.told(f"not a whole run: {gap}")]
    if said := what_gates_tested(findings):
        lines += screen.told(said)
    if verdict.outcome is Outcome.NOT_ESTABLISHED:
        lines += screen.told(f"{advice(verdict.outcome, findings)}.")
    elif findings and not any(finding.estimate for finding in findings):
        lines += screen.told("nothing was measured")
    if len(models) == 1:
        lines += _audits(every, screen)
    else:
        lines += [each for name in models for each in _model(name, every, screen)]
    lines += [each for name in models for each in _doubtful_passes(name, every, screen)]
    lines += [*_unmeasured(findings, screen), *_remarks(findings, every, screen)]
    return [*lines, *(screen.told(figures_in_words(figures)) if figures else ())]


def figures_in_words(figures: Sequence[Figure]) -> str:
    """Count figures, such as `10 figures, without pass or fail (3 not measured)`."""
    every = {(figure.model, figure.audit) for figure in figures}
    lost = len(every - {(figure.model, figure.audit) for figure in figures if figure.estimate})
    n = f"{len(every)} figure{'' if len(every) == 1 else 's'}"
    return f"{n}, without pass or fail" + (f" ({lost} not measured)" if lost else "")


def _audits(every: Sequence[Row], screen: Screen) -> Iterator[Line]:
    """Yield lines on gates: blocking ones with explanations, other non-passes, then passes."""
    gates = [row for row in every if row.gate]
    for row in sorted(gates, key=lambda row: not row.blocking):
        worst = row.worst
        if worst.estimate is None or _passes(row):
            continue
        if row.blocking:
            yield from _blocking(row, screen)
        elif worst.effect is Effect.ACCEPTED:
            yield from screen.told(row.audit, _values_and_bound(row), mark="accepted")
            yield from _accepted(worst, screen)
        elif worst.result is Result.NOT_DECIDED:
            said = f"not decided: {_values_and_bound(row)}"
            yield from screen.told(row.audit, said, mark="not decided")
        else:
            said = f"{_values_and_bound(row)}; it does not block here"
            yield from screen.told(row.audit, said, mark="unsure")
    if not gates:
        yield from _informational(every, screen)
    if certain := [row.audit for row in gates if _passes(row) and not row.doubt]:
        yield from screen.told(", ".join(certain), mark="pass")


def _passes(row: Row) -> bool:
    return row.result is Result.PASS and not row.blocking


def _informational(every: Sequence[Row], screen: Screen) -> Iterator[Line]:
    """Yield a line on each informational audit: of a run without gates these are the results."""
    for row in every:
        worst = row.worst
        if worst.estimate is not None:
            mark = worst.result if worst.result in (Result.PASS, Result.NOT_DECIDED) else "unsure"
            said = f"{worst.result}: {_values_and_bound(row)}; it is informational"
            yield from screen.told(row.audit, said, mark=mark)


def _doubtful_passes(model: str, every: Sequence[Row], screen: Screen) -> Iterator[Line]:
    """Yield a line on a model's gates whose pass may only mean that it has no preferences."""
    if own := [r for r in every if r.gate and r.doubt and r.model == model and _passes(r)]:
        audits = ", ".join(row.audit for row in own)
        said = f"{audits}: pass{'' if len(own) > 1 else 'es'}, but {own[0].doubt}"
        yield from screen.told(said, mark="unsure")


def _accepted(finding: Finding, screen: Screen) -> Iterator[Line]:
    """Yield lines on who accepts a failure, until when and up to which value, and the reason."""
    waiver = finding.judgement.waiver
    if waiver is None:
        said = f"accepted: {excuse(finding)}"
    else:
        yield from screen.told(waiver.terms.signed(finding.bound.unit), indent=_INDENT)
        said = waiver.terms.reason
    yield from screen.told(_short(said, screen), indent=_INDENT)


def _blocking(row: Row, screen: Screen) -> Iterator[Line]:
    """Yield lines on a blocking audit: its values, the bound, what it means, where to read on.

    The blocking prompts are named if other prompts of the audit do not block.
    """
    worst, some = row.worst, row.blocking
    which = f" (blocks: {', '.join(f.prompt for f in some)})" if some != row.findings else ""
    mark = "unsure" if worst.result is Result.UNSURE else "fail"
    yield from screen.told(row.audit, f"{_values_and_bound(row)}{which}", mark=mark)
    if worst.result is not Result.PASS:
        how = "not established" if worst.result is Result.UNSURE else "does not hold"
        yield from screen.told(f"{how}: {worst.claim.text}", indent=_INDENT)
    for reason in dict.fromkeys(each for finding in some for each in reasons(finding)):
        yield from screen.told(addressed(reason), indent=_INDENT)
    if place := screen.read_on(row.audit):
        yield from screen.told(f"read on: {place}", indent=_INDENT)


def _model(name: str, every: Sequence[Row], screen: Screen) -> Iterator[Line]:
    """Yield a model's line of the summary: its gates counted by result, and those that block."""
    own = [row for row in every if row.model == name]
    gates = [row for row in own if row.gate]
    stops = [row for row in own if row.blocking]
    unsure = all(row.result is Result.UNSURE for row in stops)
    lost = any(row.result is Result.NOT_RUN for row in gates if row.asked)
    mark = ("unsure" if unsure else "fail") if stops else "not run" if lost else "pass"
    names = f"; blocks: {', '.join(row.audit for row in stops)}" if stops else ""
    yield from screen.told(name, f"{count_gates(own)}{names}", mark=mark)


def _unmeasured(findings: Sequence[Finding], screen: Screen) -> Iterator[Line]:
    """Yield lines on audits without a number, grouped by reason, and how to measure them."""
    for each in missing(finding for finding in findings if not _not_asked(finding)):
        audits = dict.fromkeys(finding.audit for finding in each.findings)
        of = f" (of {len(each.models)} models)" if len(each.models) > 1 else ""
        word = "not run" if each.asked else "not asked for"
        command = each.how and not each.how.startswith("name one with ")
        if command:
            said = f"{word}; get it with: {addressed(each.how)}"
        else:
            said = "; ".join(filter(None, (each.why, each.how)))
            said = said if "not run" in said else f"{word}: {said}"
        mark = "fail" if each.findings[0].blocks else "not run"
        yield from screen.told(f"{', '.join(audits)}{of}: {said}", mark=mark)
        yield from screen.told(each.why, indent=_INDENT) if command else ()


def _not_asked(finding: Finding) -> bool:
    """Return whether the finding is of an informational audit that the run did not ask for."""
    return finding.verdict is Verdict.NA and finding.severity is Severity.INFO


def _remarks(findings: Sequence[Finding], every: Sequence[Row], screen: Screen) -> Iterator[Line]:
    """Yield remarks: informational audits, null controls that pass, waivers and overrides."""
    if informs := [r for r in every if not r.gate and (r.worst.estimate or _not_asked(r.worst))]:
        yield from screen.told(_informs(informs))
    nulls = nulls_in_words(findings)
    if "pass" in nulls or "not tried" in nulls:
        yield from screen.told(nulls)
    waivers = {
        f"{finding.name}: {waiver.says}": None
        for finding in findings
        if (waiver := finding.judgement.waiver) and waiver.state in ("expiring", "unneeded")
    }
    for said in waivers:
        yield from screen.told(f"waiver of {said}")
    if changed := dict.fromkeys(by for finding in findings for _, by, _ in overrides(finding)):
        yield from screen.told(f"not as declared: {', '.join(changed)}")


def _informs(informs: Sequence[Row]) -> str:
    """Count informational audits, such as `9 informational: 8 pass, 1 fail (funnel)`."""
    parts = []
    for result in (Result.PASS, Result.FAIL, Result.UNSURE, Result.NOT_DECIDED):
        own = Counter(row.name for row in informs if row.worst.result is result)
        names = ", ".join(f"{name} of {n} models" if n > 1 else name for name, n in own.items())
        more = f" ({names})" if result is not Result.PASS else ""
        parts += [f"{own.total()} {result}{more}"] if own else []
    if free := dict.fromkeys(row.audit for row in informs if not row.worst.estimate):
        parts.append(f"{len(free)} not asked for ({', '.join(free)})")
    return f"{len(informs)} informational: {', '.join(parts)}"


def _short(text: str, screen: Screen) -> str:
    """Cut a text to one line; the report and the table have all of it."""
    text = line(text)
    room = max(screen.width - len(_INDENT), 20)
    return text if len(text) <= room else f"{text[: room - 3].rstrip()}..."


def _values_and_bound(row: Row) -> str:
    """Return a row's estimates, as in `greatest 0.47, best 0.58, must be above 0.50`."""
    said = [f"{f.prompt} {value(f) or f.result}" for f in row.findings]
    if len(row.findings) == 1:
        said = [f"{value(row.worst)} {interval(row.worst)}".strip()]
    return ", ".join([*said, bound_in_words(row.worst)])


def table(findings: Sequence[Finding]) -> list[Line]:
    """Return the table for `-v`: a line per finding, then each reason once, then the counts."""
    cells = [
        (f.result, f.effect, f.model, f.audit, f.prompt, value(f), interval(f), str(f.bound))
        for f in findings
    ]
    total = f"{len(findings)} findings: {tallied(findings)}"
    below = filter(None, (*_reasons(findings), nulls_in_words(findings), total))
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
