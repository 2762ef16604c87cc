"""The command line beside pytest: what is here, and how to get what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rmaudit.errors import RmauditError
from rmaudit.references.sources import SOURCES, locate
from rmaudit.registry import default_path, load_registry

app = typer.Typer(
    help="Audits of reward models. The audits themselves run under pytest: pytest audits",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def data(
    names: Annotated[list[str] | None, typer.Argument(help="which; all if none is named")] = None,
) -> None:
    """Get the reference data (lexicons, human ratings), check it and say where it is."""
    failed = False
    if unknown := [name for name in names or [] if name not in SOURCES]:
        _fail(f"unknown reference {unknown[0]!r}; known: {', '.join(SOURCES)}")
    for name in names or list(SOURCES):
        try:
            typer.echo(f"{name}: {locate(name)} ({SOURCES[name].licence})")
        except RmauditError as error:
            failed = True
            typer.echo(str(error), err=True)
    if failed:
        raise typer.Exit(1)


@app.command()
def models(
    file: Annotated[Path | None, typer.Option(help="the registry (default: models.yaml)")] = None,
) -> None:
    """List the models that `pytest audits --model NAME` knows by name."""
    try:
        registry = load_registry(file or default_path())
    except RmauditError as error:
        _fail(str(error))
    width = max(map(len, registry.models))
    for spec in registry.models.values():
        mark = "*" if spec.default else " "
        typer.echo(f"{mark} {spec.name.ljust(width)}  {spec.source}")


def _fail(message: str) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    app()
