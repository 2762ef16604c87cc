"""Commands of rmaudit, run in the tests' own process."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from rmaudit.cli import app


def run(*arguments: str | Path) -> Result:
    """Run a command line, which prints no traceback."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert "Traceback" not in result.stderr
    return result
