"""Run README's first commands as they stand, and compare what they print with what README shows.

    python -m scripts.try_readme

A clone of this checkout gets a virtual environment of its own, with an empty cache. Downloads
R-Smol-135M and takes minutes, so it runs each night and before a release.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = "[...]"  # where README shortens a line


def main() -> int:
    """Run the commands; return exit code 0 if each ends with 0 and prints what README shows."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line.partition("  #")[0].strip() for line in block(readme, "console")]
    shown = block(readme, "text")
    with tempfile.TemporaryDirectory(prefix="rmaudit-readme-") as scratch:
        clone = Path(scratch) / "rmaudit"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)  # noqa: S603, S607  (the user's git)
        said = ""
        for command in commands:
            done = _run(command, clone, _fresh(Path(scratch)))
            print(f"{command}: exit code {done.returncode}", flush=True)
            if done.returncode:
                print(done.stdout)
                return 1
            said = done.stdout
    missing = not_printed(shown, said)
    for line in missing:
        print(f"README shows a line that the last command did not print here: {line}")
    if missing:
        print(said)
    return int(bool(missing))


def block(page: str, language: str) -> list[str]:
    """Return the lines of a page's first code block of a language, without empty ones."""
    found = re.search(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"README has no block of {language}")
    return [line for line in found[1].splitlines() if line.strip()]


def not_printed(shown: list[str], said: str) -> list[str]:
    """Return the lines of `shown` that do not stand in `said` in their order.

    `LEFT_OUT` stands for any text, and any run of spaces for any other.
    """
    lines, missing = [" ".join(line.split()) for line in said.splitlines()], []
    for line in shown:
        parts = map(re.escape, " ".join(line.split()).split(LEFT_OUT))
        pattern = re.compile(".*".join(parts))
        at = next((i for i, each in enumerate(lines) if pattern.fullmatch(each)), None)
        if at is None:
            missing.append(line)
        else:
            lines = lines[at + 1 :]
    return missing


def _fresh(scratch: Path) -> Mapping[str, str]:
    """Return the environment of a shell with a new virtual environment and an empty home."""
    place = scratch / "venv"
    if not place.exists():
        venv.create(place, with_pip=True)
    dropped = ("PYTHONPATH", "VIRTUAL_ENV", "RMAUDIT_CACHE", "GITHUB_STEP_SUMMARY")
    known = {key: value for key, value in os.environ.items() if key not in dropped}
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**known, "PATH": path, "XDG_CACHE_HOME": str(scratch / "cache"), "COLUMNS": "100"}


def _run(command: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  (README's commands)
        ["bash", "-c", command],  # noqa: S607  (the user's bash)
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
