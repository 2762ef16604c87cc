"""Read JSON Lines strictly, one object a line; errors name the file and the line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rmaudit import conversation
from rmaudit.checkpoints.third_party_errors import short
from rmaudit.errors import SpecError

LONGEST = 200_000  # characters of a prompt or an answer: more is a slip, or does not fit a model


def objects(path: Path, *, allowed: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) for each line that is not blank; raise if it is no object.

    `allowed` says in words what an object is, for errors.

    Raises:
        SpecError: the file cannot be read, or FILE:LINE is no JSON object.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error}); give a JSON Lines file"
        raise SpecError(message) from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found: Any = json.loads(line, object_pairs_hook=_without_doubles)
        except (ValueError, RecursionError) as error:
            message = f"{path}:{number}: no JSON ({error}); each line is one object"
            raise SpecError(message) from None
        if not isinstance(found, dict):
            raise SpecError(f"{path}:{number}: {shown(found)}, allowed: {allowed}")
        yield number, found


def _without_doubles(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object's fields as a dict; raise ValueError if a name occurs twice."""
    found = dict(fields)
    if len(found) < len(fields):
        names = [name for name, _ in fields]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{shown(twice)} stands twice in one object")
    return found


def text(value: object, what: str) -> str:
    """Return `value` if it is a str of at most `LONGEST` whole characters, else raise.

    `what` names the value in the error. A surrogate alone is half a character.

    Raises:
        SpecError: it is no str, is too long, or has half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise SpecError(f"{what} is {shown(value)}, allowed: a text")
    if len(value) > LONGEST:
        message = f"{what} has {len(value):,} characters, allowed: up to {LONGEST:,}; cut it, or "
        raise SpecError(f"{message}leave it out")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SpecError(f"{what} has half a character, {shown(value)}; write it whole") from None
    return value


def prompt_columns(value: object, what: str) -> tuple[str, str]:
    """Return a prompt (a text or a list of turns) as its text and its turns in JSON, "" for a text.

    A list of one turn counts as the text of that turn: models are given the same, so the key is the
    same. `what` names the prompt in errors.

    Raises:
        SpecError: the prompt is neither, or too long.
    """
    if not isinstance(value, list):
        return text(value, what), ""
    given = conversation.turns(value, f"{what}: ")
    prompt, turns = conversation.columns(given if len(given) > 1 else given[0][1])
    return text(prompt, what), turns


def shown(value: object) -> str:
    """Return a value as errors show it: its repr, cut short."""
    return short(repr(value))


_FORMS = "allowed: JSON Lines (.jsonl), a list of objects (.json), or Parquet (.parquet)"


def rows(path: Path, *, allowed: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number (from 1) and the dict of each row of a JSON Lines, JSON or Parquet file.

    A row is a line of JSON Lines, an element of the list in a file that ends in .json, or a row of
    one that ends in .parquet. `allowed` says in words what an object is, for errors.

    Raises:
        SpecError: the file cannot be read as what its ending says, or FILE:ROW is no object.
    """
    ending = path.suffix.lower()
    if ending == ".parquet":
        yield from enumerate(_parquet_rows(path), start=1)
    elif ending == ".json" and (found := _json_list(path)) is not None:
        for number, row in enumerate(found, start=1):
            if not isinstance(row, dict):
                raise SpecError(f"{path}:{number}: {shown(row)}, allowed: {allowed}")
            yield number, row
    else:
        yield from objects(path, allowed=allowed)


def _json_list(path: Path) -> list[Any] | None:
    """Return the list in a JSON file; None (as for JSON Lines) if it does not begin with "["."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SpecError(f"{path}: cannot be read ({error.strerror or error}); {_FORMS}") from None
    if not text.lstrip().startswith(b"["):
        return None
    try:
        found: list[Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path}: no JSON ({short(str(error))}); {_FORMS}") from None
    return found


def _parquet_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            return [dict(row) for row in file.read().to_pylist()]
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        first = short(str(error).partition("\n")[0])
        raise SpecError(f"{path}: cannot be read as Parquet ({first}); {_FORMS}") from None
