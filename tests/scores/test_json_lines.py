"""Rows of a file: the same whatever form it has, and what cannot be read is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.scores.json_lines import rows
from tests.scores.lines import assert_refused

ROW = st.fixed_dictionaries(
    {
        "prompt": st.text(max_size=5),
        "chosen": st.lists(st.text(max_size=5), min_size=1, max_size=3),
        "n": st.integers(0, 9),
    }
)


def read(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """All rows."""
    return list(rows(path, allowed="an object"))


@given(st.lists(ROW, min_size=1, max_size=5))
def test_every_form_has_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, given_rows: list[dict[str, Any]]
) -> None:
    """JSON Lines under either ending, a list with or without line breaks, Parquet."""
    folder = tmp_path_factory.mktemp("forms")
    lines = "\n".join(map(json.dumps, given_rows))
    (folder / "a.jsonl").write_text(lines)
    (folder / "b.json").write_text(lines)
    (folder / "c.json").write_text(json.dumps(given_rows))
    (folder / "d.JSON").write_text(f"\n {json.dumps(given_rows, indent=2)}\n")
    pq.write_table(pa.Table.from_pylist(given_rows), folder / "e.parquet")

    found = [read(path) for path in sorted(folder.iterdir())]

    assert len(found) == 5
    assert all(each == list(enumerate(given_rows, start=1)) for each in found)


@pytest.mark.parametrize(
    ("name", "content", "names"),
    [
        ("a.json", b"[1]", [":1: 1, allowed: an object"]),
        ("a.json", b'[{"a": 1}, null]', [":2: None, allowed: an object"]),
        ("a.json", b'[{"a": 1},', ["no JSON", "Parquet (.parquet)"]),
        ("a.json", b"[" * 100_000, ["no JSON", "a list of objects (.json)"]),
        ("a.json", b'[{"a": "\xff"}]', ["no JSON"]),
        ("a.json", b"{", [":1: no JSON"]),
        ("a.parquet", b"PAR1 and no more", ["cannot be read as Parquet", "JSON Lines (.jsonl)"]),
        ("a.parquet", b"", ["cannot be read as Parquet"]),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, content: bytes, names: list[str]) -> None:
    """One line with the file, and the forms that are read."""
    path = tmp_path / name
    path.write_bytes(content)

    assert_refused(read, path, names)


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, ending: str) -> None:
    """With its path; a folder is none either."""
    (tmp_path / f"folder.{ending}").mkdir()
    for name in ("none", "folder"):
        assert_refused(read, tmp_path / f"{name}.{ending}", ["cannot be read"])
