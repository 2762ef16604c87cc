"""models.yaml: which reward models there are and what to load for each. Its only reader.

The file is data, and is read strictly, node by node. Left to itself YAML keeps the last of two
equal keys, turns `no` into False and `1e5` into text; here everything that is not plainly right
is a `SpecError` of one line, which begins with FILE:LINE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import yaml

from rmaudit.errors import SpecError

FILE = "models.yaml"
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Pool = Literal["auto", "last", "hf"]


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
        template: absolute path of a chat template that replaces the checkpoint's own.
        base: the language model it was trained from: as `source`, with a causal-LM head;
            `embedded` is that of R-Smol-135M.
        base_revision: full commit hash of a hub id in `base`; None is the newest.
        parameters_b: size in units of 1e9 parameters.
        rewardbench_rank: rank on RewardBench as printed in Christian et al. 2025, Table 1.
        default: audited when no `--model` is given.
        trained_on: salt of `references.holdout`: the model has seen one half of the reference
            words and items, and must be audited on the other.
        known: audit name, or `audit[prompt]`, to the reason for which it is expected to fail.
    """

    name: str
    source: str
    _: KW_ONLY
    revision: str | None = None
    dtype: Dtype = "auto"
    pool: Pool = "auto"
    logit: int | None = None
    quantized: bool = False
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
    known: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Registry:
    """The models of one file, by name and in its order. Exactly one is the default."""

    path: Path
    models: Mapping[str, ModelSpec]

    @property
    def default(self) -> ModelSpec:
        """The model that is audited when none is named."""
        return next(spec for spec in self.models.values() if spec.default)


class _Kind(NamedTuple):
    """What one YAML scalar may be: the types that YAML sees, its spelling, and both in words."""

    types: str
    spelling: str
    expected: str
    make: Callable[[str], object] = str.strip


_HUB_ID = r"(?a:\w[\w.-]*/\w[\w.-]*)"
_SOURCE = rf"embedded|{_HUB_ID}|(\.|\.\.|~)?/.+"
_SOURCES = (
    "'embedded', a hub id 'owner/name', or a folder that begins with './', '../', '/' or '~/'"
)
_HASH = "a full commit hash of 40 hex digits (branches and tags move)"
_INT, _NUMBER = r"[1-9][0-9]{0,5}", r"(?=.*[1-9])(0|[1-9][0-9]{0,5})(\.[0-9]{1,6})?"
_DTYPES, _POOLS = get_args(Dtype), get_args(Pool)

_NAME = _Kind("str", r"(?a:\w[\w.-]*)", "a name of letters, digits, '.', '-' and '_'")
_AUDIT = _Kind("str", r"\w+(\[[\w-]+\])?", "the name of an audit, such as 'a' or 'a[prompt]'")
_TEXT = _Kind("str", r"(?s:.*\S.*)", "text")
_KEYS: Mapping[str, _Kind] = {  # of an entry; notes is a list of its kind, known a mapping to it
    "source": _Kind("str", _SOURCE, _SOURCES),
    "revision": _Kind("str", "[0-9a-f]{40}", _HASH),
    "dtype": _Kind("str", "|".join(_DTYPES), f"one of {', '.join(_DTYPES)}"),
    "pool": _Kind("str", "|".join(_POOLS), f"one of {', '.join(_POOLS)}"),
    "logit": _Kind("int", "0|[1-9][0-9]{0,6}", "a token id, such as 0", int),
    "quantized": _Kind("bool", "true|false", "true or false", lambda text: text == "true"),
    "template": _TEXT,
    "base": _Kind("str", _SOURCE, _SOURCES),
    "base_revision": _Kind("str", "[0-9a-f]{40}", _HASH),
    "developer": _TEXT,
    "base_model": _TEXT,
    "parameters_b": _Kind("int float", _NUMBER, "a number above 0, such as 8 or 0.135", float),
    "rewardbench_rank": _Kind("int", _INT, "a whole number above 0, such as 8", int),
    "default": _Kind("bool", "true|false", "true or false", lambda text: text == "true"),
    "trained_on": _TEXT,
    "notes": _TEXT,
    "known": _TEXT,
}


def default_path() -> Path:
    """models.yaml in the current directory if there is one, else the one that rmaudit brings."""
    here, package = Path(FILE), Path(__file__).parent
    bundled = package / FILE  # where the wheel puts it; a checkout has it one folder up
    return next((path for path in (here, bundled) if path.is_file()), package.parent / FILE)


def load_registry(path: Path) -> Registry:
    """The models of a registry file.

    Raises:
        SpecError: it cannot be read, or says anything that is not understood.
    """
    try:
        raw = path.read_bytes()
        return Registry(path, _models(_compose(raw), path.parent))
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    except _Problem as problem:
        raise SpecError(f"{path}:{problem.line}: {problem}") from None


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
    if re.fullmatch(_HUB_ID, pattern):
        # A registered hub id keeps its pinned revision, dtype and known failures.
        entries = [spec for spec in registry.models.values() if spec.source == pattern]
        return entries[:1] or [ModelSpec(pattern, pattern)]
    raise SpecError(
        f"{registry.path}: unknown model {pattern!r};{_nearest(pattern, registry.models)} "
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


class _Problem(Exception):  # noqa: N818  (never seen outside: it becomes a SpecError)
    """What is wrong, and at which node or line."""

    def __init__(self, at: yaml.Node | yaml.Event | int, what: str) -> None:
        super().__init__(what)
        self.line = at if isinstance(at, int) else _line(at)


def _line(at: yaml.Node | yaml.Event) -> int:
    return at.start_mark.line + 1 if at.start_mark else 1


def _compose(raw: bytes) -> yaml.Node:
    """The root node. Nothing is constructed, and whatever stands for something else is refused."""
    line = 1
    try:
        text = raw.decode()
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            line = _line(event)
            if anchor := getattr(event, "anchor", None):
                raise _Problem(event, f"anchors and aliases are refused, got {anchor!r}")
            if tag := getattr(event, "tag", None):
                raise _Problem(event, f"tags are refused, got {tag!r}")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise _Problem(1 + raw.count(b"\n", 0, error.start), "not UTF-8 text") from None
    except yaml.reader.ReaderError as error:
        line = 1 + text.count("\n", 0, error.position)
        raise _Problem(line, "not valid YAML: there is a control character") from None
    except yaml.MarkedYAMLError as error:
        line = 1 + error.problem_mark.line if error.problem_mark else line
        what = ": ".join(part for part in (error.context, error.problem) if part)
        raise _Problem(line, f"not valid YAML: {what}") from None
    except (OverflowError, RecursionError, ValueError):  # PyYAML lets them through
        raise _Problem(line, "not valid YAML: an escape or a nesting goes too far") from None
    if root is None:
        raise _Problem(1, "the file is empty; expected a mapping with the key 'models'")
    return root


def _models(root: yaml.Node, base: Path) -> dict[str, ModelSpec]:
    top = _pairs(root, "", "a mapping with the key 'models'", keys=["models"])
    if "models" not in top:
        raise _Problem(root, "the key 'models' is missing")
    key, entries = top["models"]
    pairs = _pairs(entries, "models: ", "a mapping of names to entries", _NAME)
    models = {name: _spec(name, at, entry, base) for name, (at, entry) in pairs.items()}
    defaults = [name for name, spec in models.items() if spec.default]
    if not defaults:
        raise _Problem(key, "no model has 'default: true'; exactly one must have it")
    if len(defaults) > 1:
        at = pairs[defaults[1]][0]
        raise _Problem(at, f"{defaults[1]}: a second 'default: true', after {defaults[0]}")
    return models


def _spec(name: str, at: yaml.Node, entry: yaml.Node, base: Path) -> ModelSpec:
    """One entry. Relative paths in it start at `base`, the registry's folder."""
    pairs = _pairs(entry, f"{name}: ", "a mapping with the key 'source'", keys=_KEYS)
    if "source" not in pairs:
        expected = _KEYS["source"].expected
        raise _Problem(at, f"{name}: the key 'source' is missing; expected {expected}")
    fields = {key: _value(key, node, f"{name}: {key}: ") for key, (_, node) in pairs.items()}
    for key, revision in (("source", "revision"), ("base", "base_revision")):
        given = fields.get(key, "")
        if revision in pairs and not re.fullmatch(_HUB_ID, given):
            at = pairs[revision][0]
            raise _Problem(at, f"{name}: {revision}: only a hub id has revisions")
        if given.startswith("."):
            fields[key] = str((base / given).resolve())
    if "template" in pairs:
        template = (base / fields["template"]).resolve()
        if not template.is_file():
            raise _Problem(pairs["template"][1], f"{name}: template: there is no file {template}")
        fields["template"] = str(template)
    return ModelSpec(name, **fields)


def _value(key: str, node: yaml.Node, label: str) -> Any:  # noqa: ANN401
    if key == "notes":
        if not isinstance(node, yaml.SequenceNode):
            raise _Problem(node, f"{label}expected a list of texts, got {_found(node)}")
        return tuple(_scalar(item, _TEXT, label) for item in node.value)
    if key == "known":
        reasons = _pairs(node, label, "a mapping of audits to reasons", _AUDIT).items()
        return {audit: _scalar(text, _TEXT, f"{label}{audit}: ") for audit, (_, text) in reasons}
    return _scalar(node, _KEYS[key], label)


def _pairs(
    node: yaml.Node, label: str, expected: str, kind: _Kind = _TEXT, *, keys: Iterable[str] = ()
) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """A mapping's keys, each with the nodes of key and value. Only `keys` are allowed, if given."""
    if not isinstance(node, yaml.MappingNode):
        raise _Problem(node, f"{label}expected {expected}, got {_found(node)}")
    pairs: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for key_node, value in node.value:
        key = _scalar(key_node, kind, label)
        if key in pairs:
            first = _line(pairs[key][0])
            raise _Problem(key_node, f"{label}duplicate key {key!r}, first on line {first}")
        if keys and key not in keys:
            nearest, allowed = _nearest(key, keys), ", ".join(keys)
            raise _Problem(key_node, f"{label}unknown key {key!r};{nearest} allowed: {allowed}")
        pairs[key] = (key_node, value)
    return pairs


def _scalar(node: yaml.Node, kind: _Kind, label: str) -> Any:  # noqa: ANN401
    if _seen(node) in kind.types.split() and re.fullmatch(kind.spelling, node.value):
        return kind.make(node.value)
    hint = "; quote a text that holds ': '" if _seen(node) == "map" else ""
    raise _Problem(node, f"{label}expected {kind.expected}, got {_found(node)}{hint}")


def _found(node: yaml.Node) -> str:
    """For example `no, which YAML reads as bool when unquoted`."""
    if not isinstance(node, yaml.ScalarNode):
        return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"
    if _seen(node) == "str":
        return f"the text {node.value!r}"
    how = f"{node.value}, which YAML reads as {_seen(node)} when unquoted"
    return how if node.value else "nothing"


def _seen(node: yaml.Node) -> str:
    """YAML's own name for the type, such as str, int, float, bool, null, timestamp or map."""
    return node.tag.removeprefix("tag:yaml.org,2002:")


def _nearest(word: str, known: Iterable[str]) -> str:
    """For example ` did you mean 'revision'?`, or nothing where none is near."""
    spelt = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), spelt, n=1)
    return f" did you mean {spelt[close[0]]!r}?" if close else ""
