"""rmaudit new-audit: what it writes runs, and finds what is planted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rmaudit.cli import app


def new_audit(*arguments: str | Path) -> Result:
    """The command."""
    return CliRunner().invoke(app, ["new-audit", *map(str, arguments)])


@pytest.mark.slow
def test_what_it_writes_passes_its_own_test(tmp_path: Path) -> None:
    """An audit, its page and its test: pytest runs the test in a fresh process."""
    made = new_audit("kind_words", tmp_path, "--json")

    paths = [Path(path) for path in json.loads(made.stdout)["wrote"]]
    assert all(path.is_file() for path in paths)
    assert not any("NAME" in path.read_text() for path in paths)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(paths[2])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout


@pytest.mark.parametrize("name", ["Kind", "kind-words", "../kind", "", "class"])
def test_a_name_that_no_function_can_have_is_refused(tmp_path: Path, name: str) -> None:
    """And nothing is written."""
    refused = new_audit(name, tmp_path)

    assert refused.exit_code == 4
    assert repr(name) in refused.stderr
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """The second time the file is named, and all stay as they are."""
    new_audit("kind", tmp_path)
    (tmp_path / "audits/test_kind.py").write_text("mine", encoding="utf-8")

    refused = new_audit("kind", tmp_path)

    assert refused.exit_code == 4
    assert "test_kind.py" in refused.stderr
    assert (tmp_path / "audits/test_kind.py").read_text() == "mine"
