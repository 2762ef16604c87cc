"""What several commands share: options, errors of one line, one model by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from rmaudit.prompts import KNOWN, NAMES

Registered = Annotated[Path | None, typer.Option(help="the registry (default: models.yaml)")]
Named = Annotated[str, typer.Argument(help="a registry name, a folder or a hub id")]
Prompted = Annotated[str, typer.Option(help=f"{NAMES}; or any text")]


def fail(message: str) -> NoReturn:
    """Exit 2 with a line on stderr."""
    typer.echo(message, err=True)
    raise typer.Exit(2)


def text_of(prompt: str) -> str:
    """What a prompt's name stands for, or the text itself."""
    return KNOWN[prompt].text if prompt in KNOWN else prompt
