"""The command line as a whole: its help, its exit codes, and what it prints of others' texts."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import rmaudit
import rmaudit.cli
from rmaudit.cli import app
from rmaudit.cli.printing import echo_json
from tests.toys import toy_checkpoint

runner = CliRunner()
COMMANDS = [name for name, one in typer.main.get_command(app).commands.items() if not one.hidden]


# Help


def test_the_help_is_in_panels_of_whole_sentences() -> None:
    """Asked or not: each command stands in one panel, in the order of use; nothing is cut off."""
    asked, unasked = runner.invoke(app, ["--help"]), runner.invoke(app, [])
    said = " ".join(asked.output.split())

    assert (asked.exit_code, unasked.exit_code, unasked.output) == (0, 4, asked.output)
    assert all(f" {word} " in said for word in [*COMMANDS, "pytest audits"])

    panels = ("Set up:", "Read the results:", "Score and search:", "Write audits:")
    places = [said.index(panel) for panel in (*panels, "Exit codes:")]
    assert places == sorted(places)
    assert places[0] < said.index(" init ") < said.index(" doctor ") < places[1]
    assert places[3] < said.index(" new-audit ") < places[4]
    assert "..." not in said[places[0] :]
    assert "More:" not in said, "a new command needs a place in a panel: rmaudit/cli/__init__.py"


def test_the_version() -> None:
    """As the package has it."""
    assert runner.invoke(app, ["--version"]).output == f"rmaudit {rmaudit.__version__}\n"


@pytest.mark.parametrize("command", [*([name] for name in COMMANDS), ["models", "check"]])
def test_the_help_of_each_command_has_an_example(command: list[str]) -> None:
    """One that can be copied."""
    result = runner.invoke(app, [*command, "--help"])

    assert f"Example: rmaudit {' '.join(command)}" in " ".join(result.stdout.split())
    assert "--json" in result.stdout


# Exit codes


@pytest.mark.parametrize(
    "arguments",
    [
        *("models --nonsense", "models nonsense", "models check"),
        *("doctor x --answers 7", "compare nowhere.json nowhere.json"),
    ],
)
def test_wrong_usage_ends_with_4(arguments: str) -> None:
    """Not with 2, which says that an audit is inconclusive; nothing on stdout, no traceback."""
    result = runner.invoke(app, arguments.split())

    assert (result.exit_code, result.stdout) == (4, "")
    assert "Traceback" not in result.stderr


class PanicError(BaseException):
    """As pyo3's PanicException, which a tokenizer written in Rust may raise."""


@pytest.mark.parametrize("kind", [RuntimeError, EOFError, PanicError])
@pytest.mark.parametrize("arguments", [["models"], ["models", "check", "R-Smol-135M"]])
def test_a_crash_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, kind: type[BaseException], arguments: list[str]
) -> None:
    """Not with Python's 1, which says failed or refused; with a traceback that steers nothing."""

    def crash(_: object) -> None:
        raise kind("a \x1b[2Jbug\n::error::of ours")

    monkeypatch.setattr("rmaudit.cli.list_models.known_models", crash)

    result = runner.invoke(app, arguments)

    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("Traceback")
    assert f"{kind.__name__}: a \\x1b[2Jbug\n\\x3a:error::of ours\n" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_no_verdict(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with 128 and its number, as everywhere, and the command that goes on."""
    stop = lambda _: signal.raise_signal(number)  # noqa: E731
    monkeypatch.setattr("rmaudit.cli.list_models.known_models", stop)
    monkeypatch.setattr("sys.argv", ["/bin/rmaudit", "models", "--file", "a b"])

    ended = runner.invoke(app, ["models"])

    assert ended.exit_code == 128 + number
    assert ended.stderr == "interrupted; to go on, run rmaudit models --file 'a b'\n"


# What is printed of texts that others wrote

HOSTILE = "own\x1b[2J\u202e##vso[task.complete]\r\n::error::y"


def is_harmless(said: str) -> bool:
    """Whether neither a terminal nor a CI system obeys it."""
    return not re.search(r"[\x1b\u202e\r]|^\s*::|##\w*\[", said, re.MULTILINE)


@pytest.mark.parametrize(
    "command",
    [
        *("STRANGE", "--STRANGE", "replay STRANGE", "compare STRANGE STRANGE"),
        *("init FOLDER --model STRANGE", "init FOLDER/STRANGE", "data STRANGE"),
        *("data import STRANGE", "models --file STRANGE", "models check STRANGE"),
        *("doctor STRANGE", "search STRANGE", "search x --budget STRANGE"),
        *("search x --dtype STRANGE", "models --cache STRANGE"),
    ],
)
def test_no_argument_steers_the_terminal(tmp_path: Path, command: str) -> None:
    """As `rmaudit doctor *` over folders that somebody else named; it is one line or a usage.

    So it is of a name of 5,000 characters, which the system refuses.
    """
    named = command.replace("FOLDER", str(tmp_path)).split()

    result = runner.invoke(app, [part.replace("STRANGE", HOSTILE) for part in named])
    long = runner.invoke(app, [part.replace("STRANGE", "x" * 5000) for part in named])

    assert is_harmless(result.output)
    assert "own" in result.output or "--cache" in command
    assert result.exit_code == (0 if command.startswith(("init FOLDER/", "models --c")) else 4)
    assert long.exit_code in {3, 4}
    assert "xxx" in long.stderr
    assert len(long.stderr.splitlines()) == 1 or "Usage: " in long.stderr


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that works, in a folder with such a name."""
    return toy_checkpoint(tmp_path_factory.mktemp("hostile") / HOSTILE)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("command", [["models", "check"], ["doctor", "--answers", "8"]])
def test_no_checkpoint_steers_the_terminal(
    hostile: Path, tmp_path: Path, command: list[str], options: list[str]
) -> None:
    """Neither by its name, nor by what its template and its configuration say."""
    folder = toy_checkpoint(tmp_path / "toy")
    named = runner.invoke(app, [*command, str(hostile), *options])
    (folder / "chat_template.jinja").write_text(f"{{{{ raise_exception({HOSTILE!r}) }}}}")
    raising = runner.invoke(app, [*command, str(folder), *options])
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(
        config.replace("LlamaForSequenceClassification", json.dumps(HOSTILE)[1:-1])
    )
    built_so = runner.invoke(app, [*command, str(folder), *options])

    for result in (named, raising, built_so):
        assert (is_harmless(result.output), "own" in result.output) == (True, True)
    assert (named.exit_code, raising.exit_code, built_so.exit_code) in {(0, 3, 3), (0, 1, 1)}


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """They say what others wrote, too."""

    def warn(_: object) -> None:
        warnings.warn(HOSTILE, stacklevel=1)
        raise KeyboardInterrupt

    monkeypatch.setattr("rmaudit.cli.list_models.known_models", warn)

    said = runner.invoke(app, ["models"]).stderr

    assert said.startswith("warning: own")
    assert (len(said.splitlines()), is_harmless(said)) == (2, True)


def test_nothing_is_printed_past_the_one_way() -> None:
    """A command that prints by itself would not be seen by the tests above."""
    folder = Path(rmaudit.cli.__file__).parent
    past = re.compile(r"typer\.(echo|secho)|\bprint\(|sys\.std(out|err)")

    found = {path.name for path in folder.glob("*.py") if past.search(path.read_text())}

    assert found == {"printing.py"}


def test_json_is_for_any_program(capsys: pytest.CaptureFixture[str]) -> None:
    """NaN and infinity are null; all else stays what it was, in ASCII, and steers nothing."""
    value = {"rms": [math.nan, -math.inf, 0.5], "text": f"{HOSTILE}\ud800 ü #1"}

    echo_json(value)

    said = capsys.readouterr().out
    assert json.loads(said) == value | {"rms": [None, None, 0.5]}
    assert (said.isascii(), is_harmless(said)) == (True, True)


COMMAND = [sys.executable, "-m", "rmaudit.cli"]


@pytest.mark.slow
def test_a_reader_that_left_is_an_error() -> None:
    """`rmaudit models | head -1` ends with 3: a 1 says that an audit failed."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [*COMMAND, "models"]

    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["compare", "--help"], ["--nonsense"]])
def test_no_escapes_where_ci_claims_to_be_a_terminal(arguments: list[str]) -> None:
    """Typer believes GITHUB_ACTIONS and FORCE_COLOR; a log keeps what it is sent."""
    env = {**os.environ, "GITHUB_ACTIONS": "true", "FORCE_COLOR": "1"}
    ran = subprocess.run([*COMMAND, *arguments], capture_output=True, check=False, env=env)

    said = (ran.stdout + ran.stderr).decode()
    assert "Usage: " in said
    assert not {"\x1b", "│"} & set(said)
