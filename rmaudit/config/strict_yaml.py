"""YAML read strictly, node by node: what is not plainly right is a `Problem` with its line.

Left to itself YAML keeps the last of two equal keys, turns `no` into False and `1e5` into text,
and lets one place stand for another. Nothing here is constructed but what was asked for by `Kind`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import yaml

from rmaudit.errors import nearest


class Kind(NamedTuple):
    """What one YAML scalar may be: the types that YAML sees, its spelling, and both in words."""

    types: str
    spelling: str
    expected: str
    make: Callable[[str], object] = str.strip


TEXT = Kind("str", r"(?s:.*\S.*)", "text")


class Problem(Exception):  # noqa: N818  (never seen outside: it becomes a SpecError)
    """What is wrong, and at which node or line."""

    def __init__(self, at: yaml.Node | yaml.Event | int, what: str) -> None:
        """`at` is the node, or the number of the line, counted from 1."""
        super().__init__(what)
        self.line = at if isinstance(at, int) else _line(at)


def _line(at: yaml.Node | yaml.Event) -> int:
    return at.start_mark.line + 1 if at.start_mark else 1


def compose(raw: bytes) -> yaml.Node:
    """The root node. Nothing is constructed, and whatever stands for something else is refused.

    Raises:
        Problem: at the line that is not YAML, or has an anchor, an alias or a tag.
    """
    line = 1
    try:
        text = raw.decode()
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            line = _line(event)
            if anchor := getattr(event, "anchor", None):
                raise Problem(event, f"anchors and aliases are refused, got {anchor!r}")
            if tag := getattr(event, "tag", None):
                raise Problem(event, f"tags are refused, got {tag!r}")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise Problem(1 + raw.count(b"\n", 0, error.start), "not UTF-8 text") from None
    except yaml.reader.ReaderError as error:
        line = 1 + text.count("\n", 0, error.position)
        raise Problem(line, "not valid YAML: there is a control character") from None
    except yaml.MarkedYAMLError as error:
        line = 1 + error.problem_mark.line if error.problem_mark else line
        what = ": ".join(part for part in (error.context, error.problem) if part)
        raise Problem(line, f"not valid YAML: {what}") from None
    except (OverflowError, RecursionError, ValueError):  # PyYAML lets them through
        raise Problem(line, "not valid YAML: an escape or a nesting goes too far") from None
    if root is None:
        raise Problem(1, "the file is empty; expected a mapping with the key 'models'")
    return root


def pairs_of(
    node: yaml.Node, label: str, expected: str, kind: Kind = TEXT, *, keys: Iterable[str] = ()
) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """A mapping's keys, each with the nodes of key and value. Only `keys` are allowed, if given."""
    if not isinstance(node, yaml.MappingNode):
        raise Problem(node, f"{label}expected {expected}, got {found(node)}")
    pairs: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for key_node, value in node.value:
        key = scalar(key_node, kind, label)
        if key in pairs:
            first = _line(pairs[key][0])
            raise Problem(key_node, f"{label}duplicate key {key!r}, first on line {first}")
        if keys and key not in keys:
            near, allowed = nearest(key, keys), ", ".join(keys)
            raise Problem(key_node, f"{label}unknown key {key!r};{near} allowed: {allowed}")
        pairs[key] = (key_node, value)
    return pairs


def scalar(node: yaml.Node, kind: Kind, label: str) -> Any:  # noqa: ANN401
    """The value of a text, number or bool that is as `kind` says."""
    if _seen(node) in kind.types.split() and re.fullmatch(kind.spelling, node.value):
        return kind.make(node.value)
    hint = "; quote a text that holds ': '" if _seen(node) == "map" else ""
    raise Problem(node, f"{label}expected {kind.expected}, got {found(node)}{hint}")


def found(node: yaml.Node) -> str:
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
