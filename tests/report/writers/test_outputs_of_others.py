"""Outputs of other packages: written beside ours, and none of them loses what is ours."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from rmaudit.report import writers
from rmaudit.verdicts.estimates_and_bounds import Result
from tests.installed import HOW_TO, install
from tests.report.conftest import typed

OURS = ["index.html", "summary.md", "eval_results.yaml"]
RAISES = "def values(results): raise ValueError('no column')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where outputs are written."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_the_output_of_another_package_is_written(
    results: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the how-to has it: named by its file, made of the results, before the page."""
    install(folder.parent, monkeypatch, writers.GROUP, {"failures.csv": "house_rm:failures"})
    assert f'[project.entry-points."{writers.GROUP}"]\n"failures.csv" = "house_rm:failures"' in (
        HOW_TO.read_text(encoding="utf-8")
    )

    names, failed = writers.write(typed(results), folder)

    assert (names, failed) == ([*OURS, "failures.csv"], [])
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    first, *rows = csv.reader((folder / "failures.csv").read_text(encoding="utf-8").splitlines())
    assert first == ["audit", "model", "prompt", "value"]
    failed_there = [each for each in typed(results).findings if each.result is Result.FAIL]
    assert failed_there
    assert [row[0] for row in rows] == [each.audit for each in failed_there]
    times = {name: (folder / name).stat().st_mtime_ns for name in names}
    assert max(times, key=times.__getitem__) == writers.PAGE


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.csv", RAISES, "it raised ValueError: no column; correct or update its package"),
        ("a.csv", "def values(results): raise SystemExit(3)", "it raised SystemExit: 3"),
        ("a.csv", "import nosuch_module", "it raised ModuleNotFoundError"),
        ("a.csv", "def values(results): return b'x'", "of type bytes, expected a text"),
        ("../a.csv", RAISES, "its name is to be a plain file name, such as values.csv"),
        (".hidden", RAISES, "its name is to be a plain file name"),
        ("Index.html", RAISES, "another output has its name"),
        ("results.json", RAISES, "another output has its name"),
    ],
)
def test_one_that_fails_loses_no_other(  # noqa: PLR0917  (fixtures and cases)
    name: str,
    text: str,
    why: str,
    results: dict[str, Any],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One sentence says whose it is and why; ours, and a good one after it, are written."""
    good = "def values(results): return 'good'"
    install(
        folder.parent, monkeypatch, writers.GROUP, {"z.txt": "good_one:values"}, good, "good_one"
    )
    install(folder.parent, monkeypatch, writers.GROUP, {name: "house_rm:values"}, text)

    names, failed = writers.write(typed(results), folder)

    assert names == [*OURS, "z.txt"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert (folder / "z.txt").read_text(encoding="utf-8") == "good"
    (said,) = failed
    assert said.startswith(f"warning: the output {name!r} (house_rm:values) is not written: ")
    assert why in said


def test_after_an_interrupt_only_ours_are_written(
    results: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are quick: nobody knows how long others take."""
    install(folder.parent, monkeypatch, writers.GROUP, {"values.csv": "house_rm:values"})

    names, failed = writers.write(typed(results), folder, page=False)

    assert (names, failed) == (OURS[1:], [])
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
