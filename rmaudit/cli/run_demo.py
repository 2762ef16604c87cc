"""Run `rmaudit demo`: the report of R-Smol-135M, from scores that are bundled with rmaudit."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from rmaudit.cli.printing import at_a_terminal, echo_json, ending_if_unwritable, say
from rmaudit.cli.shared_options import AsJson
from rmaudit.config.paths_and_atomic_writes import bundled

BUNDLED = Path(__file__).parent / "demo" / "results.json.gz"
_AGAIN = "pytest audits"  # what makes these scores


def demo(
    out: Annotated[
        Path, typer.Option(file_okay=False, help="the folder that the report is written to")
    ] = Path("reports/demo"),
    *,
    score: Annotated[
        bool | None,
        typer.Option(
            "--score/--no-score",
            help="then score the model on this machine too (default: ask on a terminal, else no)",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a whole report at once, from bundled scores of the small model R-Smol-135M.

    No model is loaded and nothing is downloaded. The results are checked as any results.json is,
    and the page is the one that a run writes. The command then offers to score the model here.

    Exit code 0; 3 if the report cannot be written; with --score that of the audits.
    """
    from rmaudit.report import results_document, results_reader, writers
    from rmaudit.report.summary import summarize
    from rmaudit.report.writers import terminal

    file = out / "results.json"
    with ending_if_unwritable(out):
        out.mkdir(parents=True, exist_ok=True)
        results_document.write_text(file, gzip.decompress(BUNDLED.read_bytes()).decode())
        results = results_reader.read(file)
        _, failed = writers.write(results, out)
    for warning in failed:
        say(warning, err=True)
    page, run = out / "index.html", results.run
    if as_json:
        facts = {"created": run.created, "rmaudit": run.rmaudit, "command": run.command}
        echo_json({"page": str(page), "verdict": str(results.verdict), **facts})
    else:
        for line in terminal.summary(summarize(results)):
            say(line.text)
        say(f"These scores were recorded on {run.created[:10]} by rmaudit {run.rmaudit}.")
        say("Content warning: the report ranks every token; words that may hurt are masked.")
        say(f"open the report: {page}")
    if _is_to_be_scored(score, as_json=as_json):
        raise typer.Exit(_run_bundled_audits())
    if not as_json:
        how = "in a clone of rmaudit (minutes, 93 MB)"
        say(f"to score the same model on this machine, {how}: {_AGAIN}")


def _is_to_be_scored(asked: bool | None, *, as_json: bool) -> bool:  # noqa: FBT001  (an option's value)
    """Return whether the model is to be scored here: as `asked`; if None, ask on a terminal."""
    if asked is not None or as_json or not at_a_terminal():
        return bool(asked)
    return typer.confirm("Score the same model on this machine now? (minutes, 93 MB)")


def _run_bundled_audits() -> int:
    command = [sys.executable, "-m", "pytest", str(bundled("audits"))]
    return subprocess.run(command, check=False).returncode  # noqa: S603  (our own audits)
