"""Read YAML strictly: whatever could be misunderstood is refused, with its line.

Left to itself YAML keeps the last of two equal keys, turns `no` into False and `1e5` into text,
and lets one place stand for another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import yaml

from rmaudit.invisible_characters import spelled

_DEEPEST = 20  # levels, of which models.yaml needs five; PyYAML takes the square of them in time
_LONGEST = 80  # characters of a text that an error shows
_UNFIT = re.compile("[\0\ud800-\udfff]")  # what no file name and no encoding has

# How a value of each type of YAML's may be spelled, and what is made of it.
_SPELLINGS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "str": (r"(?s:.*\S.*)", str.strip),
    "bool": ("true|false", lambda text: text == "true"),
    "int": ("-?(0|[1-9][0-9]{0,17})", int),
    "float": (r"-?(0|[1-9][0-9]{0,17})\.[0-9]+(e[-+][0-9]{1,2})?", float),
    "timestamp": ("[0-9]{4}-[0-9]{2}-[0-9]{2}", date.fromisoformat),
}

_HIDDEN_TOO = (("words",), ("prompts",))  # keys at the top whose texts a model may be asked

Path = tuple[str | int, ...]  # the keys, and the numbers of list items, from the root to a value


class YamlProblem(Exception):  # noqa: N818  (never seen outside: it becomes a SpecError)
    """An error in a YAML file: what is wrong, and on which line."""

    def __init__(self, at: yaml.Node | yaml.Event | int, what: str) -> None:
        """Take the message `what`, and where it is: a YAML node or event, or a line number."""
        super().__init__(what)
        self.line = at if isinstance(at, int) else line_of(at)


class Odd:
    """Placeholder for a value that people may read differently than YAML does; always refused."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML file: its value, and its YAML nodes (for line numbers) by path of keys."""

    value: Any
    nodes: Mapping[Path, tuple[yaml.Node, yaml.Node]]

    def problem(self, path: Path, what: str, *, of_key: bool = False) -> YamlProblem:
        """Return the error `what`, which names the path, at the line of its value or its key."""
        return YamlProblem(self.nodes[path][not of_key], f"{label(path)}{what}")


@dataclass(slots=True)
class _Reader:
    nodes: dict[Path, tuple[yaml.Node, yaml.Node]] = field(default_factory=dict)

    def value(self, node: yaml.Node, path: Path) -> Any:  # noqa: ANN401  (what YAML holds)
        """Convert a YAML node to Python values; record each node below it by its path of keys."""
        if isinstance(node, yaml.MappingNode):
            return {key: self.value(*at) for key, at in self._pairs(node, path).items()}
        if isinstance(node, yaml.SequenceNode):
            items = [((*path, number), item) for number, item in enumerate(node.value)]
            self.nodes.update({at: (item, item) for at, item in items})
            return tuple(self.value(item, at) for at, item in items)
        read = _scalar(node)
        if isinstance(read, str) and path[:1] not in _HIDDEN_TOO and not _shows(read):
            return Odd()
        verdict = isinstance(read, str) and path[-2:-1] == ("judge",)
        return node.value if verdict else read  # the space before a word is a part of it

    def _pairs(self, node: yaml.Node, path: Path) -> dict[str, tuple[yaml.Node, Path]]:
        pairs: dict[str, tuple[yaml.Node, Path]] = {}
        for key_node, value in node.value:
            # YAML reads a judge's keys, yes and no, as booleans when they are not quoted.
            key = (
                key_node.value
                if path[-1:] == ("judge",) and bool_word(key_node)
                else _scalar(key_node)
            )
            if not isinstance(key, str):
                hint = "; put it in quotes" if unquoted(key_node) else ""
                what = f"expected text, got {described(key_node)}{hint}"
                raise YamlProblem(key_node, f"{label(path)}{what}")
            if key in pairs:
                first = line_of(self.nodes[*path, key][0])
                what = f"duplicate key {short(key)}, first on line {first}"
                raise YamlProblem(key_node, f"{label(path)}{what}")
            self.nodes[*path, key] = (key_node, value)
            pairs[key] = (value, (*path, key))
        return pairs


def read(raw: bytes) -> Document:
    """Parse the bytes of a YAML file; refuse anchors, aliases, tags and duplicate keys.

    Raises:
        YamlProblem: at the line that is not YAML, has an anchor, an alias or a tag, or has a key
            that is no text or stands twice.
    """
    root, reader = _compose(raw), _Reader()
    reader.nodes[()] = (root, root)
    return Document(reader.value(root, ()), reader.nodes)


def line_of(at: yaml.Node | yaml.Event) -> int:
    """Return the line of a node or event, counted from 1."""
    return at.start_mark.line + 1 if at.start_mark else 1


def label(path: Path) -> str:
    """Format a path of YAML keys for an error message, without `models`: `A: bounds: skew: `."""
    names = [
        name if name.isprintable() and len(name) <= _LONGEST else short(name)
        for name in path
        if isinstance(name, str)
    ]
    below = names[1:] if names[:1] == ["models"] else names
    return "".join(f"{name}: " for name in below or names)


def described(node: yaml.Node) -> str:
    """Describe a YAML value for an error message: `no, which YAML reads as bool when unquoted`."""
    if not isinstance(node, yaml.ScalarNode):
        return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"
    if _UNFIT.search(node.value):
        return f"a text with a NUL or half a character: {short(node.value)}"
    if _yaml_type(node) == "str":
        return f"the text {short(node.value)}"
    if re.fullmatch(_SPELLINGS["timestamp"][0], node.value) and isinstance(_scalar(node), Odd):
        return f"{node.value}, which is no day of the calendar"
    how = f"{node.value[:_LONGEST]}, which YAML reads as {_yaml_type(node)} when unquoted"
    return how if node.value else "nothing"


def bool_word(node: yaml.Node) -> str:
    """Return `true` or `false`, as YAML reads a word such as `yes`; "" for any other value."""
    words = yaml.constructor.SafeConstructor.bool_values
    return str(words[node.value.lower()]).lower() if _yaml_type(node) == "bool" else ""


def unquoted(node: yaml.Node) -> bool:
    """Return whether YAML reads a value as other than text (`no`, `1.0`); False if it is empty."""
    return isinstance(node, yaml.ScalarNode) and bool(node.value) and _yaml_type(node) != "str"


def short(text: str) -> str:
    """Return a text in quotes; if it is longer than 80 characters, cut there, with its length."""
    more = f"... ({len(text):,} characters)" if len(text) > _LONGEST else ""
    return f"{text[:_LONGEST]!r}{more}"


class _Loader(yaml.SafeLoader):
    """A loader that refuses anchors, aliases and tags, and nodes too deep, before they are made."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401  (PyYAML's)
        """Compose the next node, unless it is refused."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if self.depth >= _DEEPEST and isinstance(event, yaml.CollectionStartEvent):
            what = f"this is nested more than {_DEEPEST} levels deep, and models.yaml needs five; "
            raise YamlProblem(event, f"{what}check the brackets and the indentation")
        if anchor := getattr(event, "anchor", None):
            raise YamlProblem(event, f"anchors and aliases are refused, got {short(anchor)}")
        if tag := getattr(event, "tag", None):
            raise YamlProblem(event, f"tags are refused, got {short(tag)}")
        self.depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _compose(raw: bytes) -> yaml.Node:
    text, loader = "", None
    try:
        text = raw.decode()
        loader = _Loader(text)
        root: yaml.Node | None = loader.get_single_node()
    except UnicodeDecodeError as error:
        raise YamlProblem(1 + raw.count(b"\n", 0, error.start), "not UTF-8 text") from None
    except yaml.reader.ReaderError as error:
        line = 1 + text.count("\n", 0, error.position)
        raise YamlProblem(line, "not valid YAML: there is a control character") from None
    except yaml.MarkedYAMLError as error:
        line = 1 + (error.problem_mark.line if error.problem_mark else 0)
        what = ": ".join(part for part in (error.context, error.problem) if part)
        raise YamlProblem(line, f"not valid YAML: {what}") from None
    except (OverflowError, ValueError):  # PyYAML lets them through
        line = 1 + (loader.line if loader else 0)
        raise YamlProblem(line, "not valid YAML: an escape is out of range") from None
    if root is None:
        raise YamlProblem(1, "the file is empty; expected a mapping with the key 'models'")
    return root


def _scalar(node: yaml.Node) -> object:
    """Return the value of a YAML scalar, or `Odd()` if it is not spelled in the one usual way."""
    spelling, make = _SPELLINGS.get(_yaml_type(node), ("(?!)", str))
    if not isinstance(node, yaml.ScalarNode) or _UNFIT.search(node.value):
        return Odd()
    try:
        return make(node.value) if re.fullmatch(spelling, node.value) else Odd()
    except ValueError:  # no day of the calendar
        return Odd()


def _shows(text: str) -> bool:
    """Return whether anything of a text is seen by who reads it."""
    return any(each != " " and spelled(each) == each for each in text)


def _yaml_type(node: yaml.Node) -> str:
    """Return YAML's name for a node's type, such as str, int, bool, null, timestamp or map."""
    return str(node.tag).removeprefix("tag:yaml.org,2002:")
