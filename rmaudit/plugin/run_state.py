"""Hold what is known of a run besides its plan: what was selected, seen of it, and came of it.

`SelectedAudits` is made once, when collection has ended. Nothing here imports what writes reports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rmaudit.config.paths_and_atomic_writes import in_place_of
from rmaudit.interrupts import TERMINATED, Terminated
from rmaudit.plugin.collection import COLLECTED, all_audits, audited, dropped, left_out
from rmaudit.plugin.run_plan import plan_of
from rmaudit.plugin.uncollected_audits import uncollected
from rmaudit.runs.audit_case import Memory
from rmaudit.verdicts.findings import Figure, Finding
from rmaudit.verdicts.run_verdict import RunVerdict

if TYPE_CHECKING:
    from rmaudit.report.results_document import Results

_SWEEPS = {"sweep", "sweeps", "baseline", "searches"}  # fixtures that sweep, for all of a model


@dataclass(frozen=True, slots=True)
class SelectedAudits:
    """Audits that a run collected and selected.

    Attributes:
        collected: how many audits there are, before -k, -m and --deselect; figures do not count.
        selected: for each test id of those that are left, in order, the finding (or figure) that
            stands if nothing comes of it, as JSON text.
        unseen: a sentence each on audits that were never collected.
        words: what the selected audits name, for a sample of the vocabulary.
    """

    collected: int = 0
    selected: Mapping[str, str] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def send(self, folder: Path, worker: str) -> None:
        """Write what an xdist worker collected to `folder`, for the reporting process."""
        if folder.is_dir():  # a worker on another machine has no such folder
            with in_place_of(folder / f"{worker}.json") as own:
                own.write_text(json.dumps(asdict(self)), encoding="utf-8")


@dataclass(slots=True)
class Course:
    """Hold what `reporting_hooks.Watch` sees of the tests of a run as they run."""

    begun: bool = False  # whether any of them began
    carried: dict[str, str] = field(default_factory=dict)  # findings as JSON text, by test
    order: dict[str, int] = field(default_factory=dict)  # places by test, where workers run them
    crashed: dict[str, str] = field(default_factory=dict)  # how a worker died, by the test
    broken: list[str] = field(default_factory=list)  # what could not be collected
    beside: dict[str, str] = field(default_factory=dict)  # failures that are no audit's

    def why_not(self, test: str, stopped: str) -> str:
        """Return why a selected test has no result; `stopped` says why the run ended early."""
        if test in self.crashed:
            return f"planned, and its worker died: {self.crashed[test]}"
        return f"planned, not run: {stopped or 'its worker died, or another plugin left it out'}"

    def faults(self, audits: SelectedAudits) -> tuple[str, ...]:
        """Return a sentence for each fault that no finding shows, such as a file not collected.

        These are files and audits that were not collected, and failures that belong to no audit.
        """
        broken = [f"errors in collecting {', '.join(dict.fromkeys(self.broken))}"]
        died = {
            test: f"{test} failed, which is no audit: its worker died"
            for test in self.crashed
            if test not in audits.selected
        }
        return (*(broken if self.broken else ()), *audits.unseen, *(self.beside | died).values())


@dataclass(slots=True)
class RunOutcome:
    """Hold what came of a run; `run_outcome.conclude` and `render` fill it at the run's end."""

    stopped: int = 0  # the exit code of Ctrl-C or SIGTERM, if one came: `stopping` notes it
    findings: list[Finding] = field(default_factory=list)  # decided
    figures: list[Figure] = field(default_factory=list)  # of audits without a bound
    interrupted: str = ""  # why the run is not whole
    gaps: list[str] = field(default_factory=list)  # all that keeps it from being whole
    verdict: RunVerdict | None = None  # of the run, where there is any finding
    results: tuple[Results, Path] | None = None  # written, with their folder
    against: list[str] = field(default_factory=list)  # comparisons with blessed releases
    warnings: list[str] = field(default_factory=list)  # sentences for the terminal
    unwritten: list[str] = field(default_factory=list)  # what could not be written, and why
    rendered: bool = False  # whether `render` was called
    report: Path | None = None  # the page
    undrawn: str = ""  # how to have the page that an interrupted run has not drawn
    logged: list[str] = field(default_factory=list)  # where the run was logged
    unlogged: list[str] = field(default_factory=list)  # why it was not

    def stopping(self, error: KeyboardInterrupt) -> None:
        """Note that Ctrl-C or SIGTERM ends the run, with pytest's exit code or that of SIGTERM."""
        terminated = isinstance(error, Terminated)
        self.stopped = TERMINATED if terminated else int(pytest.ExitCode.INTERRUPTED)

    @contextmanager
    def noting_interrupt(self) -> Iterator[None]:
        """Note that Ctrl-C or SIGTERM ended the `with` block, and go on after it."""
        try:
            yield
        except KeyboardInterrupt as error:
            self.stopping(error)


SELECTED = pytest.StashKey[SelectedAudits]()
OUTCOME = pytest.StashKey[RunOutcome]()
MEMORY = pytest.StashKey[Memory]()


def received(folder: Path) -> SelectedAudits:
    """Return what the first xdist worker collected (all collect the same)."""
    for path in sorted(folder.glob("*.json"))[:1]:
        found = json.loads(path.read_text(encoding="utf-8"))
        return SelectedAudits(**{**found, "unseen": tuple(found["unseen"])})
    return SelectedAudits()


def selected(
    config: pytest.Config, blank: Mapping[str, str], items: Sequence[pytest.Item]
) -> SelectedAudits:
    """Return which audits were collected and selected, once collection has ended.

    `items` are the tests that are left, and `blank` is the field `selected`.
    """
    audits, found = all_audits(config), config.stash[COLLECTED]
    unseen = [*uncollected(config, found.items, found.skipped), *dropped(config, audits)]
    words = (
        word
        for item in items
        if isinstance(item, pytest.Function) and _SWEEPS & {*item.fixturenames}
        if (audit := audited(item))
        for word in audit.declaration.words
    )
    return SelectedAudits(
        collected=sum(not audit.declaration.figure for _, audit in audits),
        selected=blank,
        unseen=tuple(unseen) if audits else (),
        words=tuple(dict.fromkeys(words)) if plan_of(config).options.sample else (),
    )


def loads_base(item: pytest.Function) -> bool:
    """Return whether this run may download and load a base model for a test's null control.

    It may not in a run of a part of the audits, which is to be quick, unless the audit itself asks
    for the base.
    """
    audits = item.config.stash[SELECTED]
    part = left_out(item.config) or len(audits.selected) < audits.collected
    return not part or not {"base_logprobs", "policies"}.isdisjoint(item.fixturenames)
