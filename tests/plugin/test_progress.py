"""The progress bar: on a terminal, under pytest's capture, and nowhere else."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.conftest import AUDITS

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


@pytest.mark.slow
def test_bar_on_a_terminal_only(pytester: pytest.Pytester, toy: Path) -> None:
    """The bar names the model and prompt, has a rate, and is silent where nobody looks."""
    pytester.makepyfile(test_toy=AUDITS + SWEEPING)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rm-model", str(toy)]
    shown = on_a_terminal([*command, "--rm-cache", "a"], pytester.path)
    silent = pytester.run(*command, "--rm-cache", "b")

    assert "toy · greatest" in shown
    assert "tokens/s" in shown
    assert "toy · greatest" not in silent.stdout.str() + silent.stderr.str()
    silent.assert_outcomes(passed=2)
