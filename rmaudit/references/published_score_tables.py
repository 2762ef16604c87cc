"""Read strictly the tables of scores that Christian et al. 2025 and 2026 published.

Of tokens, one file a model, `owner--name.csv`: `token_id,token_name,token_decoded,greatest,best,
worst`. Of EloEverything items, one file a prompt, named by it: `elo_rank,elo_score,name,
elo_matches` and a column for each model, named by its hub id. Of words (2026), one file a model and
dictionary, `dictionary_rewards_owner_name`, as CSV or Parquet: `response` and a column for each of
the 54 prompts. Those are of the nouns of the Big Two and of the Moral Foundations Dictionary 2.0;
their repository states no licence, so nothing here downloads them: a user clones it
(github.com/brchristian/reward_models_inherit_value_biases_from_pretraining) and imports the folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rmaudit.errors import SpecError
from rmaudit.prompts import FAMILY
from rmaudit.references.strict_csv import (
    BOM,
    Column,
    StrictCsv,
    as_integers,
    as_names,
    as_scores,
    as_texts,
    quoted_start,
)

TOKENS = ("token_id", "token_name", "token_decoded", "greatest", "best", "worst")
ITEMS = ("elo_rank", "elo_score", "name", "elo_matches")  # the models' columns follow
WORDS = "response"  # the prompts' columns follow
PARQUET = ".parquet"
MIRROR = "big2_mfd"  # below RMAUDIT_DATA: scores of words
_LFS = "version https://git-lfs.github.com/spec/v1"


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
    """Return the kind of published table in a file, by its first line; None if it is no such table.

    A Parquet file is recognised by its columns.

    Raises:
        SpecError: it cannot be read, or is what git-lfs leaves in place of a file.
    """
    try:
        with path.open("rb") as file:
            start = file.read(200).decode("utf-8", "replace").removeprefix(BOM)
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    if start.startswith(_LFS):
        message = f"{path}:1: a pointer of git-lfs, not the file; get the file with: git lfs pull"
        raise SpecError(message)
    if path.suffix == PARQUET:
        return "words" if WORDS in _parquet_columns(path) else None
    return next((kind for first, kind in _KINDS.items() if start.startswith(first)), None)


def tokens(path: Path) -> PublishedTable:
    """Read a published CSV file of scores of tokens, under three prompts.

    Raises:
        SpecError: it cannot be read, or anything in it is not as it is written. FILE:LINE.
    """
    file = StrictCsv(path)
    if tuple(file.header) != TOKENS:
        file.fail(1, f"expected the columns {','.join(TOKENS)}, found {','.join(file.header)}")
    return _table(file, [as_integers, as_texts, as_texts, *repeat(as_scores, 3)], "token_id")


def items(path: Path) -> PublishedTable:
    """Read a published CSV file of scores of EloEverything items. Raises as `tokens`."""
    file = StrictCsv(path)
    models = file.header[len(ITEMS) :]
    if tuple(file.header[: len(ITEMS)]) != ITEMS or not models or not all(models):
        expected = f"{','.join(ITEMS)} and the names of models"
        file.fail(1, f"expected the columns {expected}, found {','.join(file.header)}")
    if twice := [name for name in models if models.count(name) > 1]:
        file.fail(1, f"two columns are called {twice[0]!r}")
    known: list[Column] = [as_integers, as_integers, as_names, as_integers]
    return _table(file, [*known, *repeat(as_scores, len(models))], "name")


def words(path: Path) -> PublishedTable:
    """Read a published file of scores of words: `response`, and a column for each of 54 prompts.

    Raises:
        SpecError: it cannot be read, or a word or a score of it is not as it is written.
    """
    if path.suffix == PARQUET:
        return _words_of_parquet(path)
    file = StrictCsv(path)
    _refuse_columns(file.header, lambda what: file.fail(1, what))
    return _table(file, [as_names, *repeat(as_scores, len(FAMILY))], WORDS)


def _table(file: StrictCsv, columns: Sequence[Column], unique: str) -> PublishedTable:
    return PublishedTable(file.path, file.sha256, file.frame(columns, unique=unique))


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
    """Read a published Parquet file of scores of words, checked as strictly as CSV."""

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
        fail(f"{what}, found {quoted_start(named[place])}")
    for name in FAMILY:
        scores = frame[name]
        if scores.dtype.kind not in "fiu" or np.isinf(scores.to_numpy(np.float32)).any():
            fail(f"{name}: expected numbers that float32 can hold, found {scores.dtype} or others")
        if scores.isna().all():
            fail(f"{name}: expected a score in some row, found none in any")
    scored = frame.astype(dict.fromkeys(FAMILY, np.float32)).astype({WORDS: object})
    return PublishedTable(path, hashlib.sha256(raw).hexdigest(), scored)


def model_in_name(path: Path) -> str:
    """Return the hub id, as `stem_of` writes it, in the name of a file of word scores; "" if none.

    The dictionary before it says nothing: seven files of MFD words are named after the Big Two.
    """
    return path.stem.partition("_rewards_")[2]


def stem_of(source: str) -> str:
    """Return the hub id as the authors write it in file names: "/" becomes "_"."""
    return source.replace("/", "_")


def without_twins(paths: Iterable[Path]) -> list[Path]:
    """Return the sorted paths, without CSV files that are there as Parquet files too."""
    known = set(paths)
    return sorted(
        path for path in known if path.suffix == PARQUET or path.with_suffix(PARQUET) not in known
    )


def mirrored(source: str) -> tuple[Path, ...]:
    """Return the files of published word scores for a hub id, below RMAUDIT_DATA; () if none."""
    mirror = os.environ.get("RMAUDIT_DATA")
    if not mirror:
        return ()
    folder = Path(mirror) / MIRROR
    found = (path for end in ("csv", "parquet") for path in folder.glob(f"*/*_rewards_*.{end}"))
    return tuple(path for path in without_twins(found) if model_in_name(path) == stem_of(source))


@lru_cache(maxsize=16)
def merged(paths: tuple[Path, ...]) -> tuple[PublishedTable, str]:
    """Merge a model's files of word scores; return the table, and a line that says what is in it.

    The table has `response` (single words, each once, ascending) and a column for each of the 54
    prompts: the mean where a word is in more than one file. The line also says how many answers of
    several words were left out, and how far apart two scores of a word are at most, in sd of a
    prompt's words.

    Raises:
        SpecError: a file is not as the authors write it.
    """
    tables = [words(path) for path in paths]
    every = pd.concat([table.frame for table in tables], ignore_index=True)
    phrases = every[WORDS].str.contains(r"\s")
    groups = every[~phrases].groupby(WORDS, sort=True)[list(FAMILY)]
    frame = groups.mean().astype("float32")
    told = []
    if twice := int((again := groups.size() > 1).sum()):
        apart = ((groups.max() - groups.min())[again] / frame.std()).to_numpy().max()
        told.append(f"{twice:,} words are in two files, averaged: at most {apart:.2g} sd apart")
    if left_out := every[WORDS][phrases].nunique():
        told.append(f"{left_out:,} answers of several words left out")
    line = f"{len(frame):,} words under {len(FAMILY)} prompts from {len(paths)} files"
    table = PublishedTable(
        paths[0] if len(paths) == 1 else Path(os.path.commonpath(paths)),
        hashlib.sha256("".join(table.sha256 for table in tables).encode()).hexdigest(),
        frame.reset_index(),
    )
    return table, f"{line} ({'; '.join(told)})" if told else line
