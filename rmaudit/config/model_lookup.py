"""Say what `--model` means: a name of the registry, a folder, a glob over names, a hub id."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from rmaudit.config.model_registry import FILE, Registry, is_bundled, load_registry
from rmaudit.config.model_spec import OBJECTIVE, ModelSpec, is_hub_id
from rmaudit.config.scorer_functions import SOURCE, scorers
from rmaudit.config.strict_yaml import short
from rmaudit.errors import SpecError, nearest

MENDED = "rmaudit_mend.json"  # in a folder that `rmaudit mend` wrote, beside a models.yaml
_OURS = "rmaudit's own models.yaml"
_LISTED = 8  # names of a file that an error lists; of more it has the nearest


def resolve(registry: Registry, pattern: str) -> list[ModelSpec]:
    """Return the models that `--model PATTERN` means: a name, a folder, a glob or a hub id.

    What comes first in this list is taken where a pattern could mean several. A glob means models
    of the file itself where it matches any, else of the bundled ones. After a # comes an objective,
    an output of the model's head.

    Raises:
        SpecError: it means none, or a hub id is the source of several entries.
    """
    _refuse_url(pattern)
    functions = {name: entry.spec for name, entry in scorers().items()}
    if pattern in functions and pattern in registry.models:
        message = f"two models are called {pattern!r}: an entry of {registry.path}, and a scorer"
        raise SpecError(f"{message}; give the scorer another name, or say {SOURCE}{pattern}")
    if (name := pattern.removeprefix(SOURCE)) in functions:
        return [functions[name]]
    if pattern in registry.models:
        return [registry.models[pattern]]
    if pattern and (folder := _existing_path(pattern)):
        folder = _checkpoint(folder, pattern)
        return [_spec_of_folder(folder)]
    if "#" in pattern[1:]:
        model, _, objective = pattern.rpartition("#")
        return [_with_objective(spec, objective) for spec in resolve(registry, model)]
    _refuse_missing_folder(pattern)
    named = {**registry.models, **functions}
    own = [*{**registry.own, **functions}]
    shown = own if len(own) <= _LISTED else get_close_matches(pattern, own, n=3, cutoff=0)
    known, more = f"known: {', '.join(shown)}", len(named) - len(shown)
    known += f" and {more} more (`rmaudit models` lists them)" if more else ""
    file = _OURS if is_bundled(registry.path) else registry.path
    if any(character in pattern for character in "*?["):
        found = [name for name in named if fnmatchcase(name, pattern)]
        if not found:
            raise SpecError(
                f"{file}: no model matches {short(pattern)}; {known}. Give a name of "
                f"these, or a glob that matches one"
            )
        first = [name for name in found if name not in registry.bundled]
        return [named[name] for name in first or found]
    if is_hub_id(pattern):
        # A registered hub id keeps its pinned revision, dtype and known failures.
        return [_entry_of(registry, pattern) or ModelSpec(pattern, pattern)]
    raise SpecError(
        f"{file}: unknown model {short(pattern)};{nearest(pattern, named)} "
        f"{known}; or give a glob over these, a checkpoint folder or a hub id 'owner/name'"
    )


def _refuse_url(pattern: str) -> None:
    if "://" in pattern:
        message = "a URL is no name of a model: make the server an entry of models.yaml (`source: "
        raise SpecError(
            f"{message}vllm+http://host:8000`, docs/how-to/served-models.md), and name it"
        )


def _with_objective(spec: ModelSpec, objective: str) -> ModelSpec:
    """Return the entry of one objective of a model; the model's bounds and waivers do not apply.

    Raises:
        SpecError: the objective is misspelt, or the model is an objective already.
    """
    if spec.objective is not None:
        message = f"{spec.name}: it is the objective {spec.objective!r} of its checkpoint already"
        raise SpecError(f"{message}; leave out #{short(objective)}")
    if not re.fullmatch(OBJECTIVE, objective):
        raise SpecError(
            f"{spec.name}: {short(objective)} is no objective; write {spec.name}#NAME with the "
            f"name of an output of its head or its number from 0"
        )
    return replace(spec, name=f"{spec.name}#{objective}", objective=objective, default=False)


def _entry_of(registry: Registry, source: str) -> ModelSpec | None:
    """Return the entry with this hub id as its source: the file's, else a bundled one; or None.

    Raises:
        SpecError: there are several, and each may have waivers and a revision of its own.
    """
    every = [spec for spec in registry.models.values() if spec.source == source]
    entries = [spec for spec in every if spec.name in registry.own] or every
    if len(entries) > 1:
        names = ", ".join(repr(spec.name) for spec in entries)
        message = (
            f"{registry.path}: {short(source)} is the source of {len(entries)} models, {names}"
        )
        raise SpecError(
            f"{message}, which may differ in revision and waivers; give a name of these"
        )
    return entries[0] if entries else None


def _refuse_missing_folder(pattern: str) -> None:
    """Raise if `pattern` is spelled like a path; whoever calls has found no such folder.

    Then a list of the known models would not help.

    Raises:
        SpecError: it looks like a path.
    """
    if not re.match(r"\.{0,2}/|~", pattern) and pattern.count("/") <= 1:
        return
    path = Path(pattern)
    try:
        beside = [each.name for each in path.parent.iterdir()]
    except (OSError, ValueError):  # there is no such parent either
        beside = []
    near = nearest(path.name, beside)
    raise SpecError(
        f"{short(pattern)}: there is no such folder;{near} give a checkpoint folder, "
        "a name of models.yaml (`rmaudit models` lists them) or a hub id 'owner/name'"
    )


def _existing_path(pattern: str) -> Path | None:
    """Return the existing file or folder `pattern`, which may look like a glob, or None.

    An example is `run[lr=1e-5]`.
    """
    try:
        path = Path(pattern).expanduser()
        return path.resolve() if path.exists() else None
    except PermissionError as error:
        raise SpecError(f"{short(pattern)}: cannot be read: {error.strerror}") from None
    except (OSError, ValueError, RuntimeError):  # too long a name, a NUL, or nobody's home
        return None


def newest(folder: Path) -> Path | None:
    """Return the `checkpoint-N` folder of the greatest N in a trainer's output folder, or None."""
    steps = {path: re.fullmatch(r"checkpoint-([0-9]+)", path.name) for path in folder.glob("*")}
    found = {int(step[1]): path for path, step in steps.items() if step and _holds_checkpoint(path)}
    return found[max(found)] if found else None


def _holds_checkpoint(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("config.json", "adapter_config.json"))


def _checkpoint(folder: Path, pattern: str) -> Path:
    if _holds_checkpoint(folder):
        return folder
    if step := newest(folder):
        raise SpecError(
            f"{pattern!r} is the folder of a training run and holds its checkpoints; give one of "
            f"these, such as the newest: {Path(pattern) / step.name}"
        )
    raise SpecError(
        f"{pattern!r} has no config.json (or adapter_config.json) in it: it is not a checkpoint "
        f"folder; give the folder that save_pretrained or a trainer wrote"
    )


def _spec_of_folder(folder: Path) -> ModelSpec:
    """Return the entry of a checkpoint folder; a mended one has its own, with the half to judge by.

    Raises:
        SpecError: the models.yaml of a mended one cannot be read.
    """
    if (folder / MENDED).is_file():
        return load_registry(folder / FILE).default
    return ModelSpec(_name_from_folder(folder), str(folder))


def _name_from_folder(folder: Path) -> str:
    """Return a model's name from its folder; `run/checkpoint-500` gives `run-checkpoint-500`."""
    step = re.fullmatch(r"checkpoint-[0-9]+", folder.name)
    return f"{folder.parent.name}-{folder.name}" if step else folder.name
