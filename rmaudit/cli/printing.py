"""Print what every command prints, and end it: safe lines, JSON, and exit codes.

Whatever a command prints goes through `say`, `show`, `fail` or `echo_json`: others wrote much of it
(names of folders, templates, configurations), and a terminal or a CI log obeys what it is sent.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from rmaudit.errors import RmauditError, SpecError
from rmaudit.interrupts import TERMINATED, Terminated, sigterm_raises
from rmaudit.report import safe_text

FAILED, UNDECIDED, ERROR, USAGE = 1, 2, 3, 4  # exit codes; docs/commands.md says what is which
INTERRUPTED = 130  # and after SIGTERM, TERMINATED
_UsageError: type[Any] = typer.BadParameter.__mro__[1]  # typer has no public name for it
_COMMAND = re.compile(r"#(?=#\w*\[)")  # of a CI system, wherever it stands in a line


class Commands(TyperGroup):
    """Typer group that ends a command on any failure with its exit code, which is no verdict."""

    def make_context(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401  (typer's own)
        """Parse what precedes the command's name; end on failures."""
        with _exit_codes_of_failures():
            return super().make_context(*args, **settings)

    def invoke(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401  (typer's own)
        """Parse a command's options and run it; end on failures."""
        with _exit_codes_of_failures(), warnings.catch_warnings(), sigterm_raises():
            warnings.showwarning = _warn
            return super().invoke(*args, **settings)


@contextmanager
def _exit_codes_of_failures() -> Iterator[None]:
    """End with an exit code where the block fails: 4 for what is asked wrongly, else 3.

    An error of rmaudit is a line, a crash a traceback. Python ends a crash with 1, typer a closed
    pipe and an EOFError. The panic of a tokenizer written in Rust is no Exception.
    """
    try:
        yield
    except (typer.Exit, SystemExit):
        raise
    except KeyboardInterrupt as error:
        say(f"interrupted; to go on, run {shlex.join(['rmaudit', *sys.argv[1:]])}", err=True)
        code = TERMINATED if isinstance(error, Terminated) else INTERRUPTED
        raise typer.Exit(code) from None
    except _UsageError as error:
        error.exit_code, error.message = USAGE, _one_line(error.message)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # no complaint at exit
        raise typer.Exit(ERROR) from None
    except RmauditError as error:
        fail(error)
    except BaseException as error:  # noqa: BLE001  (a panic of Rust code too)
        if isinstance(error, OSError) and error.filename:  # the path that was given cannot be used
            fail(f"{error.filename}: {error.strerror}", ERROR)
        typer.echo(safe_text.log(traceback.format_exc()), err=True, nl=False)
        raise typer.Exit(ERROR) from None


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    say(f"warning: {message}", err=True)


def fail(reason: str | RmauditError, code: int | None = None) -> NoReturn:
    """Print the reason on stderr and exit: 4 if the command is wrong, 3 if it could not be done.

    Without a `code`, a text and a `SpecError` say that the command is wrong.
    """
    say(reason, err=True)
    asked_wrongly = isinstance(reason, str | SpecError)
    raise typer.Exit(code or (USAGE if asked_wrongly else ERROR))


@contextmanager
def ending_if_unwritable(what: object) -> Iterator[None]:
    """End the command with exit code 3 if the `with` block, which writes `what`, raises OSError."""
    try:
        yield
    except OSError as error:
        fail(f"{what}: cannot be written: {error.strerror}", ERROR)


def show(value: object, lines: Iterable[object], *, as_json: bool) -> None:
    """Print what a command found: `value` as JSON if that was asked for, else the lines."""
    if as_json:
        echo_json(value)
        return
    for line in lines:
        say(line)


def say(line: object, *, err: bool = False) -> None:
    """Print one line; escape characters that do not show or that steer a terminal or CI."""
    typer.echo(_one_line(str(line)), err=err)


def _one_line(text: str) -> str:
    return safe_text.log(text.replace("\r", "\\r").replace("\n", "\\n"))


def echo_json(value: object) -> None:
    """Print `value` as ASCII JSON, with null for NaN, and nothing that a terminal or CI obeys."""
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    typer.echo(_COMMAND.sub(r"\\u0023", json.dumps(finite, indent=2, allow_nan=False)))


def at_a_terminal() -> bool:
    """Return whether input and output are a terminal, so that a command can ask a question."""
    return sys.stdin.isatty() and sys.stdout.isatty()
