r"""Write dataclasses as JSON text, and read them back strictly, with errors of one line.

Text is ASCII. Lone surrogates, which no strict reader of JSON takes, are spelled out (`\ud800`)
as they are read, in keys and values alike.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rmaudit.errors import EvidenceError, ResultsError
from rmaudit.verdicts.plain_python_values import LARGEST

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import ConfigDict, TypeAdapter
    from pydantic_core import ErrorDetails

_Typed = TypeVar("_Typed")
_LONGEST = 60  # characters of a value that an error quotes
_HALF_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # of a surrogate pair, as JSON spells it
_UNION = ("union_tag_invalid", "union_tag_not_found")
CONFIG: ConfigDict = {
    "extra": "forbid",
    "strict": True,
    "allow_inf_nan": False,
    "json_schema_serialization_defaults_required": True,
}


def encode(value: DataclassInstance, indent: int | None = None) -> str:
    """Return a dataclass as ASCII JSON text, on one line or indented; raise for NaN, infinities.

    Raises:
        ValueError: it holds a NaN or an infinity.
    """
    return json.dumps(value, indent=indent, ensure_ascii=True, allow_nan=False, default=_as_json)


def _as_json(value: DataclassInstance | date) -> Any:  # noqa: ANN401  (JSON)
    """Return a dataclass as its fields by name, and a day in ISO 8601."""
    if isinstance(value, date):
        return value.isoformat()
    return {each.name: getattr(value, each.name) for each in fields(value)}


def decode(kind: type[_Typed], text: str) -> _Typed:
    """Parse JSON text into a value of type `kind`; no key may be missing or unknown.

    Raises:
        ResultsError: the text holds no such value; one line with place, found and allowed value.
    """
    return typed(kind, parsed(text))


def parsed(text: str) -> Any:  # noqa: ANN401  (JSON)
    """Parse a text as strict JSON; raise for a NaN, an infinity, or a key twice in one object.

    Raises:
        ResultsError: it is no JSON, or has NaN, infinities, or one key twice.
    """
    try:
        return json.loads(
            text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_without_repeats
        )
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"not JSON ({error})") from error


def typed(kind: type[_Typed], found: Any) -> _Typed:  # noqa: ANN401  (JSON)
    """Convert parsed JSON strictly to a `kind`; keys with defaults may not be missing, either.

    Raises:
        ResultsError: the JSON is no such value: a key is unknown, missing or wrong.
    """
    from pydantic import ValidationError

    text = json.dumps([found])
    if _HALF_SURROGATE.search(text):
        found = _without_surrogates(found)
        text = json.dumps([found])
    try:
        value: _Typed = _adapter(cast("Hashable", kind)).validate_json(text)[0]
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise ResultsError(_error_in_words(details, found)) from error
    if wrong := _incomplete(value, found, ()):
        raise ResultsError(wrong)
    return value


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    """Return a pydantic parser of lists of `kind`."""
    from pydantic import TypeAdapter

    from rmaudit import measures

    measures.load()  # its kinds of evidence are read back by their names
    return TypeAdapter(list[kind], config=CONFIG)  # type: ignore[valid-type]


def _finite(written: str) -> float:
    """Parse a number of a JSON text; raise for NaN, infinities and 1e999, which Python accepts."""
    number = float(written)
    if not math.isfinite(number):
        message = f"{written} is no finite number"
        raise ValueError(message)
    return number


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        message = f"the key {quoted(twice)} stands twice in one object"
        raise ValueError(message)
    return found


def _without_surrogates(value: Any) -> Any:  # noqa: ANN401  (JSON)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _error_in_words(details: Sequence[ErrorDetails], found: object) -> str:
    """Describe pydantic's first error in a sentence: the place, what is there, what is allowed."""
    first = details[0]
    kind, steps = first["type"], _steps(first["loc"][1:], found)
    if kind in ("missing", "missing_argument"):
        return f"{path(steps)} has no {quoted(first['loc'][-1])}"
    if kind.startswith("unexpected_"):
        return (
            f"{path(steps[:-1])} has {quoted(steps[-1])}, which no rmaudit of this version writes"
        )
    said = first["msg"].removeprefix("Value error, ")
    if kind == "value_error" and isinstance(error := first["ctx"]["error"], EvidenceError):
        return f"{path(steps)}.{error.fault}"
    if kind == "value_error":
        return f"{path(steps)}: {said}"
    if kind in _UNION:
        tags = first.get("ctx", {}).get("expected_tags", "a known kind")
        return f"{path(steps)}.kind is unknown or missing, allowed: {tags}"
    same = [each["msg"] for each in details if _steps(each["loc"][1:], found) == steps]
    allowed = " or ".join(dict.fromkeys(msg.removeprefix("Input should be ") for msg in same))
    return f"{path(steps)} is {quoted(first['input'])}, allowed: {allowed}"


def _steps(loc: Sequence[str | int], found: Any) -> tuple[str | int, ...]:  # noqa: ANN401  (JSON)
    """Return pydantic's error location as a path in the JSON, without pydantic's names of types."""
    steps: list[str | int] = []
    for step in loc:
        try:
            found = found[step]
        except (TypeError, KeyError, IndexError):
            continue
        steps.append(step)
    return tuple(steps)


def _incomplete(value: object, found: Any, steps: tuple[str | int, ...]) -> str:  # noqa: ANN401  (JSON)
    """Describe the first key that is missing or number that is too large; or ""."""
    if is_dataclass(value):
        for name in (field.name for field in fields(value)):
            if name not in found:
                return f"{path(steps)} has no {quoted(name)}"
            if wrong := _incomplete(getattr(value, name), found[name], (*steps, name)):
                return wrong
        return ""
    if isinstance(value, Mapping):
        parts: Iterable[tuple[str | int, object]] = value.items()
    elif isinstance(value, tuple | list):
        parts = enumerate(value)
    else:
        large = isinstance(value, int | float) and not abs(value) <= LARGEST
        return f"{path(steps)} is {quoted(found)}, allowed: up to ±{LARGEST:g}" if large else ""
    every = (_incomplete(part, found[step], (*steps, step)) for step, part in parts)
    return next((wrong for wrong in every if wrong), "")


def path(steps: Iterable[str | int]) -> str:
    """Format keys and indices into JSON as a path, such as `findings[3].estimate.value`."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{_path_key(step)}" for step in steps)
    return "".join(parts).removeprefix(".") or "the file"


def _path_key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else quoted(name)


def quoted(value: object) -> str:
    """Quote a value as ASCII JSON, cut to 60 characters, for an error message on a terminal.

    So no control character of a file reaches the terminal.
    """
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
