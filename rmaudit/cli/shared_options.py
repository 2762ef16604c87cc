"""Define the options and arguments that several commands share, and find what these name."""

from __future__ import annotations

import functools
import inspect
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from rmaudit.cli.printing import fail
from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import Dtype, ModelSpec, Registry, known_models
from rmaudit.errors import SpecError
from rmaudit.prompts import NAMES, PROMPTS, Prompt, prompt_meant
from rmaudit.runs.option_parsing import Option
from rmaudit.runs.run_options import OPTIONS, RunOptions

if TYPE_CHECKING:
    from rmaudit.models.model_interfaces import RewardModel
    from rmaudit.models.text_scorer import TextScorer

Registered = Annotated[Path | None, typer.Option(help="the registry (default: models.yaml)")]
Named = Annotated[str, typer.Argument(help="a name in the registry, a folder or a hub id")]
Prompted = Annotated[str, typer.Option(help=f"{NAMES}; or any text")]
Prompts = Annotated[
    list[str] | None,
    typer.Option(
        help=f"{NAMES}; or any text; may be repeated (default: {', '.join(PROMPTS)})",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="the same as JSON")]


def _of_run(path: Path) -> Path:
    """Return the results.json of a folder that a run wrote; a file is returned as it is."""
    return path / "results.json" if path.is_dir() else path


ResultsOfRun = Annotated[
    Path,
    typer.Argument(exists=True, callback=_of_run, help="the results.json of a run, or its folder"),
]


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

    def prompts(self, given: list[str] | None) -> list[Prompt]:
        """Return the prompts of these names or texts, or the paper's three. Raises `SpecError`."""
        return [self.prompt(each) for each in given or PROMPTS]

    def prompt(self, given: str) -> Prompt:
        """Return the prompt of this name, in models.yaml or bundled; else one of this text.

        Raises:
            SpecError: it is nearly the name of a prompt.
        """
        return prompt_meant(given, known_models(self.file).words.prompts)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Turn each dataclass parameter of a command into command-line options, one for each field.

    What an `Option` describes, a field or a parameter, is read and refused as in a run; of
    `RunOptions` a command has those that decide which scores are made. The others are typer's.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, dict[str, Parameter]] = {}
    for one in inspect.signature(command).parameters.values():
        kind = hints[one.name]
        alone = {one.name: one.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind)}
        groups[one.name] = dict(_fields(kind)) if is_dataclass(kind) else alone
    every = {name: one for group in groups.values() for name, one in group.items()}
    described = {
        name: found
        for name, one in every.items()
        if isinstance(found := getattr(one.annotation, "__metadata__", ("",))[0], Option)
    }

    @functools.wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401  (whatever the options are)
        for name, option in described.items():
            value = given[name]
            given[name] = (
                every[name].default if value is None else option.value(value, option.command)
            )
        for group in (name for name in groups if is_dataclass(hints[name])):
            given[group] = hints[group](**{name: given.pop(name) for name in groups[group]})
        command(**given)

    shown = [_of_typer(one, described.get(name)) for name, one in every.items()]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # of a function
    run.__annotations__ = {one.name: one.annotation for one in shown}
    return run


def _fields(kind: Any) -> Iterator[tuple[str, Parameter]]:  # noqa: ANN401  (a dataclass)
    """Yield a parameter for each field; of `RunOptions`, for those that decide what is scored."""
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        hint = Annotated[Any, OPTIONS[one.name]] if kind is RunOptions else hints[one.name]
        if kind is not RunOptions or OPTIONS[one.name].decides == "scores":
            parameter = Parameter(
                one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hint
            )
            yield one.name, parameter


def _of_typer(one: Parameter, option: Option | None) -> Parameter:
    """Return the parameter as typer takes it: a text, where an option says how it is read."""
    if option is None:
        return one
    shown = typer.Option(option.command, metavar=option.metavar or None, help=option.explained)
    if not option.metavar:
        return one.replace(default=False, annotation=Annotated[bool, shown])
    hint = list[str] | None if option.repeated else str | None
    return one.replace(default=None, annotation=Annotated[hint, shown])


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
