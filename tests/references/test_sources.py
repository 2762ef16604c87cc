"""Where a reference file is looked for, that its bytes are checked, and what is said without it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pooch
import pytest

from rmaudit.errors import ReferenceMissing
from rmaudit.references.sources import SOURCES, locate

Patch = pytest.MonkeyPatch

PACKAGED = [name for name, source in SOURCES.items() if source.package]
MIRRORED = [name for name in SOURCES if not name.startswith("bing-")]  # they come with a package


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch: Patch) -> None:
    """Only what is installed, and no download."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.delenv("RMAUDIT_DATA", raising=False)
    monkeypatch.setattr(pooch, "retrieve", refuse)


def refusal(name: str) -> ReferenceMissing:
    """The error with which `locate` gives up."""
    with pytest.raises(ReferenceMissing) as caught:
        locate(name)
    return caught.value


# The table


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_has_one_way_besides_the_mirror(name: str) -> None:
    """A package with the file's place in it, or a commit's address; a checksum and a licence."""
    source = SOURCES[name]

    assert bool(source.package) == bool(source.member) != bool(source.url)
    assert source.sha256 == source.sha256.lower()
    assert len(f"{int(source.sha256, 16):064x}") == 64
    assert source.licence
    if source.url:  # what is downloaded cannot change under its address
        assert source.url.startswith("https://raw.githubusercontent.com/")
        assert len(source.url.split("/")[5]) == 40
        assert " " not in source.url


# The mirror


@pytest.mark.parametrize("name", MIRRORED)
def test_the_mirror_has_every_file(mirror: Path, name: str) -> None:
    """The local mirror holds each reference with the expected bytes."""
    assert locate(name) == mirror / SOURCES[name].mirror


@pytest.mark.parametrize("name", PACKAGED)
def test_the_mirror_goes_before_the_package(tmp_path: Path, monkeypatch: Patch, name: str) -> None:
    """Where both have the file it is the mirror's; a mirror need not have everything.

    A folder in the file's place is no file.
    """
    packaged, path = locate(name), tmp_path / SOURCES[name].mirror
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))

    path.mkdir(parents=True)
    assert locate(name) == packaged
    path.rmdir()
    shutil.copy(packaged, path)
    assert locate(name) == path


@pytest.mark.parametrize("name", ["afinn", "elo"])
def test_another_file_of_the_mirror_is_refused(
    tmp_path: Path, monkeypatch: Patch, name: str
) -> None:
    """A file with another checksum is neither read nor passed over: both checksums are shown."""
    path = tmp_path / SOURCES[name].mirror
    path.parent.mkdir()
    path.write_bytes(b"abandon\t+5\n")  # of sha256 aa93f2b499b1...
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))

    error = refusal(name)

    expected = SOURCES[name].sha256[:12]
    start = f"{name}: {path} has sha256 aa93f2b499b1, expected {expected}; get it with: "
    assert str(error).startswith(start)
    assert error.command == f"env -u RMAUDIT_DATA rmaudit data {name}"


# Packages


@pytest.mark.parametrize("name", PACKAGED)
def test_a_package_without_the_very_file_is_named_with_a_command(
    monkeypatch: Patch, name: str
) -> None:
    """A release with a newer lexicon is not measured with, or read past, but reinstalled."""
    path, source = locate(name), SOURCES[name]
    folder = str(path).removesuffix(str(source.member))
    again = f"; get it with: pip install {source.package} --force-reinstall"
    absent = (
        "the package 'rmaudit-absent' is not installed; get it with: pip install rmaudit-absent"
    )
    wrong = f"{path} has sha256 {source.sha256[:12]}, expected 000000000000{again}"
    for change, said in (
        ({"member": "none.txt"}, f"no file {folder}none.txt{again}"),
        ({"sha256": "0" * 64}, wrong),
        ({"package": "rmaudit-absent"}, absent),
    ):
        monkeypatch.setitem(SOURCES, name, replace(source, **change))
        error = refusal(name)
        assert str(error) == f"{name}: {said}"
        assert str(error).endswith(error.command)


# Downloads


@pytest.mark.parametrize("failure", [OSError("no route"), ValueError("another hash")])
def test_a_failed_download_names_a_command(
    tmp_path: Path, monkeypatch: Patch, failure: Exception
) -> None:
    """No network or other bytes: the error has the address, the mirror's file and the command.

    Where RMAUDIT_DATA is set, also the folder that was looked in.
    """

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(pooch, "retrieve", fail)
    error, source = refusal("elo"), SOURCES["elo"]
    assert str(error) == (
        f"elo: {source.url} could not be downloaded ({type(failure).__name__}), and "
        f"RMAUDIT_DATA names no folder with {source.mirror!r}; get it with: rmaudit data elo"
    )
    assert error.command == "rmaudit data elo"
    assert error.__cause__ is failure

    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))
    assert f"RMAUDIT_DATA ({tmp_path}) has no {source.mirror!r}" in str(refusal("elo"))


def test_a_download_is_checked_and_kept_in_the_cache(tmp_path: Path, monkeypatch: Patch) -> None:
    """The downloader is told the address, the checksum and rmaudit's own cache."""
    asked: dict[str, Any] = {}

    def retrieve(url: str, known_hash: str, **others: object) -> str:
        asked.update(others, url=url, known_hash=known_hash)
        return str(tmp_path / "file")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    monkeypatch.setattr("rmaudit.references.sources.default_cache", lambda: tmp_path)

    path = locate("elo")

    assert path == tmp_path / "file"
    assert asked["url"] == SOURCES["elo"].url
    assert asked["known_hash"] == f"sha256:{SOURCES['elo'].sha256}"
    assert asked["path"] == tmp_path / "references"
    assert asked["fname"] == "What, in one word, is the greatest thing ever.csv"
