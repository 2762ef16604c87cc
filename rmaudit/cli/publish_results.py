"""rmaudit publish: push a run's results, or the benchmark itself, to the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.shared_options import ERROR, AsJson, echo_json, ending_on_failure, fail, say
from rmaudit.errors import RmauditError

if TYPE_CHECKING:
    from rmaudit.report.hub.pushing import Push


def publish(  # noqa: PLR0913, PLR0917  (its options)
    results: Annotated[
        Path | None,
        typer.Argument(
            exists=True,
            dir_okay=False,
            help="the results.json of a run (default: none, the benchmark itself is published)",
        ),
    ] = None,
    benchmark: Annotated[
        str, typer.Option(help="the dataset of the benchmark on the Hub, owner/name")
    ] = "",
    to: Annotated[str, typer.Option(help="the model on the Hub, owner/name")] = "",
    model: Annotated[
        str | None, typer.Option(help="its name in the results, where they have several")
    ] = None,
    source: Annotated[
        str, typer.Option(help="where the report can be read: an https address")
    ] = "",
    by: Annotated[
        str | None, typer.Option(help="who ran the audits (default: the model's owner)")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="write the files below this folder, to look at"),
    ] = None,
    *,
    every_eval_ever: Annotated[
        bool, typer.Option("--every-eval-ever", help="also a record for this store")
    ] = False,
    pull_request: Annotated[
        bool, typer.Option("--pull-request", help="propose it, in a repository of others")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="push; without it, only show")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what would be pushed to the Hub, and push it with --yes.

    With a results.json that is `.eval_results/rmaudit.yaml` of one model, which the Hub shows on
    the model's page. Without one it is the benchmark that such results name: card, eval.yaml,
    tasks, prompts and the reference band.

    Exit code 0, or 3 if there is nothing to publish, a file cannot be read or written, or the Hub
    refuses.
    """
    from rmaudit.report import results_reader
    from rmaudit.report.hub import pushing

    foreign: list[str] = []
    _refuse_contradictions(results, benchmark, to, source)
    with ending_on_failure():
        if results is None:
            pushes = [pushing.of_benchmark(benchmark, pull_request=pull_request)]
        else:
            pushes, foreign = pushing.of_run(
                results_reader.read(results),
                to=to,
                benchmark=benchmark,
                model=model,
                source=source,
                by=by,
                store=every_eval_ever,
                pull_request=pull_request,
            )
    for name in foreign:
        say(f"{name} is left out: it is no task of the benchmark", err=True)
    written = _write(pushes, out) if out else []
    addresses = _push_all(pushes) if yes else []
    if as_json:
        planned = [
            {"kind": each.kind, "repository": each.repository, "files": dict(each.files)}
            for each in pushes
        ]
        echo_json({"pushes": planned, "written": written, "addresses": addresses})
        return
    if yes:
        for each, address in zip(pushes, addresses, strict=True):
            say(f"pushed {each}: {address}")
    else:
        _show(pushes)


def _refuse_contradictions(results: Path | None, benchmark: str, to: str, source: str) -> None:
    """End the command with an error if its options contradict each other or one is missing."""
    if not benchmark:
        fail("--benchmark is missing: give the dataset of the benchmark, owner/name")
    if results is None and to:
        fail("--to is of a run: give its results.json")
    if results is not None and not to:
        fail("--to is missing: give the model's hub id, owner/name")
    if source and not source.startswith("https://"):
        fail(f"--source: {source!r} is no address, allowed: https://...")


def _show(pushes: list[Push]) -> None:
    for each in pushes:
        say(f"would be pushed {each}:")
        for path, text in each.files.items():
            say(f"  {path}")
            for line in text.splitlines():
                say(f"    {line}")
    say("nothing was pushed; --yes pushes it, with the token of `hf auth login`")


def _write(pushes: list[Push], out: Path) -> list[str]:
    from rmaudit.report import results_document

    written = []
    for each in pushes:
        for path, text in each.files.items():
            place = out / each.repository / path
            place.parent.mkdir(parents=True, exist_ok=True)
            results_document.write_text(place, text)
            written.append(str(place))
    return written


def _push_all(pushes: list[Push]) -> list[str]:
    """Push all to the Hub and return their addresses; on failure, print what was pushed and end."""
    from rmaudit.report.hub import pushing

    addresses: list[str] = []
    for each in pushes:
        try:
            addresses.append(pushing.push(each))
        except RmauditError as error:
            for before, address in zip(pushes, addresses, strict=False):
                say(f"pushed {before}: {address}", err=True)
            fail(error, ERROR)
    return addresses
