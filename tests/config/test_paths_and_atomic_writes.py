"""A file is written whole or not at all, and two that write it at once do not meet."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from rmaudit.config.paths_and_atomic_writes import in_place_of


def test_writers_that_overlap_each_write_a_file_of_their_own(tmp_path: Path) -> None:
    """Of two threads of one process, too; the last that ends stays, and nothing is left over."""
    path = tmp_path / "file.json"
    with ExitStack() as later:
        second = later.enter_context(in_place_of(path))
        with in_place_of(path) as first:
            second.write_text("the second")
            first.write_text("the first")
        assert path.read_text() == "the first"

    assert path.read_text() == "the second"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    """Half a file is no file, whatever stopped it."""
    path = tmp_path / "file.json"
    path.write_text("before")

    def stopped() -> None:
        with in_place_of(path) as own:
            own.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()

    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_processes_left_goes_after_a_day(tmp_path: Path) -> None:
    """By the next write there; what is younger may be another's, and other names are nobody's."""
    names = [f".{'a' * 16}.partial", f".{'b' * 16}.partial", ".mine.partial", "c.partial"]
    for name in names:
        (tmp_path / name).write_text("half")
    for name in names[1:]:
        os.utime(tmp_path / name, (0, 0))

    with in_place_of(tmp_path / "file") as own:
        own.write_text("")

    left = {path.name for path in tmp_path.iterdir()}
    assert left == {names[0], *names[2:], "file"}


def test_others_may_read_it_as_the_umask_says(tmp_path: Path) -> None:
    """A cache is shared between users."""
    before = os.umask(0o002)
    try:
        with in_place_of(tmp_path / "file") as own:
            own.write_text("")
    finally:
        os.umask(before)

    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o664


def test_where_nothing_can_be_written_the_error_is_the_systems(tmp_path: Path) -> None:
    """Such as below a file."""
    (tmp_path / "file").write_text("")

    with pytest.raises(NotADirectoryError), in_place_of(tmp_path / "file" / "below") as own:
        own.write_text("")
