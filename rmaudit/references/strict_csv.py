"""Read the authors' CSV files strictly, as they were written.

pandas wrote these files, and by its defaults reads others than it wrote: "NA", "null" and "nan"
become missing values, and a lone carriage return, which it leaves unquoted, ends a row. Here each
of them is a text like any other. A score is missing only where its field is empty. Python's csv
finds the fields; what it would let pass is refused: a quote within a field without quotes, a quoted
number. A backslash escapes itself if all backslashes of the file stand in pairs, and else nothing:
versions of the authors' program differ there, and a vocabulary has tokens with a single one.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import SpecError

BOM = "\ufeff"
_CR = "\udc0d"  # stands for a carriage return, which csv takes for a row's end; UTF-8 has none
_WHOLE = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_SCORE = "a number, or nothing where there is no score"
_LONGEST_SHOWN = 40  # characters of a wrong field


class StrictCsv:
    """A CSV file that is read strictly: a line of column names, and rows of as many fields.

    A row ends as that line does: with LF, or with CR and LF. A lone carriage return is part of a
    text.

    Attributes:
        path: the file.
        sha256: of its bytes.
        header: the names of the columns.
    """

    def __init__(self, path: Path) -> None:
        """Read the file; raise SpecError if it is no UTF-8 text that begins with a line."""
        self.path = path
        self._starts: list[int] = []  # the lines on which rows begin; `_rows` fills it
        try:
            raw = path.read_bytes()
            text = raw.decode().removeprefix(BOM)
        except OSError as error:
            raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            self.fail(1 + raw.count(b"\n", 0, error.start), "expected UTF-8 text")
        first, newline, self._body = text.partition("\n")
        if not newline:
            self.fail(1, "expected a line of column names and then rows, found no end of a line")
        self._end = "\r\n" if first.endswith("\r") else "\n"
        self.header = first.removesuffix("\r").split(",")
        self.sha256 = hashlib.sha256(raw).hexdigest()
        # Escaped are backslashes that stand in pairs only.
        self._escaped = all(len(run) % 2 == 0 for run in re.findall(r"\\+", text))

    def frame(self, columns: Sequence[Column], *, unique: str) -> pd.DataFrame:
        """Return the rows as a table, converted by `columns`; fail if `unique` has duplicates."""
        fields = list(zip(*self._rows(), strict=True))
        if not fields:
            self.fail(2, "expected rows, found none")
        made = {
            name: column(self, name, values)
            for name, column, values in zip(self.header, columns, fields, strict=True)
        }
        frame = pd.DataFrame(made)
        again = frame[unique].duplicated().to_numpy()
        if again.any():
            place = int(again.argmax())
            value = frame[unique][place]
            first = self._starts[int((frame[unique] == value).to_numpy().argmax())]
            what = f"{unique} {quoted_start(value)} again, first on line {first}"
            self.fail(self._starts[place], what)
        return frame

    def _rows(self) -> Iterator[list[str]]:
        """Yield the fields of each row, as written: with their quotes."""
        lines = StringIO(self._body.replace("\r", _CR), newline="\n").readlines()
        end = self._end.replace("\r", _CR)
        reader = csv.reader(lines, strict=True)
        while (start := reader.line_num) < len(lines):
            self._starts.append(line := 2 + start)
            try:
                fields = next(reader)
                row = "".join(lines[start : reader.line_num])
                written = _as_written(fields, row, end)
            except csv.Error:
                found = quoted_start(lines[start].replace(_CR, "\r")[:_LONGEST_SHOWN])
                what = "expected fields with their quotes closed, or without any"
                self.fail(line, f"{what}, found {found}")
            if not row.endswith("\n"):
                self.fail(line, "the file ends within this row: it was cut off; get it whole")
            if not row.endswith(end):
                self.fail(line, f"expected {self._end!r} at its end, as above, found '\\n'")
            if len(written) != len(self.header):
                self.fail(line, f"expected {len(self.header)} fields, found {len(written)}")
            yield written

    def value(self, field: str) -> str:
        """Return the text of a field, without its quotes and escapes."""
        if field.startswith('"'):
            field = field[1:-1].replace('""', '"')
        return field.replace("\\\\", "\\") if self._escaped else field

    def refuse(self, row: int, name: str, expected: str, found: object) -> NoReturn:
        """Raise SpecError: column `name` of a row has `found`, where `expected` should be."""
        self.fail(self._starts[row], f"{name}: expected {expected}, found {quoted_start(found)}")

    def fail(self, line: int, what: str) -> NoReturn:
        """Raise SpecError that names the file, the line, and what is wrong with it."""
        message = f"{self.path}:{line}: {what}"
        raise SpecError(f"{message}. Import the authors' file as they wrote it") from None


def _as_written(fields: Sequence[str], row: str, end: str) -> list[str]:
    """Return a row's fields with the quotes that csv took off; raise csv.Error at others.

    Raises:
        csv.Error: one has a quote within it and none around it.
    """
    written, place = [], 0
    for field in fields or [""]:
        quoted = row.startswith('"', place)
        if '"' in field and not quoted:
            raise csv.Error
        written.append('"' + field.replace('"', '""') + '"' if quoted else field)
        place += len(written[-1]) + 1
    written[-1] = written[-1].removesuffix(end.removesuffix("\n"))
    return [field.replace(_CR, "\r") for field in written]


# What a column holds: its values, made from the fields as written.
Column = Callable[[StrictCsv, str, Sequence[str]], "NDArray[np.generic] | list[str]"]


def as_texts(file: StrictCsv, name: str, fields: Sequence[str]) -> list[str]:  # noqa: ARG001  (a `Column`)
    """Return a column's fields as texts, without quotes and escapes."""
    return [file.value(field) for field in fields]


def as_names(file: StrictCsv, name: str, fields: Sequence[str]) -> list[str]:
    """Return a column's fields as texts; raise SpecError if one is empty."""
    texts = as_texts(file, name, fields)
    if "" in texts:
        file.refuse(texts.index(""), name, "a name", "")
    return texts


def as_integers(file: StrictCsv, name: str, fields: Sequence[str]) -> NDArray[np.int64]:
    """Return a column's fields as whole numbers, shape (n,); raise SpecError if one is none."""
    for row, field in enumerate(fields):
        if not _WHOLE.fullmatch(field):
            file.refuse(row, name, "a whole number", field)
    return np.array(fields, dtype=np.int64)


def as_scores(file: StrictCsv, name: str, fields: Sequence[str]) -> NDArray[np.float32]:
    """Return a column's fields as float32 scores, NaN where empty; raise SpecError if unusable."""
    for row, field in enumerate(fields):
        if field and not _NUMBER.fullmatch(field):
            file.refuse(row, name, _SCORE, field)
    with np.errstate(over="ignore"):
        scores = np.array([float(field or "nan") for field in fields]).astype(np.float32)
    if np.isnan(scores).all():
        file.refuse(0, name, "a score in some row", "none in any")
    if np.isinf(scores).any():
        row = int(np.isinf(scores).argmax())
        file.refuse(row, name, "a number that float32 can hold", fields[row])
    return scores


def quoted_start(found: object) -> str:
    """Return a value in quotes for an error message, cut short if it is long."""
    text = str(found)
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…")
