"""What is done with a run's results.json: rendered again, compared with another, decided anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rmaudit.cli.common import ERROR, FAILED, UNDECIDED, AsJson, echo_json, fail
from rmaudit.errors import RmauditError

_File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="a run's results.json")]


def compare(
    old: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="results.json before")],
    new: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="results.json after")],
    model: Annotated[
        str | None, typer.Option(help="only this one, by its name (default: all that both have)")
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0, help="differences up to this, in the audit's unit, do not count")
    ] = 0.0,
    *,
    as_json: AsJson = False,
) -> None:
    """Compare two releases: which findings got better or worse, and which tokens moved in rank.

    Exit code 0 if no gating audit got worse, 1 if one did, 2 if one may have, or could not be
    compared, 3 if a file cannot be read.
    """
    from rmaudit.report import compared, comparison

    before, after = _read(old), _read(new)
    try:
        said = comparison.compare(before, after, model=model, margin=margin)
    except RmauditError as error:
        fail(error)
    if as_json:
        echo_json(said)
    else:
        for line in compared.lines(said):
            typer.echo(line)
    codes = {comparison.WORSE: FAILED, comparison.UNDECIDED: UNDECIDED}
    raise typer.Exit(codes.get(said["outcome"], 0))


def _read(path: Path) -> dict[str, Any]:
    from rmaudit.report import packed, results

    try:
        found = results.read(path)
        packed.check(found)
    except RmauditError as error:
        fail(error, ERROR)
    return found
