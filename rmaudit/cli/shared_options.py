"""What several commands share: their options, exit codes, and functions that print safely.

Whatever a command prints goes through `say`, `fail` or `echo_json`: others wrote much of it
(names of folders, templates, configurations), and a terminal or a CI log obeys what it is sent.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_type_hints

import typer
from typer.core import TyperGroup

from rmaudit.config.model_registry import Dtype, ModelSpec, Registry, known_models, resolve
from rmaudit.errors import RmauditError, SpecError
from rmaudit.interrupts import TERMINATED, Terminated, sigterm_raises
from rmaudit.prompts import NAMES, Prompt, prompt_meant
from rmaudit.report import safe_text
from rmaudit.runs.option_parsing import Option
from rmaudit.runs.run_options import OPTIONS, RunOptions

if TYPE_CHECKING:
    from rmaudit.models.model_interfaces import RewardModel
    from rmaudit.models.text_scorer import TextScorer

FAILED, UNDECIDED, ERROR, USAGE = 1, 2, 3, 4  # exit codes; docs/commands.md says what is which
INTERRUPTED = 130  # and after SIGTERM, TERMINATED

Registered = Annotated[Path | None, typer.Option(help="the registry (default: models.yaml)")]
Named = Annotated[str, typer.Argument(help="a name in the registry, a folder or a hub id")]
Prompted = Annotated[str, typer.Option(help=f"{NAMES}; or any text")]
AsJson = Annotated[bool, typer.Option("--json", help="the same as JSON")]


def path_or_url(given: str | None) -> str | Path | None:
    """Return the value of --cache as a path; a URL, or None, as it is."""
    return Path(given).expanduser() if given and "://" not in given else given


def _cache_dir(given: str) -> Path:
    """Return the path of the folder given as --cache; end the command if it is a URL.

    Otherwise the URL would be made a folder called `s3:`.
    """
    found = path_or_url(given)
    if not isinstance(found, Path):
        fail("--cache: a URL, and this command needs a folder; give one, or leave it out")
    return found


Cached = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", parser=_cache_dir, help="where models, sweeps and searches are kept"
    ),
]


@dataclass(frozen=True, slots=True)
class Loading:
    """Options of commands that load a model: device, dtype, score cache, and models.yaml."""

    device: Annotated[str, OPTIONS["device"]] = "auto"
    dtype: Annotated[Dtype | None, OPTIONS["dtype"]] = None
    cache: Annotated[str | None, OPTIONS["cache"]] = None
    file: Annotated[Path | None, OPTIONS["registry"]] = None

    @property
    def scores(self) -> str | Path | None:
        """Return where scores are stored, as --cache says: a path, a URL, or None (the default)."""
        return path_or_url(self.cache)

    @property
    def folder(self) -> Path | None:
        """Return the --cache folder, for files other than scores; None (default) if it is a URL."""
        found = self.scores
        return found if isinstance(found, Path) else None

    def load(self, name: str) -> RewardModel | TextScorer:
        """Open a model as these options say. Raises as `rmaudit.load`."""
        from rmaudit.models.model_factory import load

        return load(
            name, registry=self.file, cache=self.folder, device=self.device, dtype=self.dtype
        )


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Turn each dataclass parameter of a command into command-line options, one for each field.

    A field that `rmaudit.runs.run_options` describes is read and refused as there; of `RunOptions`
    a command has those that decide which scores are made. Others are typer's, by their type.
    """
    parameters: list[Parameter] = []
    groups: dict[str, dict[str, Option | None]] = {}
    types = get_type_hints(command, include_extras=True)
    for parameter in inspect.signature(command).parameters.values():
        kind = types[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = described = _options_of_fields(kind)
            parameters += [_parameter(kind, name, option) for name, option in described.items()]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))

    @functools.wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401  (whatever the options are)
        for name, described in groups.items():
            values = {one: given.pop(one) for one in described}
            with ending_on_failure():
                values = {
                    one: option.value(values[one], option.command) if option else values[one]
                    for one, option in described.items()
                    if not (option and values[one] is None)
                }
            given[name] = types[name](**values)
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _options_of_fields(kind: Any) -> dict[str, Option | None]:  # noqa: ANN401  (a dataclass)
    """Map each field of a dataclass to rmaudit's `Option`, or to None if typer alone reads it.

    Of `RunOptions`, only the fields that decide which scores are made.
    """
    if kind is RunOptions:
        return {name: option for name, option in OPTIONS.items() if option.decides == "scores"}
    hints = get_type_hints(kind, include_extras=True)
    found = {one.name: hints[one.name].__metadata__[0] for one in fields(kind)}
    return {name: each if isinstance(each, Option) else None for name, each in found.items()}


def _parameter(kind: Any, name: str, option: Option | None) -> Parameter:  # noqa: ANN401  (a dataclass)
    """Return the typer parameter for a field of a dataclass: by `option`, or else by its hint."""
    if option is None:
        hint = get_type_hints(kind, include_extras=True)[name]
        default = next(one.default for one in fields(kind) if one.name == name)
        return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
    shown = typer.Option(option.command, metavar=option.metavar or None, help=option.explained)
    hint = list[str] | None if option.repeated else str | None
    annotation = Annotated[hint, shown] if option.metavar else Annotated[bool, shown]
    default = None if option.metavar else False
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_UsageError: type[Any] = typer.BadParameter.__mro__[1]  # typer has no public name for it
_COMMAND = re.compile(r"#(?=#\w*\[)")  # of a CI system, wherever it stands in a line


class Commands(TyperGroup):
    """Typer group that exits with 4 for wrong usage and 3 for a crash: neither is a verdict."""

    def make_context(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401  (typer's own)
        """Parse what precedes the command's name; exit with 4 for wrong usage, 3 for any crash."""
        with _exit_codes_of_failures():
            return super().make_context(*args, **settings)

    def invoke(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401  (typer's own)
        """Parse a command's options and run it; exit with 4 for wrong usage, 3 for any crash."""
        with _exit_codes_of_failures(), warnings.catch_warnings(), sigterm_raises():
            warnings.showwarning = _warn
            return super().invoke(*args, **settings)


@contextmanager
def _exit_codes_of_failures() -> Iterator[None]:
    """Turn a crash in the block into exit code 3 and wrong usage into 4; neither is a verdict.

    Python ends a crash with 1, typer a closed pipe and an EOFError. The panic of a tokenizer
    written in Rust is no Exception.
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
def ending_on_failure(code: int | None = None) -> Iterator[None]:
    """Print the reason and end the command, as `fail` does, if the block raises RmauditError."""
    try:
        yield
    except RmauditError as error:
        fail(error, code)


def models_meant(registry: Registry, name: str) -> list[ModelSpec]:
    """Return the models that `name` means; an error says that no conftest.py was read.

    Raises as `resolve`.
    """
    try:
        return resolve(registry, name)
    except SpecError as error:
        if not Path("conftest.py").is_file():
            raise
        known = "pytest, and `rmaudit plan` and `sweep` of audits, know the scorers of conftest.py"
        raise SpecError(f"{error}; this command reads no conftest.py: {known}") from None


@contextmanager
def ending_if_unwritable(what: object) -> Iterator[None]:
    """End the command with exit code 3 if the `with` block, which writes `what`, raises OSError."""
    try:
        yield
    except OSError as error:
        fail(f"{what}: cannot be written: {error.strerror}", ERROR)


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


def prompt_from_option(prompt: str, file: Path | None) -> Prompt:
    """Return the prompt of this name, in the models.yaml `file` or bundled; else one of this text.

    A text that is nearly the name of a prompt ends the command with an error.
    """
    with ending_on_failure():
        return prompt_meant(prompt, known_models(file).words.prompts)


def output_of_git(folder: Path, *command: str) -> str:
    """Return what a git command prints in a folder; "" on errors, or where there is no git."""
    try:
        done = subprocess.run(  # noqa: S603  (git, with words of ours)
            ["git", "-C", str(folder), *command],  # noqa: S607  (the user's git)
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def git_user() -> str:
    """Return git's user.name; end the command with an error if it is not set."""
    name = output_of_git(Path(), "config", "user.name")
    return name or fail("who blesses it? git knows no user.name here; say it with --by NAME")
