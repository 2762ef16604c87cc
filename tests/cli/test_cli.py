"""The command line as a whole: its help."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from rmaudit.cli import app

runner = CliRunner()
COMMANDS = ["data", "models", "import", "survival", "doctor", "organism", "selftest"]


# rmaudit


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_the_help_names_every_command(arguments: list[str]) -> None:
    """Asked or not, rmaudit says what it can do and how the audits are run."""
    result = runner.invoke(app, arguments)

    assert result.exit_code == (0 if arguments else 4)
    assert all(word in result.output for word in [*COMMANDS, "pytest audits"])


@pytest.mark.parametrize(
    "command",
    [["data"], ["models"], ["models", "check"], ["import"], ["survival"], ["doctor"], ["selftest"]],
    ids=" ".join,
)
def test_the_help_of_each_command_has_an_example(command: list[str]) -> None:
    """One that can be copied."""
    result = runner.invoke(app, [*command, "--help"])

    assert f"Example: rmaudit {' '.join(command)}" in " ".join(result.stdout.split())
