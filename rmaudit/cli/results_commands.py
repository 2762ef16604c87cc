"""Run `rmaudit replay`, `compare`, `history` and `bless`: what can be done with results.json."""

from __future__ import annotations

import math
import shlex
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.printing import (
    ERROR,
    FAILED,
    UNDECIDED,
    echo_json,
    ending_if_unwritable,
    fail,
    say,
    show,
)
from rmaudit.cli.shared_options import AsJson, Registered, ResultsOfRun, output_of_git
from rmaudit.config.model_registry import known_models
from rmaudit.errors import SpecError

if TYPE_CHECKING:
    from rmaudit.report.results_document import Results

_NAME = "results.json"
_REPORTS = Path("reports")


def replay(
    results: ResultsOfRun,
    policy: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="a models.yaml (default: verdicts as stored)"
        ),
    ] = None,
    on: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="the day on which waivers are judged (default: today, in UTC)",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="a folder for the run with its new verdicts (without a policy: where the file is)",
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Judge a run's findings again, under another policy, or write its page and files again.

    No model is needed. The verdicts that change are printed, those that fail the run, and last the
    verdict on the run. Without a policy all outputs are written, with the bytes that the run wrote.

    Exit code 0 if the run PASSES or is ACCEPTED, 1 if it FAILS, 2 if something is open or was not
    measured, 3 for errors.
    """
    from rmaudit.report import replay as again

    if policy is None and on is not None:
        fail("--on needs a --policy to judge under; give one")
    rules = known_models(policy).policy if policy else None
    after = before = _read_report(results)
    if rules:
        after = again.replay(before, rules, (on or datetime.now(UTC)).date())
    said = again.summarize(before, after, rules)
    if out is not None and rules:
        there = out / _NAME
        if there.exists() and there.samefile(results):
            fail(f"--out: {there} is the run that is replayed; name another folder")
    where = out if rules else out or results.parent
    besides = None if rules else results
    written = _write_reports(after, where, besides=besides) if where is not None else []
    show(asdict(said) | {"written": written}, again.lines(said), as_json=as_json)
    for line in (*said.foreign, *said.unmatched):
        say(line, err=True)
    codes = {again.FAILED: FAILED, again.UNDECIDED: UNDECIDED, again.BROKEN: ERROR}
    raise typer.Exit(codes.get(said.outcome, 0))


def compare(  # noqa: PLR0913  (its options)
    old: ResultsOfRun,
    new: ResultsOfRun,
    model: Annotated[
        str | None, typer.Option(help="only this one, by its name (default: all that both have)")
    ] = None,
    other: Annotated[
        str | None,
        typer.Option("--with", help="the model of the new file, where it has another name"),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="differences up to this, in the audit's unit, do not count (default: a tenth of "
            "the old distance to the bound)",
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Compare two releases of a model.

    Printed are the findings that got better or worse, and last the verdicts on both releases.

    The exit code says what changed, not whether the new release passes (`rmaudit replay` says
    that): 0 if no gating audit is clearly worse, 1 if one is, 2 if one may be, or could not be
    compared, 3 if a file cannot be read or is damaged.
    """
    from rmaudit.report.releases import run_comparison

    if margin is not None and not math.isfinite(margin):
        fail(f"--margin: {margin} is not a finite number; give 0.05, for example")
    before, after = _read_report(old), _read_report(new)
    said = run_comparison.compare(before, after, model=model, other=other, margin=margin)
    show(asdict(said), run_comparison.lines(said), as_json=as_json)
    codes = {run_comparison.WORSE: FAILED, run_comparison.UNDECIDED: UNDECIDED}
    raise typer.Exit(codes.get(said.outcome, 0))


def history(
    folder: Annotated[Path, typer.Argument(help="the folder of a model's reports")] = _REPORTS,
    family: Annotated[
        str, typer.Option(help="take all runs for releases of one family of this name")
    ] = "",
    *,
    as_json: AsJson = False,
) -> None:
    """Follow every gate over the runs of a folder, by family of models.

    Printed is the first regression of each family; with --json, every gate in every run. Exit code
    0; 3 if no run can be read; 4 if a run of several models cannot be a release of --family.
    """
    from rmaudit.report.releases import history as over

    try:
        runs, left = over.read_all(folder)
    except SpecError as error:
        fail(error, ERROR)
    families = over.group_families(runs, family)
    if as_json:
        found = [over.as_json(each) for each in families]
        echo_json({"families": found, "passed over": left})
        return
    for why in left:
        say(f"passed over: {why}", err=True)
    for each in families:
        many = len(each.releases)
        joined = "" if many == 1 else f"s, joined by {each.by}"
        say(f"{each.name}: {many} release{joined}")
        say(f"  {each.regression}")
    if len(families) > 1:
        say(over.APART)


def bless(  # noqa: PLR0913, PLR0917  (its options)
    report: Annotated[
        Path, typer.Argument(exists=True, help="the results.json of a run, or the report's folder")
    ],
    by: Annotated[
        str | None, typer.Option(help="who stands behind it (default: git's user.name)")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="which model, where the run audited several")
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(help="its family (default: `of:` of models.yaml, or else the model's name)"),
    ] = None,
    days: Annotated[
        int, typer.Option(min=1, max=9999, help="from which age on runs warn that it is old")
    ] = 90,
    despite: Annotated[
        str | None,
        typer.Option(metavar="REASON", help="why, where its run neither PASSES nor is ACCEPTED"),
    ] = None,
    alike: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            help="the report of another training by the same recipe, three times or more: what "
            "they differ by is chance, and blocks no release",
        ),
    ] = None,
    file: Registered = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Bless (approve) a release, so that later runs of its family are compared with it.

    This writes blessed/FAMILY.json beside models.yaml, to be committed: the value and interval of
    each gate, and what a paired comparison needs. A gate that is clearly worse than there fails a
    later run, also inside its bound.

    A run that neither PASSES nor is ACCEPTED needs a reason, `--despite`, which the file keeps.

    Exit code 0; 3 if the report cannot be read, or the file not written; 4 if it is not the report
    of a whole run, or needs a reason.
    """
    from rmaudit.report.releases import blessed_release, blessed_trainings

    results = _read_report(report)
    names = [each.name for each in results.models]
    if model is None and len(names) != 1:
        fail(f"{report}: this run audited {', '.join(names)}; say which with --model NAME")
    if model is not None and model not in names:
        fail(f"--model {model}: this run audited {', '.join(names)}")
    (chosen,) = (each for each in results.models if model in (None, each.name))
    who = by or output_of_git(Path(), "config", "user.name")
    if not who:
        fail("who blesses it? git knows no user.name here; say it with --by NAME")
    who = _who_blesses(results, who, despite, report)
    today, others = datetime.now(UTC).date(), [_read_report(each) for each in alike or ()]
    what: object = report
    try:
        made = blessed_release.bless(results, chosen, of or "", by=who, on=today, days=days)
        what = "--alike"
        made = blessed_trainings.with_trainings(made, others) if alike else made
    except SpecError as error:
        fail(f"{what}: {error}")
    path = blessed_release.blessed_path(file.parent if file else Path(), made.family)
    was = None
    try:
        was = blessed_release.read(path) if path.is_file() else None
    except SpecError as error:  # its own advice is to bless again
        say(f"warning: replaced, as it could not be read: {error}", err=True)
    with ending_if_unwritable(path):
        blessed_release.write(made, path)
    facts = {
        "written": str(path),
        "family": made.family,
        "gates": len(made.gates),
        "outcome": str(made.outcome),
        "trainings": made.trainings,
        "replaces": was.created if was else None,
    }
    said = f"{made.family}: {made.model} of {made.created}, {len(made.gates)} findings, {made.by}"
    lines = [f"{said}; {made.outcome}" if made.outcome != "PASSES" else said]
    if was:
        lines.append(f"in place of {was.model} of {was.created}, {was.by}")
    if made.family not in {chosen.name, chosen.of} and (chosen.of or not made.lineage):
        lines.append(
            f"runs of {chosen.name} use it once models.yaml says `of: {made.family}` of it"
        )
    lines.append(f"commit it: git add {shlex.quote(str(path))}")
    show(facts, lines, as_json=as_json)


def _who_blesses(results: Results, who: str, despite: str | None, report: Path) -> str:
    """Return who blesses a run, and why despite its verdict; end the command without a reason."""
    verdict = results.verdict
    if verdict.outcome.releases or results.run.gaps:  # a part of a run is refused in any case
        return who
    if not despite:
        fail(
            f"{report}: its verdict is {verdict}; if models.yaml accepts this by now, run the "
            "audits again; to bless it all the same, say why: --despite"
        )
    return f"{who} (although it {verdict.outcome}: {despite})"


def _read_report(report: Path) -> Results:
    """Return the results in a results.json or a report's folder. Raises as `results_reader`."""
    from rmaudit.report import results_reader

    return results_reader.read(report / _NAME if report.is_dir() else report)


def _write_reports(found: Results, folder: Path, *, besides: Path | None = None) -> list[str]:
    """Write all reports into `folder`, and results.json if `besides` lies elsewhere; return paths.

    `besides` is the results.json that was read, if any.
    """
    from rmaudit.report import results_document, writers

    names: list[str] = []
    with ending_if_unwritable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if besides is None or not besides.parent.samefile(folder):
            results_document.write(found, folder / _NAME)
            names.append(_NAME)
        written, failed = writers.write(found, folder)
    for line in failed:
        say(line, err=True)
    return [str(folder / name) for name in (*names, *written)]
