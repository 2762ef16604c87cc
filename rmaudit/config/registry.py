"""The registry: the models that models.yaml knows by name, and what `--model` means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from rmaudit.config.spec import Dtype, ModelSpec, Pool, is_hub_id
from rmaudit.config.strict_yaml import Problem, short
from rmaudit.errors import SpecError, nearest
from rmaudit.verdicts.policy import Policy

__all__ = [
    "FILE",
    "Dtype",
    "ModelSpec",
    "Pool",
    "Registry",
    "default_path",
    "is_brought",
    "is_hub_id",
    "load_registry",
    "newest",
    "resolve",
]
FILE = "models.yaml"


@dataclass(frozen=True, slots=True)
class Registry:
    """The models of one file, by name and in its order, and its policy. Exactly one is default."""

    path: Path
    models: Mapping[str, ModelSpec]
    policy: Policy

    @property
    def default(self) -> ModelSpec:
        """The model that is audited when none is named."""
        return next(spec for spec in self.models.values() if spec.default)


def default_path() -> Path:
    """models.yaml in the current directory if there is one, else the one that rmaudit brings."""
    paths = [Path(FILE), *_brought()]
    return next((path for path in paths if path.is_file()), paths[-1])


def is_brought(path: Path) -> bool:
    """Whether it is the registry that rmaudit brings."""
    return path in _brought()


def _brought() -> tuple[Path, Path]:
    package = Path(__file__).parents[1]
    return package / FILE, package.parent / FILE  # where the wheel puts it; in a checkout


def load_registry(path: Path) -> Registry:
    """The models of a registry file.

    Raises:
        SpecError: it cannot be read, or says anything that is not understood.
    """
    from rmaudit.config import models_yaml

    try:
        return Registry(path, *models_yaml.read(path.read_bytes(), path))
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    except Problem as problem:
        raise SpecError(f"{path}:{problem.line}: {problem}") from None


def resolve(registry: Registry, pattern: str) -> list[ModelSpec]:
    """The models that `--model pattern` means: a name, a checkpoint folder, a glob or a hub id.

    What comes first in this list is taken where a pattern could mean several.

    Raises:
        SpecError: it means none.
    """
    if pattern in registry.models:
        return [registry.models[pattern]]
    if pattern and (folder := _existing(pattern)):
        folder = _checkpoint(folder, pattern)
        return [ModelSpec(_name(folder), str(folder))]
    known = f"known: {', '.join(registry.models)}"
    if any(character in pattern for character in "*?["):
        specs = [spec for name, spec in registry.models.items() if fnmatchcase(name, pattern)]
        if not specs:
            raise SpecError(f"{registry.path}: no model matches {short(pattern)}; {known}")
        return specs
    if is_hub_id(pattern):
        # A registered hub id keeps its pinned revision, dtype and known failures.
        entries = [spec for spec in registry.models.values() if spec.source == pattern]
        return entries[:1] or [ModelSpec(pattern, pattern)]
    raise SpecError(
        f"{registry.path}: unknown model {short(pattern)};{nearest(pattern, registry.models)} "
        f"{known}; or give a glob over these, a checkpoint folder or a hub id 'owner/name'"
    )


def _existing(pattern: str) -> Path | None:
    """The file or folder of this name, which may look like a glob: `run[lr=1e-5]`."""
    try:
        return Path(pattern).resolve() if Path(pattern).exists() else None
    except PermissionError as error:
        raise SpecError(f"{short(pattern)}: cannot be read: {error.strerror}") from None
    except (OSError, ValueError):  # too long a name, or a NUL
        return None


def newest(folder: Path) -> Path | None:
    """The last of the `checkpoint-N` folders that a trainer left in its output folder."""
    steps = {path: re.fullmatch(r"checkpoint-([0-9]+)", path.name) for path in folder.glob("*")}
    found = {int(step[1]): path for path, step in steps.items() if step and _whole(path)}
    return found[max(found)] if found else None


def _whole(folder: Path) -> bool:
    """Whether it holds a checkpoint or an adapter."""
    return any((folder / name).is_file() for name in ("config.json", "adapter_config.json"))


def _checkpoint(folder: Path, pattern: str) -> Path:
    if _whole(folder):
        return folder
    if step := newest(folder):
        raise SpecError(
            f"{pattern!r} holds no checkpoint itself, but those of a training run; give one of "
            f"them, the newest being: --model {Path(pattern) / step.name}"
        )
    raise SpecError(
        f"{pattern!r} has no config.json (or adapter_config.json) in it: it is not a checkpoint "
        f"folder; give the folder that save_pretrained or a trainer wrote"
    )


def _name(folder: Path) -> str:
    """The folder's name; of a `checkpoint-500` with its parent's: `run-checkpoint-500`."""
    step = re.fullmatch(r"checkpoint-[0-9]+", folder.name)
    return f"{folder.parent.name}-{folder.name}" if step else folder.name
