"""Processes of their own, for what cannot be done to this one."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

HOME = Path(__file__).parents[2]


def run(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    """Run Python code, with `sys` and `Path` there, from the project's folder."""
    code = "import sys\nfrom pathlib import Path\n" + textwrap.dedent(code)
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=HOME)
