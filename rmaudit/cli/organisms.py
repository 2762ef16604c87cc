"""Models with known flaws, and what audits find of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rmaudit.cli.common import fail
from rmaudit.errors import RmauditError
from rmaudit.paths import default_cache
from rmaudit.registry import FILE


def organism(
    name: Annotated[str, typer.Argument(help="identity-penalty, balanced or shuffled")],
    cache: Annotated[Path | None, typer.Option(help="where built models are kept")] = None,
) -> None:
    """Build a checkpoint with a known flaw; print its registry, for pytest audits --rm-models."""
    from rmaudit.organisms import checkpoints

    try:
        typer.echo(checkpoints.build(name, cache or default_cache()) / FILE)
    except RmauditError as error:
        fail(str(error))
