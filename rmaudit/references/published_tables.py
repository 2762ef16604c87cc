"""The tables of scores that Christian et al. 2025 and 2026 published, read strictly.

Of tokens, one file a model, `owner--name.csv`: `token_id,token_name,token_decoded,greatest,best,
worst`. Of EloEverything items, one file a prompt, named by it: `elo_rank,elo_score,name,
elo_matches` and a column for each model, named by its hub id. Of words (2026), one file a model and
dictionary, `dictionary_rewards_owner_name`, as CSV or Parquet: `response` and a column for each of
the 54 prompts.

pandas wrote them, and by its defaults reads others than it wrote: "NA", "null" and "nan" become
missing values, and a lone carriage return, which it leaves unquoted, ends a row. Here each of them
is a text like any other. A score is missing only where its field is empty. Python's csv finds the
fields; what it would let pass is refused: a quote within a field without quotes, a quoted number. A
backslash escapes itself if all backslashes of the file stand in pairs, and else nothing: versions
of the authors' program differ there, and a vocabulary has tokens with a single one.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import repeat
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rmaudit.errors import SpecError
from rmaudit.prompts import FAMILY

TOKENS = ("token_id", "token_name", "token_decoded", "greatest", "best", "worst")
ITEMS = ("elo_rank", "elo_score", "name", "elo_matches")  # the models' columns follow
WORDS = "response"  # the prompts' columns follow
PARQUET = ".parquet"
_LFS = "version https://git-lfs.github.com/spec/v1"
_BOM = "\ufeff"
_CR = "\udc0d"  # stands for a carriage return, which csv takes for a row's end; UTF-8 has none
_WHOLE = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_SCORE = "a number, or nothing where there is no score"
_SHOWN = 40  # characters of a wrong field


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published table of scores, its file's path and checksum.

    `frame` has the columns of the file, in its order, and its rows: texts, whole numbers (int64)
    and scores (float32, NaN where the file has none).
    """

    path: Path
    sha256: str
    frame: pd.DataFrame


Kind = Literal["tokens", "items", "words"]
_KINDS: dict[str, Kind] = {TOKENS[0]: "tokens", ITEMS[0]: "items", WORDS: "words"}


def kind(path: Path) -> Kind | None:
    """Return which kind of published table a file is, by its first line; None if it is none.

    Of Parquet, by its columns.

    Raises:
        SpecError: it cannot be read, or is what git-lfs leaves in place of a file.
    """
    try:
        with path.open("rb") as file:
            start = file.read(200).decode("utf-8", "replace").removeprefix(_BOM)
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    if start.startswith(_LFS):
        message = f"{path}:1: a pointer of git-lfs, not the file; get the file with: git lfs pull"
        raise SpecError(message)
    if path.suffix == PARQUET:
        return "words" if WORDS in _parquet_columns(path) else None
    return next((kind for first, kind in _KINDS.items() if start.startswith(first)), None)


def tokens(path: Path) -> PublishedTable:
    """Return the scores of a published CSV file of tokens.

    Raises:
        SpecError: it cannot be read, or anything in it is not as it is written. FILE:LINE.
    """
    file = _StrictCsv(path)
    if tuple(file.header) != TOKENS:
        file.fail(1, f"expected the columns {','.join(TOKENS)}, found {','.join(file.header)}")
    return file.table(
        [
            _whole_number_column,
            _text_column,
            _text_column,
            _score_column,
            _score_column,
            _score_column,
        ],
        unique="token_id",
    )


def items(path: Path) -> PublishedTable:
    """Return the scores of a published CSV file of EloEverything items. Raises as `tokens`."""
    file = _StrictCsv(path)
    models = file.header[len(ITEMS) :]
    if tuple(file.header[: len(ITEMS)]) != ITEMS or not models or not all(models):
        expected = f"{','.join(ITEMS)} and the names of models"
        file.fail(1, f"expected the columns {expected}, found {','.join(file.header)}")
    if twice := [name for name in models if models.count(name) > 1]:
        file.fail(1, f"two columns are called {twice[0]!r}")
    columns: list[_Column] = [
        _whole_number_column,
        _whole_number_column,
        _name_column,
        _whole_number_column,
        *repeat(_score_column, len(models)),
    ]
    return file.table(columns, unique="name")


def words(path: Path) -> PublishedTable:
    """Return the scores of a published file of words: `response`, and 54 prompts by name.

    Raises:
        SpecError: it cannot be read, or a word or a score of it is not as it is written.
    """
    if path.suffix == PARQUET:
        return _words_of_parquet(path)
    file = _StrictCsv(path)
    _refuse_columns(file.header, lambda what: file.fail(1, what))
    return file.table([_name_column, *repeat(_score_column, len(FAMILY))], unique=WORDS)


def _refuse_columns(found: Sequence[str], fail: Callable[[str], NoReturn]) -> None:
    """Call `fail` unless the columns are `response` and the 54 prompts, each once."""
    if found[0] != WORDS or sorted(found[1:]) != sorted(FAMILY):
        odd = sorted({WORDS, *FAMILY}.symmetric_difference(found))
        told = f"wrong or missing: {', '.join(odd[:3])}" if odd else "one stands twice"
        fail(f"expected the columns {WORDS} and the {len(FAMILY)} prompts of the family; {told}")


def _parquet_columns(path: Path) -> list[str]:
    try:
        return list(pq.read_schema(path).names)
    except (OSError, pa.ArrowException) as error:
        raise SpecError(f"{path}: no Parquet that can be read ({type(error).__name__})") from None


def _words_of_parquet(path: Path) -> PublishedTable:
    """Return the scores of a published Parquet file of words, checked as strictly as CSV."""

    def fail(what: str) -> NoReturn:
        raise SpecError(f"{path}: {what}. Import the authors' file as they wrote it") from None

    _refuse_columns(_parquet_columns(path), fail)
    try:
        raw = path.read_bytes()
        frame = pq.read_table(pa.BufferReader(raw)).to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise SpecError(f"{path}: cannot be read ({type(error).__name__})") from None
    if not len(frame):
        fail("expected rows, found none")
    named = frame[WORDS].astype(object)
    texts = named.map(lambda text: isinstance(text, str) and bool(text)).astype(bool)
    wrong = (~texts | named.duplicated()).to_numpy()
    if wrong.any():
        place = int(wrong.argmax())
        what = f"row {place + 1}: {WORDS}: expected a text that is in no other row"
        fail(f"{what}, found {_quoted_start(named[place])}")
    for name in FAMILY:
        scores = frame[name]
        if scores.dtype.kind not in "fiu" or np.isinf(scores.to_numpy(np.float32)).any():
            fail(f"{name}: expected numbers that float32 can hold, found {scores.dtype} or others")
        if scores.isna().all():
            fail(f"{name}: expected a score in some row, found none in any")
    scored = frame.astype(dict.fromkeys(FAMILY, np.float32)).astype({WORDS: object})
    return PublishedTable(path, hashlib.sha256(raw).hexdigest(), scored)


@dataclass(frozen=True)
class _StrictCsv:
    """A CSV file of a published table, read strictly: rows of fields, all of one length."""

    path: Path

    @cached_property
    def raw(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise SpecError(f"{self.path}: cannot be read: {error.strerror}") from None

    @cached_property
    def text(self) -> str:
        try:
            return self.raw.decode().removeprefix(_BOM)
        except UnicodeDecodeError as error:
            self.fail(1 + self.raw.count(b"\n", 0, error.start), "expected UTF-8 text")

    @cached_property
    def end(self) -> str:
        """Return the file's row end, by the first row; a lone carriage return is part of a text."""
        first, found, _ = self.text.partition("\n")
        return f"\r{found}" if first.endswith("\r") else found

    @cached_property
    def header(self) -> list[str]:
        if not self.end:
            self.fail(1, "expected a line of column names and then rows, found no end of a line")
        return self.text.partition(self.end)[0].split(",")

    @cached_property
    def escaped(self) -> bool:
        """Return whether the file escapes backslashes, i.e. has them in pairs only."""
        return all(len(run) % 2 == 0 for run in re.findall(r"\\+", self.text))

    @cached_property
    def starts(self) -> list[int]:
        """Return the line number on which each row begins; `rows` fills the list."""
        return []

    def table(self, columns: Sequence[_Column], *, unique: str) -> PublishedTable:
        fields = list(zip(*self.rows(), strict=True))
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
            first = self.starts[int((frame[unique] == value).to_numpy().argmax())]
            self.fail(
                self.starts[place], f"{unique} {_quoted_start(value)} again, first on line {first}"
            )
        return PublishedTable(self.path, hashlib.sha256(self.raw).hexdigest(), frame)

    def rows(self) -> Iterator[list[str]]:
        """Yield the fields of each row, as written: with their quotes."""
        body = self.text.partition(self.end)[2].replace("\r", _CR)
        lines, end = StringIO(body, newline="\n").readlines(), self.end.replace("\r", _CR)
        reader = csv.reader(lines, strict=True)
        while (start := reader.line_num) < len(lines):
            self.starts.append(2 + start)
            try:
                fields = next(reader)
                row = "".join(lines[start : reader.line_num])
                written = _as_written(fields, row, end)
            except (csv.Error, _StrayQuote):
                found = _quoted_start(lines[start].replace(_CR, "\r")[:_SHOWN])
                what = "expected fields with their quotes closed, or without any"
                self.fail(self.starts[-1], f"{what}, found {found}")
            if not row.endswith("\n"):
                what = "the file ends within this row: it was cut off; get it whole"
                self.fail(self.starts[-1], what)
            if not row.endswith(end):
                self.fail(
                    self.starts[-1], f"expected {self.end!r} at its end, as above, found '\\n'"
                )
            if len(written) != len(self.header):
                what = f"expected {len(self.header)} fields, found {len(written)}"
                self.fail(self.starts[-1], what)
            yield written

    def value(self, field: str) -> str:
        """Return the text of a field, without its quotes and escapes."""
        if field.startswith('"'):
            field = field[1:-1].replace('""', '"')
        return field.replace("\\\\", "\\") if self.escaped else field

    def refuse(self, row: int, name: str, expected: str, found: object) -> NoReturn:
        self.fail(self.starts[row], f"{name}: expected {expected}, found {_quoted_start(found)}")

    def fail(self, line: int, what: str) -> NoReturn:
        message = f"{self.path}:{line}: {what}"
        raise SpecError(f"{message}. Import the authors' file as they wrote it") from None


class _StrayQuote(Exception):  # noqa: N818  (said in full by `_StrictCsv.rows`)
    """Raised where a field without quotes around it has a quote within."""


def _as_written(fields: Sequence[str], row: str, end: str) -> list[str]:
    """Return the fields of a row as written, i.e. with the quotes that csv took off.

    Raises:
        _StrayQuote: one has a quote within it and none around it.
    """
    written, place = [], 0
    for field in fields or [""]:
        quoted = row.startswith('"', place)
        if '"' in field and not quoted:
            raise _StrayQuote
        written.append('"' + field.replace('"', '""') + '"' if quoted else field)
        place += len(written[-1]) + 1
    written[-1] = written[-1].removesuffix(end.removesuffix("\n"))
    return [field.replace(_CR, "\r") for field in written]


# What a column holds: its values, made from the fields as written.
_Column = Callable[[_StrictCsv, str, Sequence[str]], "NDArray[np.generic] | list[str]"]


def _text_column(file: _StrictCsv, name: str, fields: Sequence[str]) -> list[str]:  # noqa: ARG001  (a `_Column`)
    return [file.value(field) for field in fields]


def _name_column(file: _StrictCsv, name: str, fields: Sequence[str]) -> list[str]:
    texts = _text_column(file, name, fields)
    if "" in texts:
        file.refuse(texts.index(""), name, "a name", "")
    return texts


def _whole_number_column(file: _StrictCsv, name: str, fields: Sequence[str]) -> NDArray[np.int64]:
    for row, field in enumerate(fields):
        if not _WHOLE.fullmatch(field):
            file.refuse(row, name, "a whole number", field)
    return np.array(fields, dtype=np.int64)


def _score_column(file: _StrictCsv, name: str, fields: Sequence[str]) -> NDArray[np.float32]:
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


def _quoted_start(found: object) -> str:
    text = str(found)
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
