"""Fill the outcome of a run: judge its findings, write results.json and its pages.

This happens in the reporting process: with xdist that is the controller.
"""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

import rmaudit
from rmaudit.config.servers import masked_urls
from rmaudit.plugin.collection import left_out
from rmaudit.plugin.run_plan import plan_of
from rmaudit.plugin.run_state import MEMORY, OUTCOME, Course, RunOutcome, SelectedAudits
from rmaudit.report.json_codec import decode
from rmaudit.verdicts.decision import decide
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import AnyFinding, Figure, Finding
from rmaudit.verdicts.run_verdict import of_run

if TYPE_CHECKING:
    from rmaudit.report.results_document import Results

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"  # names the file that GitHub shows on a job's page


def conclude(session: pytest.Session, course: Course, audits: SelectedAudits, code: int) -> None:
    """Judge all findings and write results.json; pytest would end with the exit code `code`."""
    outcome = session.config.stash[OUTCOME]
    finished = _gather_findings(session, outcome, course, audits, code)
    faults = course.faults(audits)
    with _guarded(outcome, "results.json"):
        _write_results(session.config, outcome, audits, finished, faults)
    outcome.gaps = _why_incomplete(outcome, faults)
    outcome.verdict = of_run(outcome.findings, outcome.gaps)


def ending(outcome: RunOutcome, code: int, *, gate: bool) -> int:
    """Return the run's exit code, given the `code` with which pytest would end.

    The code is not 0 if a finding blocks, if nothing was measured, or if the run was interrupted.
    With `gate` it is 0 only if the run PASSES or is ACCEPTED, never for a run without any audit.
    """
    if outcome.stopped:
        return outcome.stopped
    if code != pytest.ExitCode.OK or (outcome.verdict is None and not gate):
        return code
    blocked = any(finding.blocks for finding in outcome.findings)
    if blocked or outcome.interrupted or outcome.unwritten:
        return pytest.ExitCode.TESTS_FAILED
    found: list[AnyFinding] = [*outcome.findings, *outcome.figures]
    if all(each.estimate is None for each in found):
        return pytest.ExitCode.NO_TESTS_COLLECTED
    passes = outcome.verdict is not None and outcome.verdict.outcome.releases
    return code if passes or not gate else pytest.ExitCode.TESTS_FAILED


def _why_incomplete(outcome: RunOutcome, faults: Sequence[str]) -> list[str]:
    """Return the reasons why the run is not complete."""
    if not outcome.results:
        said = [outcome.interrupted or "results.json was not written"]
        return [*said, *faults]
    return list(outcome.results[0].run.gaps)


def _gather_findings(
    session: pytest.Session, outcome: RunOutcome, course: Course, audits: SelectedAudits, code: int
) -> int:
    """Gather and judge all findings; return how many selected audits have a result.

    One without a result becomes an ERROR; SKIPPED if the run was stopped before it began.
    """
    plan, stopped = plan_of(session.config), _why_stopped(session, code)
    missing = [test for test in audits.selected if test not in course.carried]
    findings = {test: _decoded(text) for test, text in course.carried.items()}
    for test in missing:
        blank = replace(_decoded(audits.selected[test]), reason=course.why_not(test, stopped))
        if stopped and test not in course.crashed and isinstance(blank, Finding):
            judgement = replace(blank.judgement, verdict=Verdict.SKIPPED)
            blank = replace(blank, judgement=judgement)
        findings[test] = blank
    order = {test: place for place, test in enumerate(audits.selected)} or course.order
    ordered = [findings[test] for test in sorted(findings, key=lambda test: order.get(test, 0))]
    outcome.figures = [each for each in ordered if isinstance(each, Figure)]
    judged = [each for each in ordered if isinstance(each, Finding)]
    outcome.findings = decide(judged, plan.policy, plan.today)
    unfinished = sum(isinstance(findings[test], Finding) for test in missing)
    outcome.interrupted = stopped or ("audits have no result" if unfinished else "")
    return len(judged) - unfinished


def _decoded(text: str) -> AnyFinding:
    return decode(cast("type[AnyFinding]", AnyFinding), text)


def _why_stopped(session: pytest.Session, exitstatus: int) -> str:
    """Return why pytest ended the run early, "" if it did not."""
    for said in (session.shouldfail, session.shouldstop):
        if said:
            return said if isinstance(said, str) else "the run was stopped"
    if exitstatus not in [*pytest.ExitCode]:  # one's own, given to pytest.exit
        return f"the run was stopped with exit code {exitstatus}"
    return {
        pytest.ExitCode.INTERRUPTED: "the run was interrupted",
        pytest.ExitCode.INTERNAL_ERROR: "pytest or a plugin of it broke",
    }.get(pytest.ExitCode(exitstatus), "")


def _write_results(
    config: pytest.Config,
    outcome: RunOutcome,
    audits: SelectedAudits,
    finished: int,
    faults: tuple[str, ...],
) -> None:
    """Write results.json; note in `outcome` what it has, and how blessed releases compare."""
    from rmaudit.report.releases.release_regressions import blessed_comparisons
    from rmaudit.report.results_document import Run
    from rmaudit.report.results_of_run import environment, record, started

    plan, selected = plan_of(config), len(outcome.findings)
    run = Run(
        created=started(),
        rmaudit=rmaudit.__version__,
        command=masked_urls(shlex.join(["pytest", *config.invocation_params.args])),
        seed=plan.options.seed,
        environment=environment(plan.own_words),
        collected=max(audits.collected, selected),
        selected=selected,
        finished=finished,
        interrupted=bool(outcome.interrupted),
        part=left_out(config),
        sample=plan.options.sample,
        faults=faults,
    )
    with warnings.catch_warnings(record=True) as said:  # pytest tells none at a run's end
        warnings.simplefilter("always")
        outcome.results = record(
            outcome.findings,
            plan.specs,
            plan.store,
            run,
            base=plan.report.absolute(),
            made=config.stash[MEMORY].sweeps.values(),
            own_words=plan.own_words,
            blessed=plan.blessed,
            figures=outcome.figures,
        )
    told = (each.message for each in said if issubclass(each.category, UserWarning))
    outcome.warnings += [f"warning: {message}" for message in told]
    outcome.findings = [*outcome.results[0].findings]
    for each in blessed_comparisons(outcome.results[0]):
        outcome.against.append("; ".join(each.says))
        outcome.warnings += [each.old] if each.old else []


def render(config: pytest.Config) -> None:
    """Write the report's pages and a CI job's summary, and log the run to `--rm-log`; only once.

    After Ctrl-C or SIGTERM only what is quick is written, and `undrawn` says how to have the page.
    """
    outcome, plan = config.stash[OUTCOME], plan_of(config)
    if outcome.results is None or outcome.rendered or (plan.caller and not plan.caller.pages):
        return
    outcome.rendered, (results, folder), tracker = True, outcome.results, plan.options.log
    with outcome.noting_interrupt():
        _write_report(outcome, results, folder, tracker)
    if outcome.stopped:
        undone = f"the page was not drawn{', nor the run logged' if tracker else ''}"
        outcome.undrawn = f"{undone}; to draw it, run rmaudit replay {_here(folder)}/results.json"


def _write_report(outcome: RunOutcome, results: Results, folder: Path, tracker: str | None) -> None:
    from rmaudit.report import writers

    with _guarded(outcome, f"a page of {folder}"):
        outcome.warnings += writers.write(results, folder, page=not outcome.stopped)[1]
        outcome.report = None if outcome.stopped else _here(folder / "index.html")
        outcome.warnings += _append_to_github_summary(folder)
    if tracker and not outcome.unwritten and not outcome.stopped:
        _log_to_tracker(outcome, tracker, results, folder)


def _here(path: Path) -> Path:
    """Return the path as one names it from the current folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _log_to_tracker(outcome: RunOutcome, tracker: str, results: Results, folder: Path) -> None:
    """Log the run to a tracker; if that fails, note a warning and do not fail the run."""
    from rmaudit.report import experiment_trackers

    try:
        outcome.logged += experiment_trackers.log(tracker, results, folder)
    except Exception as error:  # noqa: BLE001  (whatever a client of others raises)
        why = masked_urls(f"{type(error).__name__}: {error}")  # a server's URL may have a password
        outcome.unlogged.append(f"warning: the run was not logged to {tracker}: {why}")


@contextmanager
def _guarded(outcome: RunOutcome, what: str) -> Iterator[None]:
    """Catch any exception in the block, and note as an error that `what` was not written."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (a full disk, a page that cannot be drawn)
        why = f"{type(error).__name__}: {error}"
        outcome.unwritten.append(f"error: {what} was not written: {why}")


def _append_to_github_summary(folder: Path) -> list[str]:
    """Append the run's summary to a GitHub job's page, if any; return a warning if that fails."""
    place = os.environ.get(STEP_SUMMARY)
    if not place:
        return []
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    try:
        with Path(place).open("a", encoding="utf-8", newline="\n") as page:
            page.write(f"\n{summary}")  # others may not have ended their last line
    except OSError as error:
        return [f"warning: the summary was not appended to ${STEP_SUMMARY}: {error.strerror}"]
    return []
