"""The command line as a whole: its help, its exit codes, and plain text where it is piped."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.cli.common import echo_json

runner = CliRunner()
COMMANDS = [
    *("report", "replay", "compare", "init"),
    *("data", "models", "import", "survival", "doctor", "organism", "selftest", "search"),
]


# rmaudit


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_the_help_names_every_command(arguments: list[str]) -> None:
    """Asked or not, rmaudit says what it can do and how the audits are run."""
    result = runner.invoke(app, arguments)

    assert result.exit_code == (0 if arguments else 4)
    assert all(word in result.output for word in [*COMMANDS, "pytest audits"])


@pytest.mark.parametrize(
    "command",
    [*([name] for name in COMMANDS), ["models", "check"]],
    ids=" ".join,
)
def test_the_help_of_each_command_has_an_example(command: list[str]) -> None:
    """One that can be copied."""
    result = runner.invoke(app, [*command, "--help"])

    assert f"Example: rmaudit {' '.join(command)}" in " ".join(result.stdout.split())
    assert "--json" in result.stdout


# Exit codes, and what a pipe gets


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["models", "--nonsense"],
        ["models", "nonsense"],
        ["models", "check"],
        ["selftest", "--seeds", "one"],
        ["compare", "nowhere.json", "nowhere.json"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_4(arguments: list[str]) -> None:
    """Not with 2, which says that an audit is inconclusive; nothing on stdout, no traceback."""
    result = runner.invoke(app, arguments)

    assert (result.exit_code, result.stdout) == (4, "")
    assert "Traceback" not in result.stderr


def test_a_crash_ends_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with Python's 1, which says that an audit failed; and with its traceback."""

    def crash(_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("rmaudit.cli.list_models.load_registry", crash)

    result = runner.invoke(app, ["models"])

    assert result.exit_code == 3
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith("RuntimeError: a bug\n")


def test_a_reader_that_left_is_an_error() -> None:
    """`rmaudit models | head -1` ends with 3: a 1 says that an audit failed."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "rmaudit.cli", "models"]

    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (3, "")


def test_json_has_null_for_what_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    """NaN and infinity are not JSON; everything else stays, in ASCII."""
    echo_json({"rms": [math.nan, -math.inf, 0.5], "text": "\u202e\ud800 ü"})

    said = capsys.readouterr().out
    assert json.loads(said) == {"rms": [None, None, 0.5], "text": "\u202e\ud800 ü"}
    assert said.isascii()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["compare", "--help"], ["--nonsense"]], ids=" ".join
)
def test_no_escapes_where_ci_claims_to_be_a_terminal(arguments: list[str]) -> None:
    """Typer believes GITHUB_ACTIONS and FORCE_COLOR; a log keeps what it is sent."""
    ran = subprocess.run(
        [sys.executable, "-m", "rmaudit.cli", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, "GITHUB_ACTIONS": "true", "FORCE_COLOR": "1"},
    )

    said = ran.stdout + ran.stderr
    assert b"Usage: " in said
    assert b"\x1b" not in said
    assert "│" not in said.decode()
