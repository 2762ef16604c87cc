"""The JSON Schema of results.json, and what is wrong with one that does not keep it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

_FILE = Path(__file__).parent / "results.schema.json"
_LONGEST = 60  # characters of a value that an error quotes


def fault(results: Mapping[str, Any]) -> str:
    """The first thing wrong, for example `findings[3].verdict is "MAYBE", allowed: "PASS" ...`.

    Returns "" if there is none. Beyond the schema, findings name listed models, no two models have
    one name and histograms have an edge more than counts.
    """
    from jsonschema.exceptions import best_match

    worst = best_match(_validator().iter_errors(results))
    return _across(results) if worst is None else _told(worst)


@cache
def _validator() -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(_FILE.read_text(encoding="utf-8")))


def _across(results: Mapping[str, Any]) -> str:
    """What a schema cannot say: how the parts hang together."""
    names = [model["name"] for model in results["models"]]
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        return f"models: two are named {_quoted(twice[0])}, allowed: one of a name"
    for i, model in enumerate(results["models"]):
        for j, sweep in enumerate(model["sweeps"]):
            counts, edges = (len(sweep["histogram"][key]) for key in ("counts", "edges"))
            if edges != counts + 1:
                where = f"models[{i}].sweeps[{j}].histogram"
                return f"{where} has {edges} edges and {counts} counts, allowed: one edge more"
    for i, finding in enumerate(results["findings"]):
        model = finding.get("claim", {}).get("model")
        if model not in names:
            listed = ", ".join(map(_quoted, names))
            return f"findings[{i}].claim.model is {_quoted(model)}, allowed: {listed}"
    return ""


def _told(error: ValidationError) -> str:
    """One line: the path, what stands there, and what may."""
    where = _path(error.absolute_path)
    rule, found, allowed, schema = (
        cast("Any", part)  # or unset, which an error of a validator never is
        for part in (error.validator, error.instance, error.validator_value, error.schema)
    )
    if rule == "required":
        missing = next(name for name in allowed if name not in found)
        return f"{where} has no {_quoted(missing)}"
    if rule == "dependentRequired":
        name, lacks = next(
            (name, need) for name in found for need in allowed.get(name, ()) if need not in found
        )
        return f"{where} has {_quoted(name)}, but no {_quoted(lacks)}"
    if rule == "additionalProperties" and allowed is False:
        unknown = next(name for name in found if name not in schema["properties"])
        known = ", ".join(sorted(schema["properties"]))
        return f"{where} has {_quoted(unknown)}, allowed: {known}"
    said = {"type": _types, "enum": _listed, "const": _quoted}.get(rule)
    return f"{where} is {_quoted(found)}, allowed: {said(allowed) if said else f'{rule} {allowed}'}"


def _path(steps: Iterable[str | int]) -> str:
    """For example `findings[3].estimate.value`."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{_plain(step)}" for step in steps)
    return path.removeprefix(".") or "the file"


def _plain(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else _quoted(name)


def _types(allowed: str | list[str]) -> str:
    return allowed if isinstance(allowed, str) else " or ".join(allowed)


def _listed(allowed: list[Any]) -> str:
    return ", ".join(map(_quoted, allowed))


def _quoted(value: object) -> str:
    """A value as JSON writes it in ASCII, so that nothing in a file reaches a terminal raw."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
