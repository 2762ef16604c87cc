"""Read the rows of a JSON Lines, JSON or Parquet file as dicts; the file's ending says which."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.errors import SpecError
from rmaudit.scores.json_lines import objects, shown

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
