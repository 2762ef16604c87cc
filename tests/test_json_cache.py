"""Facts in the cache: what is read back is what was written, or it is made anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from rmaudit import json_cache

FIELDS = {"of": "a"}
VALUE = [["é", None, 0.1], ["\ud800", True, float("inf")]]


def made() -> Mock:
    """Makes facts, and counts how many."""
    return Mock(return_value=VALUE)


def only(cache: Path) -> Path:
    """The one file of facts."""
    (path,) = (cache / "kept").iterdir()
    return path


def test_a_fact_is_made_once(tmp_path: Path) -> None:
    """It is read back as it was, for the same fields and kind only."""
    make = made()

    found = [json_cache.cached(tmp_path, "x", FIELDS, make) for _ in range(3)]

    assert found == [VALUE] * 3
    assert make.call_count == 1
    assert json_cache.read(tmp_path, "x", {"of": "b"}) is None
    assert json_cache.read(tmp_path, "y", FIELDS) is None


def test_the_order_of_fields_changes_no_byte(tmp_path: Path) -> None:
    """Two processes that list the same fields in another order write the same file."""
    written = []
    for fields in ({"of": "a", "by": "b"}, {"by": "b", "of": "a"}):
        json_cache.write(tmp_path, "x", fields, {"z": 1, "a": 2})
        written.append(only(tmp_path).read_bytes())

    assert written[0] == written[1]
    assert list(json_cache.read(tmp_path, "x", {"of": "a", "by": "b"})) == ["z", "a"]


@pytest.mark.slow
def test_threads_that_write_one_fact_do_not_tear_it(tmp_path: Path) -> None:
    """Each writes a file of its own: whoever reads meanwhile finds a whole one, and no warning."""
    value = ["x" * 1000] * 1000

    def write_and_read(_: int) -> Any:
        json_cache.write(tmp_path, "x", FIELDS, value)
        return json_cache.read(tmp_path, "x", FIELDS)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(write_and_read, range(64)))

    assert all(each == value for each in found)
    assert only(tmp_path).suffix == ".json"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-9],
        lambda content: content.replace(b"0.1", b"0.2"),  # under the old checksum
        lambda _: b"",
        lambda _: b"\xff\xfe\n\xff",
        None,
    ],
    ids=["cut", "another value", "empty", "no text", "another whole file"],
)
def test_a_damaged_file_is_made_anew(
    tmp_path: Path, damage: Callable[[bytes], bytes] | None
) -> None:
    """With a warning that names it, and what is written then is good again."""
    make = made()
    json_cache.cached(tmp_path, "x", FIELDS, make)
    path = only(tmp_path)
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        json_cache.write(tmp_path, "x", {"of": "b"}, [])
        next(each for each in path.parent.iterdir() if each != path).replace(path)

    with pytest.warns(UserWarning, match=only(tmp_path).name):
        assert json_cache.cached(tmp_path, "x", FIELDS, make) == VALUE

    assert json_cache.cached(tmp_path, "x", FIELDS, make) == VALUE
    assert make.call_count == 2


def test_where_nothing_can_be_written_it_is_made_each_time(tmp_path: Path) -> None:
    """A cache that is a file, in place of a folder, stops no run."""
    (tmp_path / "kept").write_text("", encoding="utf-8")
    make = made()

    assert [json_cache.cached(tmp_path, "x", FIELDS, make) for _ in range(2)] == [VALUE] * 2
    assert make.call_count == 2


def test_what_fails_is_not_kept(tmp_path: Path) -> None:
    """The error is the caller's, and the next call makes the fact."""

    def fail() -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        json_cache.cached(tmp_path, "x", FIELDS, fail)

    assert json_cache.cached(tmp_path, "x", FIELDS, made()) == VALUE


def test_code_that_changes_while_it_runs_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest of files that were written since the start is no other process's."""
    json_cache.code.cache_clear()
    before = json_cache.code()
    monkeypatch.setattr(json_cache, "STARTED", 0.0)
    json_cache.code.cache_clear()

    assert json.dumps(before) not in json.dumps(json_cache.code())
    assert json_cache.code() != before
    json_cache.code.cache_clear()
