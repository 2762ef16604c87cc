"""One store, wherever its files lie: a folder, an object store; a lost race costs nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import StoreError
from rmaudit.scores import shard_scoring
from rmaudit.scores.score_cache_files import Files, files_at
from rmaudit.scores.score_store import Store, unfinished
from rmaudit.scores.shard_scoring import Work
from tests.scores.s3 import bucket

Patch = pytest.MonkeyPatch

ROWS = pd.DataFrame({"token_id": np.arange(10, dtype=np.int32), "text": list("abcdefghij")})
SCORES = np.linspace(-1, 1, 10).astype(np.float32)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """An S3 server's bucket for all tests here."""
    with bucket() as url:
        yield url


@pytest.fixture(params=["folder", "memory", pytest.param("s3", marks=pytest.mark.slow)])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """A cache that is not there yet, at each kind of place."""
    if request.param == "folder":
        return tmp_path / "cache"
    place = "memory:/" if request.param == "memory" else request.getfixturevalue("s3")
    return f"{place}/{uuid.uuid4().hex}"


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: Patch) -> None:
    """Ten rows make three shards."""
    monkeypatch.setattr(shard_scoring, "SHARD", 4)


def work(asked: list[int]) -> Work:
    """Scores of ROWS; notes in `asked` which shards were made."""

    def score(which: slice) -> np.ndarray:
        asked.append(which.start)
        return SCORES[which]

    return Work({"weights": "0a"}, ROWS, score, lambda: {"torch": "none"})


def test_a_file_is_there_whole_or_not_at_all(root: Path | str) -> None:
    """Created once, replaced, moved, listed and cleared; what is not there is None."""
    files: Files = files_at(root)
    assert files.read("a.parquet") is None
    assert files.names() == []
    assert files.create("a.parquet", b"one")
    assert not files.create("a.parquet", b"two")
    assert files.read("a.parquet") == b"one"
    files.replace("a.parquet", b"three")
    assert files.read("a.parquet") == b"three"
    files.prepare("k.parts")
    assert files.create("k.parts/0.parquet", b"part")
    assert "k.parts/0.parquet" in files.names("k.parts")
    files.move("a.parquet", "b")
    assert (files.exists("a.parquet"), files.exists("b")) == (False, True)
    with files.opened("b") as file:
        assert file.read(3) == b"thr"
    files.clear("k.parts")
    assert files.names() == ["b"]


def test_hosts_that_know_nothing_of_each_other_share_a_work(
    root: Path | str, tmp_path: Path
) -> None:
    """One makes the second shard, another the rest: the bytes of one that made all."""
    first, second = list[int](), list[int]()
    for _ in range(2):  # what is there is not made again
        Store(root).make(work(first), slice(4, 8))
    assert [which.start for which in Store(root).missing(work([]))] == [0, 8]
    assert unfinished(Store(root)) == 4

    stored = Store(root).complete(work(second))

    assert (first, second) == ([4], [0, 8])
    np.testing.assert_array_equal(stored.frame["score"], SCORES)
    assert Store(root).missing(work([])) == []
    Store(root).make(work(first), slice(0, 4))  # too late: all is there
    assert first == [4]
    Store(tmp_path / "alone").complete(work([]))
    name = f"{stored.key}.parquet"
    assert Store(root).files.names() == [name]
    assert Store(root).files.read(name) == Store(tmp_path / "alone").files.read(name)


def test_who_comes_late_takes_what_is_there(root: Path | str) -> None:
    """Another host ends while one is at work: both have the first one's scores."""

    def score(which: slice) -> np.ndarray:
        if which.start == 8:
            Store(root).files.create(f"{ours.key}.parts/00000008.parquet", theirs)
            Store(root).files.create(f"{ours.key}.parquet", whole)
        return SCORES[which]

    ours = Work({"weights": "0a"}, ROWS, score, lambda: {"torch": "ours"})
    aside = Store("memory://" + uuid.uuid4().hex)
    other = Work(ours.fields, ROWS, lambda which: SCORES[which] + 1, lambda: {"torch": "theirs"})
    aside.make(other, slice(8, 10))
    theirs = aside.files.read(f"{ours.key}.parts/00000008.parquet") or b""
    aside.complete(other)
    whole = aside.files.read(f"{ours.key}.parquet") or b""

    stored = Store(root).complete(ours)

    assert stored.provenance == {"torch": "theirs"}
    np.testing.assert_array_equal(stored.frame["score"][8:], SCORES[8:] + 1)
    assert Store(root).files.names() == [f"{ours.key}.parquet"]


def test_a_file_system_without_links_has_whole_files(tmp_path: Path, monkeypatch: Patch) -> None:
    """Some have none: then the last one's file is there, and it is whole."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)

    stored = Store(tmp_path).complete(work([]))

    np.testing.assert_array_equal(stored.frame["score"], SCORES)
    assert Store(tmp_path).files.names() == [f"{stored.key}.parquet"]


def test_a_place_that_nothing_reaches_is_one_line() -> None:
    """An unknown kind of URL says what to name instead."""
    with pytest.raises(StoreError, match=r"^nowhere://x/scores: no place for a cache .*a folder$"):
        Store("nowhere://x")


@pytest.mark.parametrize(
    "url", ["memory://me:s3cret@b/x", "s3://b/x?sign=s3cret", "memory://me%3As3cret%40b/x"]
)
def test_a_url_with_a_password_is_refused(url: str) -> None:
    """Before anything is opened, and without being quoted."""
    with pytest.raises(StoreError, match=r"(password|query).* would stand in reports") as caught:
        Store(url)

    assert "s3cret" not in str(caught.value)


def test_a_missing_package_is_one_line() -> None:
    """Of S3, with what to install: in a process that has not loaded it."""
    module = "rmaudit.scores.score_cache_files"
    program = f"import sys; sys.modules['s3fs'] = None; from {module} import files_at; "
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}files_at('s3://bucket/x')"],
        capture_output=True,
        text=True,
        check=False,
    )
    line = "s3://bucket/x/scores: a package is missing for s3://; pip install 'rmaudit[s3]'"
    assert ran.stderr.splitlines()[-1] == f"rmaudit.errors.StoreError: {line}"
