"""`rmaudit organism`: checkpoints with known flaws."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from rmaudit.cli import app

runner = CliRunner()


def test_organism_prints_its_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line: a path for `pytest audits --rm-models`; --cache is where it is built."""
    asked: list[tuple[str, Path]] = []

    def build(name: str, cache: Path) -> Path:
        asked.append((name, cache))
        return tmp_path / "built"

    monkeypatch.setattr("rmaudit.organisms.checkpoints.build", build)

    result = runner.invoke(app, ["organism", "balanced", "--cache", str(tmp_path)])

    assert (result.stdout, result.exit_code) == (f"{tmp_path}/built/models.yaml\n", 0)
    assert asked == [("balanced", tmp_path)]


def test_organism_refuses_an_unknown_name(tmp_path: Path) -> None:
    """Exit 2, before anything is built."""
    result = runner.invoke(app, ["organism", "Balanced", "--cache", str(tmp_path)])

    assert result.stderr == (
        "unknown organism 'Balanced'; known: balanced, identity-penalty, shuffled\n"
    )
    assert (result.stdout, result.exit_code) == ("", 2)
    assert list(tmp_path.iterdir()) == []
