"""What tests of sweeps share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toys import toy_checkpoint


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real checkpoint, which no test changes."""
    return toy_checkpoint(tmp_path_factory.mktemp("toy") / "toy")


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is scored once more for its noise: for tests that count what is scored."""
    monkeypatch.setattr("rmaudit.scores.shard_scoring.ANSWERS", 0)
