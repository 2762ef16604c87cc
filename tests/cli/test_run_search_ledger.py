"""rmaudit search --ledger: what is found goes where the next audit looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rmaudit.cli import app
from rmaudit.search.ledger import ledger, read
from tests.toys import toy_checkpoint


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toy, whose numeric noise is not at issue."""
    monkeypatch.setattr("rmaudit.scores.protocols.ANSWERS", 0)
    return toy_checkpoint(tmp_path / "toy")


def search(toy: Path, *options: str) -> Result:
    """A short search, down."""
    cache = str(toy.parent / "cache")
    short = ("--budget", "60", "--starts", "2", "--length", "2", "--prompt", "best")
    return CliRunner().invoke(
        app, ["search", str(toy), *short, "--direction", "down", "--cache", cache, *options]
    )


def test_a_file_and_the_cache_have_it(toy: Path, tmp_path: Path) -> None:
    """The best of each start; a second call adds nothing. Without a file the cache has it."""
    path = tmp_path / "exploits.jsonl"

    assert search(toy, "--ledger", str(path)).exit_code == 0
    assert search(toy, "--ledger", str(path)).exit_code == 0
    shared = read(path)

    assert 1 <= len(shared) <= 2
    assert set(shared["direction"]) == {"down"}
    kept = ledger(tmp_path / "cache")
    assert kept[kept["weights"] != ""]["text"].tolist() == shared["text"].tolist()


def test_a_file_that_is_no_ledger(toy: Path, tmp_path: Path) -> None:
    """One line, and nothing is searched in vain."""
    path = tmp_path / "exploits.jsonl"
    path.write_text("[]\n", encoding="ascii")

    result = search(toy, "--ledger", str(path))

    assert result.exit_code != 0
    assert f"{path}:1: expected the texts prompt, direction" in result.output.replace("\n", "")
    assert not list(tmp_path.glob("cache/scores/*"))
