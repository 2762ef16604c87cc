"""Load the registry: the models that models.yaml knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from rmaudit.config.model_spec import Dtype, ModelSpec, Pool, is_hub_id
from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.config.strict_yaml import YamlProblem
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import SpecError
from rmaudit.verdicts.verdict_policy import Policy

__all__ = [
    "FILE",
    "Dtype",
    "ModelSpec",
    "Pool",
    "Registry",
    "checkpoint_of",
    "default_path",
    "is_bundled",
    "is_hub_id",
    "known_models",
    "load_registry",
]
FILE = "models.yaml"
_OURS = "rmaudit's own models.yaml"


@dataclass(frozen=True, slots=True)
class Registry:
    """The models of a models.yaml by name, in file order, and its policy.

    Attributes:
        bundled: names of models that are not of this file but of the bundled one; they
            come after its own, with what that file says of each.
        words: prompts, lexicons and the like of the file.
    """

    path: Path
    models: Mapping[str, ModelSpec]
    policy: Policy
    bundled: frozenset[str] = frozenset()
    words: OwnWords = field(default_factory=OwnWords)

    @property
    def default(self) -> ModelSpec:
        """Return the model that is audited when no model is named: a file's only one, if it is.

        Raises:
            SpecError: the file has several models, and none has `default: true`.
        """
        marked = [spec for spec in self.models.values() if spec.default]
        if not marked and len(self.own) != 1:
            raise SpecError(
                f"{self.path}: no model was named, and none of its {len(self.own)} has "
                f"`default: true`; write it below one of them, or name one with --model: "
                f"{', '.join(self.own)}"
            )
        return (marked or [*self.own.values()])[0]

    def file_of(self, name: str) -> str:
        """Return the file that defines the model `name`, or a phrase for rmaudit's bundled file."""
        return _OURS if name in self.bundled or is_bundled(self.path) else str(self.path)

    def has(self, spec: ModelSpec) -> bool:
        """Return whether the model equals the entry of its name."""
        return self.models.get(spec.name) == spec

    def option_value(self, spec: ModelSpec) -> str:
        """Return the value of `--model` for a model: its name, or its source if it has no entry.

        A folder with the same name as an entry is not that entry: its source is its whole path.
        """
        if self.has(spec):
            return spec.name
        plain = checkpoint_of(spec)
        entry = self.models.get(plain.name)
        known = entry is not None and replace(entry, default=False) == plain
        named = plain.name if known else plain.source
        return named if spec.objective is None else f"{named}#{spec.objective}"

    @property
    def own(self) -> Mapping[str, ModelSpec]:
        """Return the models that the file itself defines, without the bundled ones."""
        return {name: spec for name, spec in self.models.items() if name not in self.bundled}


def default_path() -> Path:
    """Return models.yaml in the current directory if it exists, else the bundled one."""
    return Path(FILE) if Path(FILE).is_file() else bundled(FILE)


def is_bundled(path: Path) -> bool:
    """Return whether `path` is rmaudit's bundled models.yaml."""
    return path == bundled(FILE)


def known_models(file: Path | None = None) -> Registry:
    """Return the models of a registry file, and after them the bundled ones.

    If both have a name, the file's own entry counts. Without a file, `default_path` is read.

    Raises:
        SpecError: it cannot be read, or says anything that is not understood.
    """
    own = load_registry(file or default_path())
    if bundled(FILE).samefile(own.path):
        return own
    shipped = load_registry(bundled(FILE))
    more = {
        name: replace(spec, default=False)
        for name, spec in shipped.models.items()
        if name not in own.models
    }
    rules = {name: of for name, of in shipped.policy.models.items() if name in more}
    sources = {name: spec.source for name, spec in more.items()}
    policy = replace(
        own.policy,
        models={**own.policy.models, **rules},
        sources={**own.policy.sources, **sources},
    )
    return Registry(own.path, {**own.models, **more}, policy, frozenset(more), own.words)


def load_registry(path: Path) -> Registry:
    """Return the models of one models.yaml, without the bundled ones.

    Raises:
        SpecError: it cannot be read, or says anything that is not understood.
    """
    return _bundled_registry() if is_bundled(path) else _parsed(path)


@cache
def _bundled_registry() -> Registry:
    """Return the models of rmaudit's own file, which does not change while a process runs."""
    return _parsed(bundled(FILE))


def _parsed(path: Path) -> Registry:
    from rmaudit.config import models_yaml

    try:
        models, policy, words = models_yaml.read(path.read_bytes(), path)
        return Registry(path, models, policy, words=replace(words, asked=()))
    except FileNotFoundError:
        message = f"{path}: there is no such file; give the path of a models.yaml, or write one"
        raise SpecError(f"{message} with `rmaudit init`") from None
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}; give the path of a models.yaml"
        raise SpecError(message) from None
    except YamlProblem as problem:
        raise SpecError(f"{path}:{problem.line}: {problem}") from None


def checkpoint_of(spec: ModelSpec) -> ModelSpec:
    """Return the entry without its objective: the checkpoint that all of its objectives share."""
    if spec.objective is None:
        return spec
    return replace(
        spec, name=spec.name.removesuffix(f"#{spec.objective}"), objective=None, default=False
    )
