"""What several commands share: options, exit codes, and the one way to the terminal.

Whatever a command prints goes through `say`, `fail` or `echo_json`: others wrote much of it
(names of folders, templates, configurations), and a terminal or a CI log obeys what it is sent.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from rmaudit.config.registry import Dtype, known_models
from rmaudit.errors import RmauditError, SpecError
from rmaudit.prompts import NAMES, Prompt, prompt_meant
from rmaudit.report import safe_text

FAILED, UNDECIDED, ERROR, USAGE = 1, 2, 3, 4  # exit codes; docs/commands.md says what is which

Registered = Annotated[Path | None, typer.Option(help="the registry (default: models.yaml)")]
Named = Annotated[str, typer.Argument(help="a name in the registry, a folder or a hub id")]
Prompted = Annotated[str, typer.Option(help=f"{NAMES}; or any text")]
AsJson = Annotated[bool, typer.Option("--json", help="the same as JSON")]


def place(given: str | None) -> str | Path | None:
    """A cache as it is given, for `store_at`: a folder, or a URL as it stands; None if none is."""
    return Path(given).expanduser() if given and "://" not in given else given


def _folder(given: str) -> Path:
    """A folder, and no URL, of which a path would make a folder called `s3:`."""
    found = place(given)
    if not isinstance(found, Path):
        fail(f"--cache {given}: a URL, and this command needs a folder; give one, or leave it out")
    return found


Cached = Annotated[
    Path | None,
    typer.Option(metavar="DIR", parser=_folder, help="where models, sweeps and searches are kept"),
]
CachedAnywhere = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="where they are kept: a folder, or a URL for the scores"),
]


@dataclass(frozen=True, slots=True)
class Loading:
    """Options of how a model is found and loaded, for `option_groups.grouped`."""

    device: Annotated[str, typer.Option(help="auto, spread, cpu, cuda:0 ...")] = "auto"
    dtype: Annotated[
        Dtype | None, typer.Option(help="in place of the registry's", case_sensitive=False)
    ] = None
    cache: CachedAnywhere = None
    file: Registered = None

    @property
    def scores(self) -> str | Path | None:
        """Where scores are kept, for `store_at`."""
        return place(self.cache)

    @property
    def folder(self) -> Path | None:
        """Where all else is kept: the default folder where scores lie at a URL."""
        found = self.scores
        return found if isinstance(found, Path) else None


_UsageError: type[Any] = typer.BadParameter.__mro__[1]  # typer has no public name for it
_COMMAND = re.compile(r"#(?=#\w*\[)")  # of a CI system, wherever it stands in a line


class Commands(TyperGroup):
    """Commands whose wrong usage ends with 4 and whose crash ends with 3, never with a verdict."""

    def make_context(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401  (typer's own)
        """Parse the options before a command."""
        with _ending():
            return super().make_context(*args, **settings)

    def invoke(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401  (typer's own)
        """Parse a command's options and run it."""
        with _ending(), warnings.catch_warnings():
            warnings.showwarning = _warn
            return super().invoke(*args, **settings)


@contextmanager
def _ending() -> Iterator[None]:
    """End a command that crashes or is used wrongly with an exit code that is no verdict.

    Python ends a crash with 1, typer a closed pipe and an EOFError. The panic of a tokenizer
    written in Rust is no Exception.
    """
    try:
        yield
    except (typer.Exit, SystemExit, KeyboardInterrupt):
        raise
    except _UsageError as error:
        error.exit_code, error.message = USAGE, _one_line(error.message)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # no complaint at exit
        raise typer.Exit(ERROR) from None
    except BaseException as error:  # noqa: BLE001  (a panic of Rust code too)
        if isinstance(error, OSError) and error.filename:  # the path that was given cannot be used
            fail(f"{error.filename}: {error.strerror}", ERROR)
        typer.echo(safe_text.log(traceback.format_exc()), err=True, nl=False)
        raise typer.Exit(ERROR) from None


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    say(f"warning: {message}", err=True)


def fail(reason: str | RmauditError, code: int | None = None) -> NoReturn:
    """End with a line on stderr: exit 4 if the command is wrong, 3 if it could not be done.

    Without a `code`, a text and a `SpecError` say that the command is wrong.
    """
    say(reason, err=True)
    asked_wrongly = isinstance(reason, str | SpecError)
    raise typer.Exit(code or (USAGE if asked_wrongly else ERROR))


def say(line: object, *, err: bool = False) -> None:
    """Print one line. Characters that do not show, or steer a terminal or CI, are spelled out."""
    typer.echo(_one_line(str(line)), err=err)


def _one_line(text: str) -> str:
    return safe_text.log(text.replace("\r", "\\r").replace("\n", "\\n"))


def echo_json(value: object) -> None:
    """Print as JSON that any terminal, CI and program can take: ASCII, null for a NaN."""
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    typer.echo(_COMMAND.sub(r"\\u0023", json.dumps(finite, indent=2, allow_nan=False)))


def meant(prompt: str, file: Path | None) -> Prompt:
    """Return the prompt of this name, in a models.yaml or rmaudit's, or of this text.

    A near-miss ends the command.
    """
    try:
        return prompt_meant(prompt, known_models(file).words.prompts)
    except SpecError as error:
        fail(error)
