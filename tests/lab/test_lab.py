"""The programs of the lab: each has a line, and says how it is run."""

from __future__ import annotations

from importlib import import_module

import pytest

from lab.__main__ import main, programs


@pytest.mark.slow
def test_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """By name, with a line each; an unknown name is told, too."""
    assert main([]) == 0

    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told] == list(programs())
    assert all(line.endswith((".", "?")) and len(line) < 130 for line in told)
    assert main(["nonsense"]) == "\nthere is no program 'nonsense'"


@pytest.mark.slow
@pytest.mark.parametrize("name", programs())
def test_each_says_how_it_is_run(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that it imports is there, and `--help` ends it before anything is done."""
    monkeypatch.setattr("sys.argv", [name, "--help"])

    with pytest.raises(SystemExit, match="0"):
        import_module(f"lab.{name}").main()

    assert "usage: " in capsys.readouterr().out
