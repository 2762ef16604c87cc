"""The end of a run: its folder, with results.json in it (`writers.outputs` renders the rest)."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rmaudit.config.registry import ModelSpec
from rmaudit.prompts import name_of, names_each
from rmaudit.report import document
from rmaudit.report.collect import SweepRecord, collect
from rmaudit.report.document import Results
from rmaudit.scores.store import Store
from rmaudit.scores.sweep import Sweep, sweep_under
from rmaudit.verdicts.findings import Finding


@dataclass(frozen=True, slots=True)
class Course:
    """How many audits were collected, selected and finished, and whether the run was stopped."""

    collected: int
    selected: int
    finished: int
    interrupted: bool = False


def record(  # noqa: PLR0913  (keyword-only after the subjects)
    findings: Sequence[Finding],
    specs: Sequence[ModelSpec],
    store: Store,
    *,
    base: Path,
    command: str,
    seed: int,
    made: Iterable[Sweep] = (),
    course: Course | None = None,
) -> tuple[Results, Path]:
    """Write `<base>/<time>/results.json`; the results, and the folder for what is rendered of them.

    Sweeps that were `made` in this process need not be read from the store again. Without a
    `course` the findings are all that was to be had. The results are those that a reader of the
    file gets: what is shown is what was written.
    """
    n = len(findings)
    course = course or Course(collected=n, selected=n, finished=n)
    now = datetime.now(UTC)
    folder = _fresh(base, now.strftime("%Y-%m-%dT%H-%M-%SZ"))
    run = document.Run(
        created=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        rmaudit=version("rmaudit"),
        command=command,
        seed=seed,
        environment={
            "python": platform.python_version(),
            "platform": platform.platform(),
            **{name: version(name) for name in ("pytest", "torch", "transformers")},
        },
        collected=course.collected,
        selected=course.selected,
        finished=course.finished,
        interrupted=course.interrupted,
    )
    records = _records(findings, store, {sweep.key: sweep for sweep in made})
    path = folder / "results.json"
    document.write(collect(run, specs, records, findings), path)
    results = document.read(path)
    document.write(results, path)  # as whoever reads it would write it: 1.0 where there was 1
    return results, folder


def _records(
    findings: Sequence[Finding], store: Store, made: Mapping[str, Sweep]
) -> list[SweepRecord]:
    """The sweeps that the findings rest on: of this run, or read back from the store."""
    records: dict[str, SweepRecord] = {}
    named = {key for finding in findings if names_each(finding.prompt) for key in finding.sweeps}
    for finding in findings:
        for key in finding.sweeps:
            swept = None if key in records else sweep_under(key, store, made)
            if swept is not None:
                records[key] = SweepRecord(
                    model=finding.model,
                    prompt=name_of(swept.prompt.text),
                    prompt_text=swept.prompt.text,
                    key=key,
                    frame=swept.frame,
                    provenance=swept.provenance,
                    whole=key in named,  # of a family of wordings, summaries
                )
    return list(records.values())


def _fresh(base: Path, name: str) -> Path:
    """A new folder below `base`: no run overwrites another."""
    for attempt in range(1000):
        folder = base / (name if attempt == 0 else f"{name}-{attempt}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    message = f"{base} has a thousand reports of {name}"
    raise FileExistsError(message)
