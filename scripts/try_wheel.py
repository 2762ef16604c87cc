"""Build the wheel, install it where nothing of the checkout is, and audit a toy there.

    python -m scripts.try_wheel

The new environment has the packages of this one, but for rmaudit, which is the wheel's. Nothing
but the wheel is installed, so this takes seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

from tests.toys import toy_checkpoint

ROOT = Path(__file__).parents[1]
WHERE = "import rmaudit; print(rmaudit.__file__)"
IN_PYTHON = "import rmaudit; print(rmaudit.run('./toy', audits=['numerics']).findings[0].result)"


def main() -> int:
    """Exit code 0 if the wheel's commands, plugin, audits and registry are there and work."""
    with tempfile.TemporaryDirectory(prefix="rmaudit-wheel-") as scratch:
        home = Path(scratch)
        python = _installed(home)
        toy_checkpoint(home / "work" / "toy")

        def run(*command: str) -> str:
            return _run(*command, cwd=home / "work", path=python.parent)

        place = run("python", "-c", WHERE)
        if not Path(place.strip()).is_relative_to(home):
            print(f"this is not the wheel's: {place}")
            return 1
        run("rmaudit", "init", "--model", "./toy")
        told = run("python", "-m", "pytest", "audits", "-k", "numerics", "--rm-cache", "cache")
        listed = run("rmaudit", "models", "--json")
        said = run("python", "-c", IN_PYTHON)
    print(told.splitlines()[-1])
    return 0 if "pass" in said and '"toy"' in listed else 1


def _installed(home: Path) -> Path:
    """The python of a new environment that has the wheel, and all else from this one."""
    _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(home), str(ROOT))
    (wheel,) = home.glob("rmaudit-*.whl")
    venv.create(home / "env")
    python = home / "env" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", str(python))
    _run(*pip, "install", "-q", "--no-deps", str(wheel))
    ours = _run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    more = [path for path in sys.path if path.endswith("site-packages")]
    paths = "\n".join(dict.fromkeys([sysconfig.get_path("purelib"), *more]))
    (Path(ours.strip()) / "packages.pth").write_text(paths + "\n", encoding="utf-8")
    return python


def _run(*command: str, cwd: Path | None = None, path: Path | None = None) -> str:
    """What a command prints; where it fails, all that it said, and the end of this program."""
    left = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    first = f"{path}{os.pathsep}" if path else ""
    done = subprocess.run(  # noqa: S603  (commands of this file)
        command,
        cwd=cwd,
        env={**left, "PATH": f"{first}{left['PATH']}", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
