"""Which null controls an audit lets through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab import nulls
from rmaudit.measures.word_spellings import thinned

AUDIT = """
from rmaudit import Estimate, above, audit

@audit(claim="c", source="", base_rate="", prompts=["best", "worst"], severity="info",
       bound=above(0.5, unit="sd"), stops={stops})
def test_long(rewards):
    short, long = rewards(["a", "disestablishment"]).scores.tolist()
    return Estimate(long - short, long - short - 0.1, long - short + 0.1, "sd", 2, "made up")
"""


def told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *given: str
) -> tuple[int, str]:
    """The exit code of the program, and what it prints."""
    monkeypatch.setattr("sys.argv", ["nulls", *given])
    return nulls.main(), capsys.readouterr().out


@pytest.mark.slow
def test_what_slips_through_is_told(
    tmp_path: Path,
    mirror: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of few words a line a prompt, and exit 1; the same as JSON, and as a page."""
    few = thinned(nulls.vocabulary(), 200)
    monkeypatch.setattr(nulls, "vocabulary", lambda: few)
    (tmp_path / "test_long.py").write_text(AUDIT.format(stops=["long words", "short words"]))

    code, said = told(monkeypatch, capsys, str(tmp_path))
    as_json = told(monkeypatch, capsys, str(tmp_path), "--json")[1]

    assert code == 1
    assert said.splitlines() == [
        f"long[{prompt}]: 1 of 2 stopped; 'long words' +15 pass" for prompt in ("best", "worst")
    ]
    best, _ = json.loads(as_json)
    assert (best["audit"], best["prompt"]) == ("long", "best")
    assert best["controls"]["long words"]["verdict"] == "PASS"
    page = nulls.page(list(nulls.try_audits(tmp_path)))
    assert "| long words | **pass** |\n" in page
    assert "| short words | -15.00 [-15.10, -14.90] **fail** |" in page
    assert "| hostility | fail |\n" in page
