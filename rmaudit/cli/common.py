"""What several commands share: options, exit codes, errors of one line, output for programs."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from rmaudit.errors import RmauditError, SpecError
from rmaudit.prompts import ALL, NAMES

FAILED, UNDECIDED, ERROR, USAGE = 1, 2, 3, 4  # exit codes; docs/commands.md says what is which

Registered = Annotated[Path | None, typer.Option(help="the registry (default: models.yaml)")]
Named = Annotated[str, typer.Argument(help="a registry name, a folder or a hub id")]
Prompted = Annotated[str, typer.Option(help=f"{NAMES}; or any text")]
AsJson = Annotated[bool, typer.Option("--json", help="the same as JSON")]

_UsageError: type[Any] = typer.BadParameter.__mro__[1]  # typer has no public name for it


class Commands(TyperGroup):
    """Commands whose wrong usage ends with 4 and whose crash ends with 3, never with a verdict."""

    def main(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401  (typer's own signature)
        """Run a command line."""
        try:
            return super().main(*args, **settings)
        except Exception:  # noqa: BLE001  (Python would end with 1, which says that an audit failed)
            traceback.print_exc()
            sys.exit(ERROR)

    def make_context(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401
        """Parse the options before a command."""
        with _usage():
            return super().make_context(*args, **settings)

    def invoke(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401
        """Parse a command's options and run it."""
        with _usage():
            return super().invoke(*args, **settings)


@contextmanager
def _usage() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.exit_code = USAGE
        raise
    except BrokenPipeError:  # typer would end with 1, which says that an audit failed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # no complaint at exit
        raise typer.Exit(ERROR) from None


def fail(reason: str | RmauditError, code: int | None = None) -> NoReturn:
    """End with a line on stderr: exit 4 if the command is wrong, 3 if it could not be done.

    Without a `code`, a text and a `SpecError` say that the command is wrong.
    """
    typer.echo(str(reason), err=True)
    asked_wrongly = isinstance(reason, str | SpecError)
    raise typer.Exit(code or (USAGE if asked_wrongly else ERROR))


def echo_json(value: object) -> None:
    """Print as JSON that any terminal and any program can take: ASCII, null for a NaN."""
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    typer.echo(json.dumps(finite, indent=2, allow_nan=False))


def text_of(prompt: str) -> str:
    """What a prompt's name stands for, or the text itself."""
    return ALL[prompt].text if prompt in ALL else prompt
