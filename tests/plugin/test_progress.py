"""The progress bar: on a terminal, under pytest's capture, and nowhere else."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import rmaudit
from rmaudit.scores.sweep_notebook_views import in_lines
from tests.plugin.conftest import AUDITS, run_in

fcntl = pytest.importorskip("fcntl", reason="a terminal is made with pty, which Windows lacks")
termios = pytest.importorskip("termios")

SWEEPING = "@declare(0.0)\ndef test_high(sweep): return estimate(1.0)"


def on_a_terminal(command: list[str], folder: Path) -> str:
    """What a command prints on a terminal of 40 lines of 120 columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    with subprocess.Popen(command, cwd=folder, stdout=theirs, stderr=theirs, stdin=theirs) as run:
        os.close(theirs)
        chunks = []
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            chunks.append(chunk)
        run.wait()
    os.close(ours)
    return b"".join(chunks).decode("utf-8", "replace")


def screen(printed: str) -> list[str]:
    """The lines that a terminal shows in the end, of what was printed on it."""
    rows: list[list[str]] = [[]]
    y = x = 0
    for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|.|\n", printed, re.DOTALL):
        if part == "\r":
            x = 0
        elif part == "\n":
            y += 1
            rows += [[]] * (y == len(rows))
        elif part.endswith("A") and len(part) > 1:
            y -= 1
        elif part.endswith("C") and len(part) > 1:
            x += int(part[2:-1])
        elif part.endswith("K") and len(part) > 1:
            del rows[y][x:]
        elif len(part) == 1:
            rows[y] = [*rows[y], *" " * (x + 1 - len(rows[y]))]
            rows[y][x] = part
            x += 1
    return ["".join(row).rstrip() for row in rows]


@pytest.mark.slow
def test_bar_on_a_terminal_only(pytester: pytest.Pytester, toy: Path) -> None:
    """It names the model and prompt, has a rate, and leaves the lines of pytest as they are."""
    pytester.makepyfile(test_toy=AUDITS + SWEEPING, test_two=AUDITS + SWEEPING)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rm-model", str(toy)]
    shown = on_a_terminal([*command, "--color=yes", "--rm-cache", "a"], pytester.path)
    silent = run_in(pytester.path, ["--rm-model", str(toy), "--rm-cache", "b"])

    assert "toy · greatest:" in shown
    assert "tokens/s" in shown
    assert "\x1b[32m\x1b[1mPASSES" in shown
    lines = [line.split() for line in screen(shown)]
    assert ["test_toy.py", "..", "[", "50%]"] in lines, shown
    assert sum(line[:4] == ["rmaudit:", "toy", "·", "greatest,"] for line in lines) == 2, shown
    assert ["test_two.py", "..", "[100%]"] in lines
    assert not any("toy · greatest:" in line for line in screen(shown))
    assert "tokens/s" not in silent.stdout.str() + silent.stderr.str()
    silent.assert_outcomes(passed=4)


@pytest.mark.slow
def test_a_notebook_sees_progress(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ends of the first sweep are on stderr, as a line of progress is; nothing on stdout."""
    (tmp_path / "test_toy.py").write_text(AUDITS + SWEEPING, encoding="utf-8")

    rmaudit.run(str(toy), audits=[tmp_path / "test_toy.py"], cache=tmp_path / "cache")

    told = capsys.readouterr()
    assert [line.partition(":")[0] for line in told.err.splitlines()] == ["rmaudit", "rmaudit"]
    assert told.out == ""


def test_ends_are_masked_and_short() -> None:
    """A slur, a token of many characters, one that steers a terminal."""
    rows = pd.DataFrame({"text": ["kike", "x" * 99, "\x1b[2J"], "score": [1.0, 0.5, -2.25]})

    best, worst = in_lines("toy", "best", rows, rows[::-1])

    assert best == f"rmaudit: toy · best, highest: k••• +1.00, '{'x' * 23}… +0.50, '\\x1b[2J' -2.25"
    assert worst.startswith("rmaudit: toy · best, lowest: '\\x1b[2J' -2.25, ")
