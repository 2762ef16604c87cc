"""What tests of sweeps share."""

from __future__ import annotations

import pytest


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is scored once more for its noise: for tests that count what is scored."""
    monkeypatch.setattr("rmaudit.scores.scoring_protocols.ANSWERS", 0)
