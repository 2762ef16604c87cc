"""Turn pydantic's validation errors into one-line messages about a YAML file."""

from __future__ import annotations

import re
from types import UnionType
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from rmaudit.config import strict_yaml
from rmaudit.config.model_spec import Key
from rmaudit.config.models_yaml_schema import Strict
from rmaudit.config.strict_yaml import Document, YamlProblem, described, label
from rmaudit.errors import nearest


def validated(document: Document, root: type[Strict]) -> dict[str, Any]:
    """Return the values of a document by key, as `root` types them.

    Raises:
        YamlProblem: pydantic finds errors; it is the one on the earliest line, and one about a
            missing key only if there is no other, for that key may be misspelt.
    """
    try:
        return dict(root.model_validate(document.value))
    except ValidationError as wrong:
        errors = wrong.errors()
        problems = [_problem(error, document, root) for error in errors]
        at = [
            (error["type"] == "missing", p.line) for error, p in zip(errors, problems, strict=True)
        ]
        raise problems[at.index(min(at))] from None


def _problem(error: ErrorDetails, document: Document, root: type[Strict]) -> YamlProblem:
    of_key, path = error["loc"][-1:] == ("[key]",), error["loc"]
    path = path[:-1] if of_key else path
    if error["type"] == "missing":
        above = path[:-1]
        (key,) = path[-1:]
        what = f"the key {key!r} is missing; expected {_value_meant(above, str(key), root)}"
        return document.problem(above, what, of_key=True)
    key_node, node = document.nodes[path]
    if error["type"] == "extra_forbidden":
        key, allowed = str(path[-1]), _type_at(path[:-1], root).model_fields
        what = f"unknown key {strict_yaml.short(key)};{nearest(key, allowed)}"
        what += f" allowed: {', '.join(allowed)}"
        return YamlProblem(key_node, f"{label(path[:-1])}{what}")
    if error["type"] == "said":
        return document.problem(path, error["msg"])
    at, where = (key_node, path[:-1]) if of_key else (node, path)
    if error["type"] == "bool_type" and (meant := strict_yaml.bool_word(at)):
        what = f"expected true or false, got {at.value}, which YAML reads as {meant}; this file "
        return YamlProblem(at, f"{label(where)}{what}takes only these two words: write {meant}")
    hint = "; quote a text that holds ': '" if described(at) == "a mapping" else ""
    if error["type"] == "string_type" and strict_yaml.unquoted(at):
        hint = "; put it in quotes"
    return YamlProblem(
        at, f"{label(where)}expected {_allowed_in_words(error, root)}, got {described(at)}{hint}"
    )


def _allowed_in_words(error: ErrorDetails, root: type[Strict]) -> str:
    """Describe in words which value is allowed where a pydantic error occurred."""
    kind, context, path = error["type"], error.get("ctx", {}), error["loc"]
    if kind == "allowed":
        return str(context["allowed"])
    if kind in ("literal_error", "enum"):
        choices = re.findall("'([^']*)'", context["expected"])
        return f"one of {', '.join(choices)}"
    if kind == "model_type":
        return _a_mapping(path, root)
    return _TYPES[kind]


_TYPES = {
    "string_type": "text",
    "bool_type": "true or false",
    "float_type": "a number, such as -0.25",
    "date_type": "a day, such as 2030-01-31",
    "tuple_type": "a list of texts",
    "dict_type": "a mapping of names to what is said of each",
}


def _value_meant(path: strict_yaml.Path, key: str, root: type[Strict]) -> str:
    """Describe in words the value that the missing key `key` at `path` should have."""
    said = _type_at(path, root).model_fields[key].metadata
    return next((key.allowed for key in said if isinstance(key, Key)), "") or _a_mapping(path, root)


def _a_mapping(path: strict_yaml.Path, root: type[Strict]) -> str:
    """Describe the mapping that is expected at a path, such as `a mapping with the key file`."""
    keys = _type_at(path, root).model_fields
    needed = [name for name, key in keys.items() if key.is_required()] or list(keys)
    return f"a mapping with the key{'s' * (len(needed) > 1)} {', '.join(needed)}"


def _type_at(path: strict_yaml.Path, root: type[Strict]) -> type[Strict]:
    """Return the pydantic type of the mapping at a path of YAML keys."""
    at: Any = root
    for key in path:
        named = get_origin(at) is dict  # a mapping of names, of which each value has one type
        at = get_args(at)[1] if named else at.model_fields[key].annotation
        if isinstance(at, UnionType):  # with None
            at = get_args(at)[0]
    found: type[Strict] = at
    return found
