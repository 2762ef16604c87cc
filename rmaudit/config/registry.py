"""models.yaml: which reward models there are and what to load for each. Its only reader.

The file is data, and is read strictly (`yamlnodes`): everything that is not plainly right is a
`SpecError` of one line, which begins with FILE:LINE.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from rmaudit.config import policy_keys
from rmaudit.config.strict_yaml import (
    TEXT,
    Kind,
    Problem,
    compose,
    found,
    pairs_of,
    scalar,
)
from rmaudit.errors import SpecError, nearest
from rmaudit.verdicts.policy import Policy

FILE = "models.yaml"
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Pool = Literal["auto", "last", "hf"]
ScoreField = Literal["logits", "score"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model: what to load, and what is said about it.

    Attributes:
        name: what `--model` and the reports call it.
        source: a hub id `owner/name`, the absolute path of a checkpoint folder, or `embedded`.
        revision: full commit hash of a hub id; None is the newest.
        pool: where the reward is read: "last" is the row's last id; "hf" is transformers' rule, the
            rightmost id that is not the pad id; "auto" is the rule of the head's family, with a
            warning where that is transformers' and not the last id.
        logit: the vocabulary id whose logit at the last id is the reward, for a language model that
            was trained so; None for all that have a head.
        quantized: the checkpoint's weights are quantized, and these are what is to be audited.
        trust_remote_code: whether the checkpoint is scored by the code that it brings, which is run
            then. Only beside `revision`, which pins the code too.
        score_field: where that code's output has the reward; None is "logits".
        template: absolute path of a chat template that replaces the checkpoint's own.
        base: the language model it was trained from: as `source`, with a causal-LM head;
            `embedded` is that of R-Smol-135M.
        base_revision: full commit hash of a hub id in `base`; None is the newest.
        parameters_b: size in units of 1e9 parameters.
        rewardbench_rank: rank on RewardBench as printed in Christian et al. 2025, Table 1.
        default: audited when no `--model` is given.
        trained_on: salt of `references.holdout`: the model has seen one half of the reference
            words and items, and must be audited on the other.
    """

    name: str
    source: str
    _: KW_ONLY
    revision: str | None = None
    dtype: Dtype = "auto"
    pool: Pool = "auto"
    logit: int | None = None
    quantized: bool = False
    trust_remote_code: bool = False
    score_field: ScoreField | None = None
    template: str | None = None
    base: str | None = None
    base_revision: str | None = None
    developer: str | None = None
    base_model: str | None = None
    parameters_b: float | None = None
    rewardbench_rank: int | None = None
    default: bool = False
    trained_on: str | None = None
    notes: tuple[str, ...] = ()


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


_HUB_ID = r"(?a:\w[\w.-]*/\w[\w.-]*)"
_SOURCE = rf"embedded|{_HUB_ID}|(\.|\.\.|~)?/.+"
_SOURCES = (
    "'embedded', a hub id 'owner/name', or a folder that begins with './', '../', '/' or '~/'"
)
_HASH = "a full commit hash of 40 hex digits (branches and tags move)"
_INT, _NUMBER = r"[1-9][0-9]{0,5}", r"(?=.*[1-9])(0|[1-9][0-9]{0,5})(\.[0-9]{1,6})?"
_DTYPES, _POOLS, _FIELDS = get_args(Dtype), get_args(Pool), get_args(ScoreField)

_NAME = Kind("str", r"(?a:\w[\w.-]*)", "a name of letters, digits, '.', '-' and '_'")
_BOOL = Kind("bool", "true|false", "true or false", lambda text: text == "true")
# Of an entry, beside those of the policy; notes is a list of its kind.
_KEYS: Mapping[str, Kind] = {
    "source": Kind("str", _SOURCE, _SOURCES),
    "revision": Kind("str", "[0-9a-f]{40}", _HASH),
    "dtype": Kind("str", "|".join(_DTYPES), f"one of {', '.join(_DTYPES)}"),
    "pool": Kind("str", "|".join(_POOLS), f"one of {', '.join(_POOLS)}"),
    "logit": Kind("int", "0|[1-9][0-9]{0,6}", "a token id, such as 0", int),
    "quantized": _BOOL,
    "trust_remote_code": _BOOL,
    "score_field": Kind("str", "|".join(_FIELDS), f"one of {', '.join(_FIELDS)}"),
    "template": TEXT,
    "base": Kind("str", _SOURCE, _SOURCES),
    "base_revision": Kind("str", "[0-9a-f]{40}", _HASH),
    "developer": TEXT,
    "base_model": TEXT,
    "parameters_b": Kind("int float", _NUMBER, "a number above 0, such as 8 or 0.135", float),
    "rewardbench_rank": Kind("int", _INT, "a whole number above 0, such as 8", int),
    "default": _BOOL,
    "trained_on": TEXT,
    "notes": TEXT,
}


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
    try:
        raw = path.read_bytes()
        return _registry(compose(raw), path)
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    except Problem as problem:
        raise SpecError(f"{path}:{problem.line}: {problem}") from None


def is_hub_id(source: str) -> bool:
    """Whether a source is `owner/name` on the hub."""
    return re.fullmatch(_HUB_ID, source) is not None


def resolve(registry: Registry, pattern: str) -> list[ModelSpec]:
    """The models that `--model pattern` means: a name, a glob, a checkpoint folder or a hub id.

    Raises:
        SpecError: it means none.
    """
    if pattern in registry.models:
        return [registry.models[pattern]]
    names = ", ".join(registry.models)
    if any(character in pattern for character in "*?["):
        specs = [spec for name, spec in registry.models.items() if fnmatchcase(name, pattern)]
        if not specs:
            raise SpecError(f"{registry.path}: no model matches {pattern!r}; known: {names}")
        return specs
    folder = Path(pattern)
    if pattern and folder.exists():
        folder = _checkpoint(folder.resolve(), pattern)
        return [ModelSpec(_name(folder), str(folder))]
    if is_hub_id(pattern):
        # A registered hub id keeps its pinned revision, dtype and known failures.
        entries = [spec for spec in registry.models.values() if spec.source == pattern]
        return entries[:1] or [ModelSpec(pattern, pattern)]
    raise SpecError(
        f"{registry.path}: unknown model {pattern!r};{nearest(pattern, registry.models)} "
        f"known: {names}; or give a glob over these, a checkpoint folder or a hub id 'owner/name'"
    )


def newest(folder: Path) -> Path | None:
    """The last of the `checkpoint-N` folders that a trainer left in its output folder."""
    steps = {path: re.fullmatch(r"checkpoint-([0-9]+)", path.name) for path in folder.glob("*")}
    found = {int(step[1]): path for path, step in steps.items() if step and _whole(path)}
    return found[max(found)] if found else None


def _whole(folder: Path) -> bool:
    """It holds a checkpoint or an adapter."""
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
    """The folder's name; with its parent's where that alone tells nothing: `run-checkpoint-500`."""
    step = re.fullmatch(r"checkpoint-[0-9]+", folder.name)
    return f"{folder.parent.name}-{folder.name}" if step else folder.name


def _registry(root: yaml.Node, path: Path) -> Registry:
    keys = ["models", *policy_keys.EVERYWHERE]
    top = pairs_of(root, "", "a mapping with the key 'models'", keys=keys)
    if "models" not in top:
        raise Problem(root, "the key 'models' is missing")
    models = _models(*top["models"], path.parent)
    return Registry(path, models, policy_keys.read(top, path.name))


def _models(key: yaml.Node, entries: yaml.Node, base: Path) -> dict[str, ModelSpec]:
    pairs = pairs_of(entries, "models: ", "a mapping of names to entries", _NAME)
    models = {name: _spec(name, at, entry, base) for name, (at, entry) in pairs.items()}
    defaults = [name for name, spec in models.items() if spec.default]
    if not defaults:
        raise Problem(key, "no model has 'default: true'; exactly one must have it")
    if len(defaults) > 1:
        at = pairs[defaults[1]][0]
        raise Problem(at, f"{defaults[1]}: a second 'default: true', after {defaults[0]}")
    return models


def _spec(name: str, at: yaml.Node, entry: yaml.Node, base: Path) -> ModelSpec:
    """One entry. Relative paths in it start at `base`, the registry's folder."""
    allowed = [*_KEYS, *policy_keys.OWN]
    pairs = pairs_of(entry, f"{name}: ", "a mapping with the key 'source'", keys=allowed)
    if "source" not in pairs:
        expected = _KEYS["source"].expected
        raise Problem(at, f"{name}: the key 'source' is missing; expected {expected}")
    fields = {
        key: _value(key, node, f"{name}: {key}: ")
        for key, (_, node) in pairs.items()
        if key in _KEYS
    }
    for key, revision in (("source", "revision"), ("base", "base_revision")):
        given = fields.get(key, "")
        if revision in pairs and not is_hub_id(given):
            raise Problem(pairs[revision][0], f"{name}: {revision}: only a hub id has revisions")
        if given.startswith("."):
            fields[key] = str((base / given).resolve())
    _refuse_loose_code(name, fields, {key: at for key, (at, _) in pairs.items()})
    if "template" in pairs:
        template = (base / fields["template"]).resolve()
        if not template.is_file():
            raise Problem(pairs["template"][1], f"{name}: template: there is no file {template}")
        fields["template"] = str(template)
    return ModelSpec(name, **fields)


def _refuse_loose_code(
    name: str, fields: Mapping[str, Any], places: Mapping[str, yaml.Node]
) -> None:
    """Code is run at a pinned commit only, and then decides alone how the reward is read."""
    if not fields.get("trust_remote_code"):
        if "score_field" in places:
            what = "score_field: it is for code that is run (trust_remote_code: true)"
            raise Problem(places["score_field"], f"{name}: {what}; a known head needs none")
        return
    if "revision" not in places:
        what = (
            f"trust_remote_code: true needs a hub id and its `revision` beside it, {_HASH}: what "
            f"you have read is what is run"
        )
        raise Problem(places["trust_remote_code"], f"{name}: {what}")
    for key in ("logit", "pool"):
        if key in places:
            what = f"{key}: its own code decides that (trust_remote_code: true); remove one of them"
            raise Problem(places[key], f"{name}: {what}")


def _value(key: str, node: yaml.Node, label: str) -> Any:  # noqa: ANN401
    if key == "notes":
        if not isinstance(node, yaml.SequenceNode):
            raise Problem(node, f"{label}expected a list of texts, got {found(node)}")
        return tuple(scalar(item, TEXT, label) for item in node.value)
    return scalar(node, _KEYS[key], label)
