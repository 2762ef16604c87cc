"""Record which audits a run selected, and why some of them have no result."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from rmaudit.config.paths_and_atomic_writes import in_place_of


@dataclass(slots=True)
class SelectedAudits:
    """Audits that a run collected and selected, with the reasons for missing results.

    Attributes:
        collected: how many audits there are, before -k, -m and --deselect; figures do not count.
        selected: for each test id of those that are left, in order, the finding (or figure) that
            stands if nothing comes of it, as JSON text.
        begun: whether any of them began.
        crashed: by test id, how a worker died while it ran the test.
        broken: what could not be collected.
        expected: models and prompts of each audit, by the id of its function.
        skipped: why files and folders were skipped as a whole, by their paths.
        unseen: a sentence each on audits that were never collected.
        beside: failures that belong to no audit, a sentence each, by test id.
        folder: where xdist's workers write what they collected.
        workers: the process ids of those on this machine, by their names.
    """

    collected: int = 0
    selected: dict[str, str] = field(default_factory=dict)
    begun: bool = False
    crashed: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    expected: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    skipped: dict[Path, str] = field(default_factory=dict)
    unseen: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)
    folder: TemporaryDirectory[str] | None = None
    workers: dict[str, int] = field(default_factory=dict)

    def send(self, folder: Path, worker: str) -> None:
        """Write what an xdist worker collected to `folder`, for the reporting process."""
        if folder.is_dir():  # a worker on another machine has no such folder
            found = [self.collected, self.selected, self.unseen]
            with in_place_of(folder / f"{worker}.json") as own:
                own.write_text(json.dumps(found), encoding="utf-8")

    def receive(self) -> None:
        """Read what the first xdist worker collected (all collect the same); delete the folder."""
        if self.folder is not None:
            for path in sorted(Path(self.folder.name).glob("*.json"))[:1]:
                found = json.loads(path.read_text(encoding="utf-8"))
                self.collected, self.selected, self.unseen = found
            self.folder.cleanup()

    def why_not(self, test: str, stopped: str) -> str:
        """Return why a selected test has no result; `stopped` says why the run ended early."""
        if test in self.crashed:
            return f"planned, and its worker died: {self.crashed[test]}"
        return f"planned, not run: {stopped or 'its worker died, or another plugin left it out'}"

    def faults(self) -> tuple[str, ...]:
        """Return a sentence for each fault that no finding shows, such as a file not collected.

        These are files and audits that were not collected, and failures that belong to no audit.
        """
        broken = [f"errors in collecting {', '.join(dict.fromkeys(self.broken))}"]
        died = {
            test: f"{test} failed, which is no audit: its worker died"
            for test in self.crashed
            if test not in self.selected
        }
        return (*(broken if self.broken else ()), *self.unseen, *(self.beside | died).values())
