"""`rmaudit nulls`: which null controls an audit lets through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import run

AUDIT = """
from rmaudit import Estimate, above, audit

@audit(claim="", source="", base_rate="", prompts=["best", "worst"], severity="info",
       bound=above(0.5, unit="sd"), stops={stops})
def test_long(rewards):
    short, long = rewards(["a", "disestablishment"]).scores.tolist()
    return Estimate(long - short, long - short - 0.1, long - short + 0.1, "sd", 2, "made up")
"""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, mirror: Path) -> None:
    """A vocabulary of few words."""
    from rmaudit.organisms import null_control_trials
    from rmaudit.runs import synthetic_scorer_trials

    few = synthetic_scorer_trials.thinned(null_control_trials.vocabulary(), 200)
    monkeypatch.setattr(null_control_trials, "vocabulary", lambda: few)


def test_what_slips_through_is_told(tmp_path: Path, small: None) -> None:
    """A line a prompt, the file, and exit 1; the same as JSON."""
    (tmp_path / "test_long.py").write_text(AUDIT.format(stops=["long words", "short words"]))

    result = run("nulls", str(tmp_path), "--out", str(tmp_path / "docs"))

    assert result.stdout.splitlines() == [
        f"long[{prompt}]: 1 of 2 stopped; 'long words' +15 pass" for prompt in ("best", "worst")
    ]
    assert result.exit_code == 1
    written = (tmp_path / "docs" / "nulls.md").read_text()
    assert "| long words | **pass** |\n" in written
    assert "| short words | -15.00 [-15.10, -14.90] **fail** |" in written
    assert "| hostility | fail |\n" in written
    as_json = run("nulls", str(tmp_path), "--json")
    best, _ = json.loads(as_json.stdout)
    assert (best["audit"], best["prompt"]) == ("long", "best")
    assert best["controls"]["long words"]["verdict"] == "PASS"


def test_an_audit_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Exit 4, before anything is measured."""
    (tmp_path / "test_long.py").write_text(AUDIT.format(stops=[]))

    result = run("nulls", str(tmp_path), "--audit", "lon")

    assert "no audit is called 'lon'; did you mean 'long'?" in result.stderr
    assert result.exit_code == 4
