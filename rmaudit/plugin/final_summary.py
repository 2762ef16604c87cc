"""Print the end of a run on the terminal: verdict, failures and report, after pytest's summary."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rmaudit.plugin.report_of_audit import TOLD
from rmaudit.plugin.reporting_hooks import WATCH, models_named
from rmaudit.plugin.run_outcome import ending, render
from rmaudit.plugin.run_plan import plan_of
from rmaudit.plugin.run_state import OUTCOME, RunOutcome
from rmaudit.report.safe_text import line, log
from rmaudit.verdicts.estimates_and_bounds import Result
from rmaudit.verdicts.run_verdict import RunVerdict

if TYPE_CHECKING:
    from rmaudit.report.writers import terminal
    from rmaudit.verdicts.findings import AnyFinding

_PAGES = Path(__file__).parents[2] / "docs" / "audits"  # in a checkout
_ACCEPT = "`waivers` in models.yaml; rmaudit models --keys"
_LISTED = "fE"  # what pytest lists at a run's end, where nobody asks for something else
_TITLE = 60  # characters of a section's title


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> Generator[None]:
    """Print rmaudit's verdict and report path on the terminal, after pytest's own summary.

    What rmaudit's summary says of an audit that fails is said there alone, once all findings were
    judged together: pytest's FAILURES and its list have what else failed. With `-q` rmaudit prints
    one line, and pytest's list has all. With `-v` a table of all findings comes first.
    """
    outcome, plan, told = config.stash[OUTCOME], plan_of(config), terminalreporter
    brief = config.get_verbosity() < 0
    judged = outcome.verdict is not None  # else nobody says what is hidden
    every: dict[str, list[Any]] = {
        name: list(told.stats[name])
        for name in ("failed", "error")
        if judged and name in told.stats
    }
    reasons = {log(finding.reason) for finding in outcome.findings if finding.reason}
    for name, of in every.items():
        told.stats[name] = [r for r in of if not (TOLD in r.__dict__ or str(r.longrepr) in reasons)]
    if brief or config.option.reportchars != _LISTED:
        config.stash[WATCH].shown = every  # before pytest lists them
    yield
    told.stats.update(every)  # before pytest counts them
    if outcome.verdict is not None:
        if brief:
            _print_one_line(outcome, outcome.verdict, config, told)
        else:
            _print_summary(outcome, outcome.verdict, config, told)
        ended = ending(outcome, exitstatus, gate=plan.options.gate)
        if ended == pytest.ExitCode.OK and not outcome.verdict.outcome.releases:
            said = "the exit code is 0, and this run does not pass: --rm-gate makes it the verdict"
            told.write_line(said, yellow=True)
        report = [f"report: {outcome.report}"] if outcome.report is not None else []
        report += [outcome.undrawn] if outcome.undrawn else []
        more = [] if brief else [*report, *outcome.logged]
        for text in (*more, *outcome.unwritten, *outcome.warnings, *outcome.unlogged):
            told.write_line(log(line(text)))
        outcome.undrawn = ""
    elif plan.options.gate and plan.planner is None:
        told.write_line("rmaudit: --rm-gate: no audit was run, so nothing passes")


def _print_one_line(
    outcome: RunOutcome, verdict: RunVerdict, config: pytest.Config, told: pytest.TerminalReporter
) -> None:
    from rmaudit.report.summary import summarize_findings
    from rmaudit.report.writers import terminal

    brief = terminal.quiet(summarize_findings(outcome.findings, verdict))
    told.write(brief.text, **_markup(brief))
    told.flush()  # whatever becomes of the pages
    render(config)
    where = outcome.report or outcome.undrawn
    told.write_line(log(line(f"; {where}" if where else "")))


def _print_summary(
    outcome: RunOutcome, verdict: RunVerdict, config: pytest.Config, told: pytest.TerminalReporter
) -> None:
    """Write the summary and what an interrupted run leaves in the cache; render the report."""
    from rmaudit.report.finding_words import cause_in_words
    from rmaudit.report.summary import summarize_findings
    from rmaudit.report.writers import terminal

    found: list[AnyFinding] = [*outcome.findings, *outcome.figures]
    models = dict.fromkeys(each.model for each in found)
    told.write_sep("=", log(line("rmaudit: " + ", ".join(models)))[:_TITLE])
    if config.getoption("numprocesses", None) and not plan_of(config).options.models:
        told.write_line(models_named(config))  # workers collect, and the header is silent
    table = terminal.table(outcome.findings) if config.get_verbosity() else []
    screen = _screen_of_terminal(config)
    run = summarize_findings(outcome.findings, verdict, outcome.gaps, outcome.figures)
    for each in (*table, *terminal.summary(run, screen)):
        told.write_line(each.text, **_markup(each))
    for text in (*outcome.against, *([_kept_after_interrupt(config)] if outcome.stopped else [])):
        for each in screen.told(text):
            told.write_line(each.text)
    told.flush()
    render(config)
    failing = [each for each in run.findings if each.blocks and each.estimate]
    if failing and not run.recorded:
        cause = cause_in_words(each for each in failing if each.result is Result.FAIL)
        steps = [f"its cause: {cause}"] if cause else []
        for step in (*steps, f"accept a failure for a time: {_ACCEPT}"):
            for each in screen.told(step):
                told.write_line(each.text)


def _kept_after_interrupt(config: pytest.Config) -> str:
    """Return a line on what an interrupted run leaves in the cache, and how to go on."""
    from rmaudit.scores.score_store import unfinished

    cache, command = plan_of(config).store, shlex.join(["pytest", *config.invocation_params.args])
    begun = unfinished(cache)
    more = f" and the first {begun:,} answers of unfinished ones" if begun else ""
    return f"cached in {cache.root}: all finished sweeps{more}; to continue, run {command}"


def _markup(told: terminal.Line) -> dict[str, bool]:
    """Return a summary line's colour and boldness, as keyword arguments of pytest's writer."""
    return {name: True for name in (told.colour, "bold" if told.bold else "") if name}


def _screen_of_terminal(config: pytest.Config) -> terminal.Screen:
    """Return the terminal's width, its symbols of outcomes, and a function to find audit pages."""
    from rmaudit.report.audit_rows import MARKS
    from rmaudit.report.writers import terminal

    writer, here = config.get_terminal_writer(), config.invocation_params.dir
    encoding = getattr(getattr(writer, "_file", None), "encoding", None) or "utf-8"
    try:
        "".join(MARKS.values()).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        marks = terminal.ASCII
    else:
        marks = MARKS

    def read_on(audit: str) -> str:
        page = _PAGES / f"{audit}.md"
        if not page.is_file():
            return ""
        return str(page.relative_to(here) if page.is_relative_to(here) else page)

    return terminal.Screen(max(writer.fullwidth, 40), marks, read_on)
