"""Reference data and published scores, fetched and taken in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rmaudit.cli.common import Registered, fail
from rmaudit.errors import RmauditError
from rmaudit.paths import default_cache
from rmaudit.references.sources import SOURCES, locate
from rmaudit.registry import ModelSpec, default_path, load_registry, resolve


def data(
    names: Annotated[list[str] | None, typer.Argument(help="which; all if none is named")] = None,
) -> None:
    """Get the reference data (lexicons, human ratings), check it and say where it is."""
    failed = False
    if unknown := [name for name in names or [] if name not in SOURCES]:
        fail(f"unknown reference {unknown[0]!r}; known: {', '.join(SOURCES)}")
    for name in names or list(SOURCES):
        try:
            typer.echo(f"{name}: {locate(name)} ({SOURCES[name].licence})")
        except RmauditError as error:
            failed = True
            typer.echo(str(error), err=True)
    if failed:
        raise typer.Exit(1)


def import_(
    folder: Annotated[Path, typer.Argument(help="the authors' data/, or a folder in or above it")],
    model: Annotated[
        list[str] | None, typer.Option(help="only this one; may be repeated (default: all)")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="where sweeps are kept")] = None,
    file: Registered = None,
) -> None:
    """Take in published scores, for audits without weights (pytest audits --rm-recorded)."""
    try:
        registry = load_registry(file or default_path())
        specs = {spec.name: spec for name in model or ["*"] for spec in resolve(registry, name)}
    except RmauditError as error:
        fail(str(error))
    if not folder.is_dir():
        fail(f"{folder}: there is no such folder; name one with the authors' CSV files")
    if not _import(folder, list(specs.values()), cache or default_cache(), asked=bool(model)):
        raise typer.Exit(1)


def _import(folder: Path, specs: list[ModelSpec], cache: Path, *, asked: bool) -> bool:
    """Whether all tables could be imported, some at all, and some of each model asked for."""
    from rmaudit.models.recorded import Recorded
    from rmaudit.sweeps import published
    from rmaudit.sweeps.store import Store

    models, whole = [Recorded(spec) for spec in specs], True
    found: dict[str, set[str]] = {published.TOKENS: set(), published.ITEMS: set()}
    paths = (path for depth in ("", "*/", "*/*/") for path in folder.glob(f"{depth}*.csv"))
    for path in sorted(paths):
        try:
            imported = published.import_table(path, models, Store(cache))
        except RmauditError as error:
            whole = False
            typer.echo(str(error), err=True)
            continue
        if imported is None:
            continue
        if not imported.models:
            typer.echo(f"{path}: passed over, it is of none of these models")
            continue
        typer.echo(f"{path}: {imported.said}; {', '.join(imported.models)}")
        found[imported.answers].update(imported.models)
    expected = [
        m for m in models if asked or m.spec.rewardbench_rank or m.name in found[published.ITEMS]
    ]
    if unswept := [m for m in expected if m.files and m.name not in found[published.TOKENS]]:
        names = ", ".join(model.name for model in unswept)
        typer.echo(f"no table of tokens, such as {unswept[0].files[0]}, is there of: {names}")
    lacking = [m.name for m in models if not any(m.name in names for names in found.values())]
    if lacking and (asked or len(lacking) == len(models)):
        typer.echo(f"{folder} has no published scores of {', '.join(lacking)}", err=True)
        return False
    return whole
