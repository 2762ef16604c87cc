"""The exploit ledger: strings that searches found, to be replayed on the next candidate as text.

Four sources: the strings that are published, those that our own searches of our own models found
(`scripts/training/exploits.py`), what searches on this machine found, and a file that a team
shares, beside models.yaml. A file has a JSON object a line, all of it ASCII: found strings
hold quotes, newlines, right-to-left marks and worse, and must come back as they were. Whoever
merges two files keeps the lines of both; a line that is there twice counts once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from rmaudit.errors import SpecError, StoreError
from rmaudit.models.protocol import Scored
from rmaudit.prompts import name_of
from rmaudit.references.public_exploits import FOUND, probes
from rmaudit.search.api import Found
from rmaudit.search.settings import DIRECTIONS

BEST = 5  # strings that are kept of a search
COLUMNS = ("prompt", "direction", "model", "source", "text", "weights")


def ledger(cache: Path, file: Path | None = None) -> pd.DataFrame:
    """Every string that is known, a row each: published, ours, found here, and those of `file`.

    Columns, all texts: `prompt` (its name, or its text where it has none), `direction` ("up" for
    strings that are loved), `model`, `source` (what found it), `text`, and `weights`, which says
    which model it was found on whatever that is called (`weights_of`); "" where it is published.

    Raises:
        SpecError: a file is no ledger. FILE:LINE.
    """
    files = sorted(_folder(cache).glob("*.jsonl")) + ([] if file is None else [file])
    tables = [brought(), *map(read, files)]
    whole = pd.concat(tables, ignore_index=True)[list(COLUMNS)]
    again = whole.duplicated(["prompt", "direction", "text", "weights"])
    return whole[~again].reset_index(drop=True)


def brought() -> pd.DataFrame:
    """The strings that come with rmaudit: the published ones and those of our own searches."""
    return pd.concat([probes().assign(weights=""), read(FOUND)], ignore_index=True)[list(COLUMNS)]


def remember(cache: Path, found: Found, model: Scored) -> None:
    """Put the best that a search found into the ledger of this machine; a second time is none.

    Raises:
        StoreError: the cache cannot be written.
    """
    append(_folder(cache) / f"{found.key}.jsonl", found, model)


def append(path: Path, found: Found, model: Scored) -> int:
    """Add the best that a search of `model` found to a ledger; how many were not there before.

    These are the best of each start, for the best of a whole search are nearly the same: at most
    5, each once.

    Raises:
        SpecError: the file is there and is no ledger.
        StoreError: it cannot be written.
    """
    known = set(read(path).itertuples(index=False, name=None)) if path.exists() else set()
    new = [entry for entry in _entries(found, model) if tuple(entry.values()) not in known]
    lines = "".join(json.dumps(entry) + "\n" for entry in new)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as end:
            whole = not end.tell() or path.read_bytes().endswith(b"\n")
            os.write(end.fileno(), (("" if whole else "\n") + lines).encode())  # in one piece
    except OSError as error:
        message = f"{path}: the ledger cannot be written ({error}); name another file or folder"
        raise StoreError(message) from error
    return len(new)


def weights_of(model: Scored) -> str:
    """What tells a model from any other, its earlier releases too, in whatever dtype it runs."""
    own = {name: model.identity.get(name, "") for name in ("weights", "adapter", "base_revision")}
    return hashlib.sha256(json.dumps(own).encode()).hexdigest()[:16]


def read(path: Path) -> pd.DataFrame:
    """The rows of a ledger, as `ledger` has them, in the order of the file.

    Raises:
        SpecError: it cannot be read, or a line is no entry. FILE:LINE.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        message = f"{path}: no ledger can be read there ({error.strerror or error}); name a file"
        raise SpecError(f"{message} that `rmaudit search --ledger` wrote") from error
    rows = [_entry(path, n, line) for n, line in enumerate(lines, start=1) if line.strip()]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=str).drop_duplicates(ignore_index=True)


def _folder(cache: Path) -> Path:
    return cache / "ledger"


def _entries(found: Found, model: Scored) -> Iterable[Mapping[str, str]]:
    settings, texts = found.settings, found.bests
    best = texts.sort_values("score", ascending=found.direction == "down", kind="stable")
    source = (
        f"{settings.method} search, length {settings.length}, {found.evaluations:,} evaluations, "
        f"seed {settings.seed}"
    )
    for text in best["text"].drop_duplicates().head(BEST):
        about = (name_of(found.prompt.text), found.direction, found.model, source)
        yield dict(zip(COLUMNS, (*about, text, weights_of(model)), strict=True))


def _entry(path: Path, number: int, line: bytes) -> dict[str, str]:
    """A line's entry. Bytes, since what Python takes for the end of a line may be in a text."""
    try:
        entry = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        message = f"{path}:{number}: expected a JSON object, found what is none ({error})"
        raise SpecError(f"{message}; restore the line or remove it") from error
    names = list(entry) if isinstance(entry, dict) else []
    expected = f"the texts {', '.join(COLUMNS)}"
    if set(names) != set(COLUMNS) or not all(isinstance(entry[name], str) for name in names):
        found = ", ".join(sorted(names)) or type(entry).__name__
        message = f"{path}:{number}: expected {expected}, found {found}"
        raise SpecError(f"{message}; restore the line or remove it")
    if entry["direction"] not in DIRECTIONS or not _sendable(entry["text"]):
        what = "direction" if entry["direction"] not in DIRECTIONS else "text"
        allowed = " or ".join(DIRECTIONS) if what == "direction" else "a text of whole characters"
        message = f"{path}:{number}: {what}: expected {allowed}, found {entry[what]!r}"
        raise SpecError(f"{message}; restore the line or remove it")
    return {name: entry[name] for name in COLUMNS}


def _sendable(text: str) -> bool:
    """Whether a tokenizer takes it: half a surrogate pair is no text."""
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False
