"""Read users' own lexicons and rankings, CSV or Parquet, strictly; errors name the line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from rmaudit.errors import SpecError

Row = tuple[str, dict[str, str]]  # where it stands, and what it says by column
_LONGEST = 60  # characters of what is found that an error shows


@dataclass(frozen=True)
class Lexicon:
    """A user's lexicon: values by word, and how many entries, such as phrases, were left out."""

    valence: pd.Series[float]
    left_out: int


@lru_cache(maxsize=8)
def lexicon(file: Path, scale: tuple[float, float] | None, key: str) -> Lexicon:  # noqa: ARG001  (what it is remembered by)
    """Read a lexicon file of columns `word` and `value` (within `scale`); cached by all arguments.

    `key` changes with the file. What is no single word of letters is left out, and counted. Upper
    and lower case are one.

    Raises:
        SpecError: a value is no finite number or outside of `scale`, a word is empty or stands
            there twice, or there is none. FILE:LINE.
    """
    found: dict[str, float] = {}
    seen: dict[str, str] = {}
    left_out = 0
    for where, row in _rows_of_file(file, ("word", "value")):
        word = _nonempty(row["word"], "word", where).casefold()
        value = _finite_number(row["value"], "value", where)
        if scale and not scale[0] <= value <= scale[1]:
            allowed = f"from {scale[0]:g} to {scale[1]:g} (its scale)"
            raise SpecError(f"{where}: value: expected a number {allowed}, found {row['value']}")
        _refuse_twice(word, "word", where, seen)
        if word.isalpha():
            found[word] = value
        else:
            left_out += 1
    if not found:
        message = f"{file}: it has no single word of letters; give a line for each word, such as "
        raise SpecError(f"{message}liebe,8.1")
    words = sorted(found)
    values = pd.Series([found[word] for word in words], index=pd.Index(words, dtype="str"))
    return Lexicon(values.astype(float).rename(file.stem), left_out)


@lru_cache(maxsize=8)
def ranking(file: Path, key: str) -> pd.DataFrame:  # noqa: ARG001  (what it is remembered by)
    """Read a ranking as a table of `name` and `elo` (rating); cached by path and `key`.

    The file has the columns `item` and `rating`; others are not read.

    Raises:
        SpecError: a rating is no number, an item is empty or stands there twice, or there is none.
            FILE:LINE.
    """
    rows: list[tuple[str, float]] = []
    seen: dict[str, str] = {}
    for where, row in _rows_of_file(file, ("item", "rating")):
        item = _nonempty(row["item"], "item", where)
        _refuse_twice(item, "item", where, seen)
        rows.append((item, _finite_number(row["rating"], "rating", where)))
    if not rows:
        raise SpecError(f"{file}: it has no rows; give a line for each item, such as Wasser,1840")
    return pd.DataFrame(rows, columns=["name", "elo"])


def _rows_of_file(file: Path, needed: tuple[str, ...]) -> Iterator[Row]:
    """Yield each row's place (FILE:LINE) and its texts by column, of the columns `needed`."""
    try:
        yield from (_rows_of_csv if file.suffix == ".csv" else _rows_of_parquet)(file, needed)
    except OSError as error:
        raise SpecError(f"{file}: cannot be read: {error.strerror or error}") from None


def _rows_of_csv(file: Path, needed: tuple[str, ...]) -> Iterator[Row]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, strict=True)
            header = next(reader, [])
            places = _column_places(file, header, needed)
            for row in reader:
                where = f"{file}:{reader.line_num}"
                if not row:
                    continue  # an empty line
                if len(row) != len(header):
                    message = f"{where}: expected {len(header)} fields, found {len(row)}; quote a "
                    raise SpecError(f"{message}text that holds a comma")
                yield where, {name: row[place] for name, place in places.items()}
    except UnicodeDecodeError:
        raise SpecError(f"{file}: not UTF-8 text; save it as UTF-8") from None
    except csv.Error as error:
        raise SpecError(f"{file}:{reader.line_num}: not valid CSV: {error}") from None


def _rows_of_parquet(file: Path, needed: tuple[str, ...]) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file).to_pydict()
    except (pa.ArrowException, ValueError) as error:
        found = str(error).splitlines()[0]
        raise SpecError(f"{file}: not a Parquet file that can be read: {found}") from None
    places = _column_places(file, list(table), needed)
    columns = [table[name] for name in places]
    for number, row in enumerate(zip(*columns, strict=True), 1):
        texts = ("" if value is None else str(value) for value in row)
        yield f"{file}: row {number}", dict(zip(places, texts, strict=True))


def _column_places(file: Path, header: list[str], needed: tuple[str, ...]) -> dict[str, int]:
    """Return the needed columns' indices by name; raise SpecError if one is missing."""
    names = [name.strip() for name in header]
    if missing := [name for name in needed if name not in names]:
        found = ", ".join(names)[:_LONGEST] or "nothing"
        message = f"{file}:1: expected the columns {', '.join(needed)}"
        raise SpecError(f"{message}; {missing[0]} is missing, found {found}")
    return {name: names.index(name) for name in needed}


def _nonempty(text: str, column: str, where: str) -> str:
    if not text.strip():
        raise SpecError(f"{where}: {column}: expected a text, found nothing")
    return text.strip()


def _finite_number(text: str, column: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        found = repr(text[:_LONGEST]) if text else "nothing"
        raise SpecError(f"{where}: {column}: expected a number such as 6.5, found {found}")
    return value


def _refuse_twice(name: str, column: str, where: str, seen: dict[str, str]) -> None:
    first = seen.setdefault(name, where)
    if first != where:
        line = first.rpartition(":")[2].strip()
        message = f"{where}: {column}: {name[:_LONGEST]!r} stands there twice, first on "
        raise SpecError(f"{message}{line if line.startswith('row') else f'line {line}'}; keep one")
